// SPDX-License-Identifier: Apache-2.0
//
// Reads the environment by the rows of environment_table.hpp: for every Kind, what it accepts, how
// it is parsed and how a default of it is shown. Invariant: only std::from_chars reads numbers,
// since strtod would follow the program's locale. Called once by start-up, and by meshmem-info.
#include "base/settings/environment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <system_error>
#include <utility>

namespace meshmem {
namespace {

// To nanoseconds and back without an overflow, and longer than any job.
constexpr double kMaxSeconds = 1e9;

constexpr std::array kRuleNames = {
    std::pair(ReduceRule(ReduceRule::automatic), std::string_view("auto")),
#define MESHMEM_ALGORITHM(name, ...) \
  std::pair(ReduceRule(ReduceAlgorithm::name), std::string_view(#name)),
#include "device/collectives/algorithms.def"
#undef MESHMEM_ALGORITHM
    std::pair(ReduceRule(ReduceRule::classic), std::string_view("classic")),
};

// A sentence for each algorithm.
#define NOTE_true(fallback) ". "
#define NOTE_false(fallback) ". On host memory it is " #fallback ". "
#define MESHMEM_ALGORITHM(name, host, kernel, scatters, fallback, in_pe_order, most_threads, text) \
  "" #name ": " text NOTE_##host(fallback)
constexpr std::string_view kAboutAlgorithms =
    "The algorithm of reductions that the host calls, on memory of the host and of devices. auto "
    "chooses by bytes and number of PEs; classic is recursive_doubling up to 32 KiB and ring "
    "above. "
#include "device/collectives/algorithms.def"
    "On other devices, and for integers of 1 and 2 bytes, one_shot_wide and two_shot_wide are "
    "one_shot and two_shot. Groups in users' kernels follow one_shot, two_shot and pull, and "
    "otherwise choose by size. The same on all PEs.";
#undef MESHMEM_ALGORITHM
#undef NOTE_false
#undef NOTE_true

// The threads that a block may have if this rule holds.
constexpr unsigned most_threads(const ReduceRule& rule) {
  unsigned most = device::kMostThreads;
  for (const device::ReduceAlgorithmRow& row : device::kReduceAlgorithms)
    if (rule.kind == ReduceRule::automatic) most = std::max<unsigned>(most, row.most_threads);
  return rule.kind == ReduceRule::one ? device::row_of(rule.algorithm).most_threads : most;
}

constexpr std::string_view kRulesAccepted =
    "auto"
#define MESHMEM_ALGORITHM(name, ...) ", " #name
#include "device/collectives/algorithms.def"
#undef MESHMEM_ALGORITHM
    " or classic";

constexpr std::string_view kSizeAccepted =
    "bytes with an optional suffix k, m, g or t (powers of 1024), as in 65536, 64k or 1.5g";

// from_chars alone would also take a minus, "inf" and "nan".
bool starts_like_a_number(std::string_view text) {
  return !text.empty() && (text[0] == '.' || (text[0] >= '0' && text[0] <= '9'));
}

template <typename Number>
std::optional<Number> parse_whole(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// The bits to shift by for a suffix; nullopt for any other character.
std::optional<int> suffix_shift(char suffix) {
  switch (suffix) {
    case 'k':
    case 'K':
      return 10;
    case 'm':
    case 'M':
      return 20;
    case 'g':
    case 'G':
      return 30;
    case 't':
    case 'T':
      return 40;
  }
  return std::nullopt;
}

std::optional<std::size_t> scale_integer(std::uint64_t number, int shift) {
  if (number > std::numeric_limits<std::size_t>::max() >> shift) return std::nullopt;
  return number << shift;
}

std::optional<std::size_t> scale_fraction(double number, int shift) {
  const double bytes = std::ceil(std::ldexp(number, shift));
  if (!(bytes < 0x1p64)) return std::nullopt;
  return static_cast<std::size_t>(bytes);
}

// The syntax of each Kind beside its Value.
template <Kind kind>
struct Syntax;

template <>
struct Syntax<Kind::presence> {
  static constexpr std::string_view accepted = "any value, even 0 or an empty one";
  static bool parse(std::string_view, bool& out) { return out = true; }
  static std::string show(bool) { return "not set"; }
};

template <>
struct Syntax<Kind::boolean> {
  static constexpr std::string_view accepted = "1 or 0, yes or no, on or off, true or false";
  static bool parse(std::string_view text, bool& out) {
    const auto is_one_of = [&](auto... words) { return ((text == words) || ...); };
    out = is_one_of("1", "yes", "on", "true");
    return out || is_one_of("0", "no", "off", "false");
  }
  static std::string show(bool value) { return value ? "1" : "0"; }
};

template <>
struct Syntax<Kind::optional_size> {
  static constexpr std::string_view accepted = kSizeAccepted;
  static bool parse(std::string_view text, std::optional<std::size_t>& out) {
    out = parse_size(text);
    return out.has_value();
  }
  static std::string show(std::optional<std::size_t> value) {
    return value ? fmt::format("{}", *value) : "not set";
  }
};

// A larger one could not be mapped, and rounding it up would make it a small one.
template <>
struct Syntax<Kind::optional_heap_size> {
  static constexpr std::string_view accepted =
      "bytes, at most 256t, with an optional suffix k, m, g or t (powers of 1024), as in 65536, "
      "64k or 1.5g";
  static bool parse(std::string_view text, std::optional<std::size_t>& out) {
    out = parse_size(text);
    return out && *out <= kMostHeapBytes;
  }
  static std::string show(std::optional<std::size_t> value) {
    return Syntax<Kind::optional_size>::show(value);
  }
};

template <>
struct Syntax<Kind::heap_size> {
  static constexpr std::string_view accepted = Syntax<Kind::optional_heap_size>::accepted;
  static bool parse(std::string_view text, std::size_t& out) {
    std::optional<std::size_t> bytes;
    const bool is_size = Syntax<Kind::optional_heap_size>::parse(text, bytes);
    out = bytes.value_or(0);
    return is_size;
  }
  static std::string show(std::size_t value) { return fmt::format("{}", value); }
};

template <>
struct Syntax<Kind::seconds> {
  static constexpr std::string_view accepted = "seconds from 0 to 1000000000, as in 2.5";
  static bool parse(std::string_view text, double& out) {
    if (!starts_like_a_number(text)) return false;
    const auto value = parse_whole<double>(text);
    out = value.value_or(0);
    return value && *value <= kMaxSeconds;
  }
  static std::string show(double value) { return fmt::format("{}", value); }
};

template <>
struct Syntax<Kind::optional_count> {
  static constexpr std::string_view accepted = "a whole number from 0 to 4294967295";
  static bool parse(std::string_view text, std::optional<unsigned>& out) {
    out = parse_whole<unsigned>(text);
    return out.has_value();
  }
  static std::string show(std::optional<unsigned> value) {
    return value ? fmt::format("{}", *value) : "not set";
  }
};

template <unsigned most>
struct FromOneTo {
  static bool parse(std::string_view text, std::optional<unsigned>& out) {
    out = parse_whole<unsigned>(text);
    return out && *out >= 1 && *out <= most;
  }
  static std::string show(std::optional<unsigned> value) {
    return Syntax<Kind::optional_count>::show(value);
  }
};
template <>
struct Syntax<Kind::block_count> : FromOneTo<kMostReduceBlocks> {
  static constexpr std::string_view accepted = "a whole number from 1 to 128";
};
template <>
struct Syntax<Kind::thread_count> : FromOneTo<most_threads(ReduceRule::automatic)> {
  static constexpr std::string_view accepted = "a whole number from 1 to 576";
};
template <>
struct Syntax<Kind::device_count> : FromOneTo<kMostCpuDevices> {
  static constexpr std::string_view accepted = "a whole number from 1 to 64";
};

template <>
struct Syntax<Kind::number> {
  static constexpr std::string_view accepted = "a whole number from 0 to 18446744073709551615";
  static bool parse(std::string_view text, std::uint64_t& out) {
    const auto value = parse_whole<std::uint64_t>(text);
    out = value.value_or(0);
    return value.has_value();
  }
  static std::string show(std::uint64_t value) { return fmt::format("{}", value); }
};

template <>
struct Syntax<Kind::check> {
  static constexpr std::string_view accepted =
      "1 or 0, yes or no, on or off, true, false, races or races-polled";
  static bool parse(std::string_view text, Check& out) {
    for (const Check check : {Check::races, Check::races_polled}) {
      out = check;
      if (text == show(check)) return true;
    }
    bool compares = false;
    const bool is_known = Syntax<Kind::boolean>::parse(text, compares);
    out = compares ? Check::calls : Check::off;
    return is_known;
  }
  static std::string show(Check value) {
    static constexpr std::string_view names[] = {"0", "1", "races", "races-polled"};
    return std::string(names[static_cast<unsigned>(value)]);
  }
};

template <>
struct Syntax<Kind::abort_by> {
  static constexpr std::string_view accepted = "exit or core";
  static bool parse(std::string_view text, AbortBy& out) {
    out = text == "core" ? AbortBy::core : AbortBy::exit;
    return text == "core" || text == "exit";
  }
  static std::string show(AbortBy value) { return value == AbortBy::core ? "core" : "exit"; }
};

template <>
struct Syntax<Kind::heap_kind> {
  static constexpr std::string_view accepted = "host or device";
  static bool parse(std::string_view text, HeapKind& out) {
    out = text == "device" ? HeapKind::device : HeapKind::host;
    return text == "device" || text == "host";
  }
  static std::string show(HeapKind value) { return value == HeapKind::device ? "device" : "host"; }
};

template <>
struct Syntax<Kind::network_kind> {
  static constexpr std::string_view accepted = "auto, tcp, ucx or none";
  static bool parse(std::string_view text, NetworkKind& out) {
    out = text == "tcp"    ? NetworkKind::tcp
          : text == "ucx"  ? NetworkKind::ucx
          : text == "none" ? NetworkKind::none
                           : NetworkKind::automatic;
    return text == "auto" || text == "tcp" || text == "ucx" || text == "none";
  }
  static std::string show(NetworkKind value) {
    switch (value) {
      case NetworkKind::tcp:
        return "tcp";
      case NetworkKind::ucx:
        return "ucx";
      case NetworkKind::none:
        return "none";
      case NetworkKind::automatic:
        break;
    }
    return "auto";
  }
};

template <>
struct Syntax<Kind::proxy_kind> {
  static constexpr std::string_view accepted = "auto or off";
  static bool parse(std::string_view text, ProxyKind& out) {
    out = text == "off" ? ProxyKind::off : ProxyKind::automatic;
    return text == "auto" || text == "off";
  }
  static std::string show(ProxyKind value) { return value == ProxyKind::off ? "off" : "auto"; }
};

template <>
struct Syntax<Kind::network_device> {
  static constexpr std::string_view accepted =
      "the name of an interface, or of a device as UCX has it";
  static bool parse(std::string_view text, std::string& out) {
    out = text;
    return !text.empty();
  }
  static std::string show(const std::string& value) { return value.empty() ? "not set" : value; }
};

template <>
struct Syntax<Kind::port_range> {
  static constexpr std::string_view accepted = "two ports from 1 to 65535, as in 20000-20100";
  static bool parse(std::string_view text, PortRange& out) {
    const std::size_t dash = std::min(text.find('-'), text.size());
    const auto first = parse_whole<std::uint16_t>(text.substr(0, dash));
    const auto last = parse_whole<std::uint16_t>(text.substr(std::min(dash + 1, text.size())));
    out = {first.value_or(0), last.value_or(0)};
    return out.first > 0 && out.first <= out.last;
  }
  static std::string show(PortRange value) {
    return value == PortRange{} ? "not set" : fmt::format("{}-{}", value.first, value.last);
  }
};

template <>
struct Syntax<Kind::reduce_algorithm> {
  static constexpr std::string_view accepted = kRulesAccepted;
  static bool parse(std::string_view text, ReduceRule& out) {
    for (const auto& [rule, name] : kRuleNames) {
      if (name != text) continue;
      out = rule;
      return true;
    }
    return false;
  }
  static std::string show(const ReduceRule& value) { return std::string(name_of(value)); }
};

template <>
struct Syntax<Kind::file> {
  static constexpr std::string_view accepted = "the path of a file";
  static bool parse(std::string_view text, std::string& out) {
    out = text;
    return !text.empty();
  }
  static std::string show(const std::string& value) { return value.empty() ? "not set" : value; }
};

std::string alias_of(std::string_view name) {
  constexpr std::string_view kPrefix = "SHMEM_";
  return name.starts_with(kPrefix) ? "SMA_" + std::string(name.substr(kPrefix.size())) : "";
}

// For an error line: one line, whatever the value holds.
std::string printable(std::string_view value) {
  constexpr std::size_t kLongest = 80;
  std::string line(value.substr(0, kLongest));
  std::replace_if(
      line.begin(), line.end(), [](unsigned char c) { return c < ' ' || c == 0x7F; }, '?');
  return value.size() > kLongest ? line + "..." : line;
}

// The names by which a variable may be set, the first that is counts.
struct NameFor {
  std::string name;
  std::size_t on_top = 0;
};
std::vector<NameFor> names_for(std::string_view ours, NamesOf library) {
  std::vector<NameFor> names{{std::string(ours)}};
  if (std::string alias = alias_of(ours); !alias.empty()) names.push_back({std::move(alias)});
  for (const LibraryVariable& other : library_variables())
    if (other.library == library && other.ours == ours)
      names.push_back({std::string(other.name), other.on_top});
  return names;
}

template <Kind kind>
std::optional<std::string> read(std::string_view ours, typename Value<kind>::Type& out,
                                const GetEnv& get_env, NamesOf library) {
  for (const auto& [name, on_top] : names_for(ours, library)) {
    const char* const text = get_env(name.c_str());
    if (text == nullptr) continue;
    if (Syntax<kind>::parse(text, out)) {
      if constexpr (kind == Kind::optional_heap_size) *out += on_top;
      return std::nullopt;
    }
    return fmt::format("{}={} is not valid: it takes {}", name, printable(text),
                       Syntax<kind>::accepted);
  }
  return std::nullopt;
}

// Settings that are valid each by itself, but not together: the error.
std::optional<std::string> conflicting_settings(const Environment& environment) {
  if (is_for_races(environment.check) && !environment.trace.empty())
    return "MESHMEM_CHECK=races is not valid beside MESHMEM_TRACE: one job has one of them";
  const ReduceRule& rule = environment.reduce_algorithm;
  const unsigned threads = environment.reduce_threads.value_or(0);
  if (threads <= most_threads(rule)) return std::nullopt;
  return fmt::format("MESHMEM_REDUCE_THREADS={} is not valid: blocks of {} have at most {} threads",
                     threads, name_of(rule), most_threads(rule));
}

}  // namespace

std::string_view name_of(const ReduceRule& rule) {
  for (const auto& [known, name] : kRuleNames) {
    if (known == rule) return name;
  }
  return "";
}

std::optional<std::size_t> parse_size(std::string_view text) {
  if (!starts_like_a_number(text)) return std::nullopt;
  const char* const end = text.data() + text.size();
  double fraction = 0;
  const auto as_fraction = std::from_chars(text.data(), end, fraction);
  if (as_fraction.ec != std::errc{}) return std::nullopt;
  int shift = 0;
  if (as_fraction.ptr != end) {
    // The standard ignores what follows the first suffix.
    const auto suffix = suffix_shift(*as_fraction.ptr);
    if (!suffix) return std::nullopt;
    shift = *suffix;
  }
  // Read again as an integer where it is one: a double would round large ones.
  std::uint64_t integer = 0;
  const auto as_integer = std::from_chars(text.data(), end, integer);
  if (as_integer.ptr != as_fraction.ptr) return scale_fraction(fraction, shift);
  if (as_integer.ec != std::errc{}) return std::nullopt;
  return scale_integer(integer, shift);
}

std::optional<std::string> parse_environment(Environment& out, const GetEnv& get_env,
                                             NamesOf names) {
  Environment parsed = out;
  std::optional<std::string> error;
#define X(name, member, kind, fallback, text) \
  if (!error) error = read<Kind::kind>(#name, parsed.member, get_env, names);
#include "base/settings/environment_table.hpp"
#undef X
  if (!error) error = conflicting_settings(parsed);
  if (!error) out = parsed;
  return error;
}

std::vector<Variable> environment_variables() {
  const Environment defaults;
  return {
#define VARIABLE(name, member, kind, text, is_for_tests) \
  Variable{#name,                                        \
           alias_of(#name),                              \
           Syntax<Kind::kind>::accepted,                 \
           Syntax<Kind::kind>::show(defaults.member),    \
           text,                                         \
           is_for_tests},
#define X(name, member, kind, fallback, text) VARIABLE(name, member, kind, text, false)
#define X_FOR_TESTS(name, member, kind, fallback, text) VARIABLE(name, member, kind, text, true)
#include "base/settings/environment_table.hpp"
#undef X
#undef VARIABLE
  };
}

}  // namespace meshmem
