// SPDX-License-Identifier: Apache-2.0
//
// Reads the environment by the rows of environment_table.hpp: for every kind, what it accepts, how
// it is parsed and how a default of it is shown. Invariant: only std::from_chars reads numbers,
// since strtod would follow the program's locale. Called once by start-up, and by meshmem-info.
#include "base/settings/environment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>
#include <system_error>
#include <type_traits>
#include <utility>

namespace meshmem {
namespace {

// Longer than any job, and fits in nanoseconds without an overflow.
constexpr double kMaxSeconds = 1e9;

// A word by which a setting names one of its values. If a value has several words, the first is
// shown.
template <typename T>
struct Word {
  T value;
  std::string_view text;
};
constexpr Word<bool> kBooleans[] = {{true, "1"},  {false, "0"},   {true, "yes"},  {false, "no"},
                                    {true, "on"}, {false, "off"}, {true, "true"}, {false, "false"}};
constexpr Word<Check> kChecks[] = {{Check::calls, "1"},
                                   {Check::off, "0"},
                                   {Check::calls, "yes"},
                                   {Check::off, "no"},
                                   {Check::calls, "on"},
                                   {Check::off, "off"},
                                   {Check::calls, "true"},
                                   {Check::off, "false"},
                                   {Check::races, "races"},
                                   {Check::calls | Check::races, "1,races"},
                                   {Check::races | Check::polled, "races-polled"},
                                   {Check::calls | Check::races | Check::polled, "1,races-polled"}};
constexpr Word<AbortBy> kEnds[] = {{AbortBy::exit, "exit"}, {AbortBy::core, "core"}};
constexpr Word<HeapKind> kHeaps[] = {{HeapKind::host, "host"}, {HeapKind::device, "device"}};
constexpr Word<ProxyKind> kProxies[] = {{ProxyKind::automatic, "auto"}, {ProxyKind::off, "off"}};
constexpr Word<NetworkKind> kNetworks[] = {{NetworkKind::automatic, "auto"},
                                           {NetworkKind::tcp, "tcp"},
                                           {NetworkKind::ucx, "ucx"},
                                           {NetworkKind::none, "none"}};
constexpr Word<ReduceRule> kRules[] = {
    {ReduceRule::automatic, "auto"},
#define MESHMEM_ALGORITHM(name, ...) {ReduceAlgorithm::name, #name},
#include "device/collectives/algorithms.def"
#undef MESHMEM_ALGORITHM
    {ReduceRule::classic, "classic"},
};

// A sentence for each algorithm.
#define MESHMEM_ALGORITHM(name, host, kernel, scatters, fallback, in_pe_order, most_threads, text) \
  "" #name ": " text ". "
constexpr std::string_view kAboutAlgorithms =
    "The algorithm of reductions that the host calls, on memory of the host and of devices. auto "
    "chooses by bytes and number of PEs; classic is recursive_doubling up to 32 KiB and ring "
    "above, and auto on host memory. "
#include "device/collectives/algorithms.def"
    "On host memory one_shot and one_shot_wide are one_shot, and all other algorithms are "
    "two_shot. "
    "On other devices, and for integers of 1 and 2 bytes, one_shot_wide and two_shot_wide are "
    "one_shot and two_shot. Groups in users' kernels follow one_shot, two_shot and pull, and "
    "otherwise choose by size. The same on all PEs.";
#undef MESHMEM_ALGORITHM

// The most threads that a block may have under this rule.
constexpr unsigned most_threads(const ReduceRule& rule) {
  unsigned most = device::kMostThreads;
  for (const device::ReduceAlgorithmRow& row : device::kReduceAlgorithms)
    if (rule.kind == ReduceRule::automatic) most = std::max<unsigned>(most, row.most_threads);
  return rule.kind == ReduceRule::one ? device::row_of(rule.algorithm).most_threads : most;
}

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
  constexpr std::string_view kSuffixes = "kmgtKMGT";
  const std::size_t at = kSuffixes.find(suffix);
  if (at == kSuffixes.npos) return std::nullopt;
  return 10 * static_cast<int>(at % 4 + 1);
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

std::optional<std::size_t> parse_heap_size(std::string_view text) {
  const auto bytes = parse_size(text);
  return bytes && *bytes <= kMostHeapBytes ? bytes : std::nullopt;
}

std::optional<double> parse_seconds(std::string_view text) {
  const auto seconds = starts_like_a_number(text) ? parse_whole<double>(text) : std::nullopt;
  return seconds && *seconds <= kMaxSeconds ? seconds : std::nullopt;
}

std::optional<PortRange> parse_ports(std::string_view text) {
  const std::size_t dash = std::min(text.find('-'), text.size());
  const auto first = parse_whole<std::uint16_t>(text.substr(0, dash));
  const auto last = parse_whole<std::uint16_t>(text.substr(std::min(dash + 1, text.size())));
  const PortRange range{first.value_or(0), last.value_or(0)};
  return range.first > 0 && range.first <= range.last ? std::optional(range) : std::nullopt;
}

// False if there is no value; else `out` has it.
template <typename From, typename To>
bool take(const std::optional<From>& value, To& out) {
  if (value) out = *value;
  return value.has_value();
}

// How defaults are shown.
template <typename Number>
std::string shown(const Number& value) {
  return fmt::format("{}", value);
}
template <typename Number>
std::string shown(const std::optional<Number>& value) {
  return value ? fmt::format("{}", *value) : "not set";
}
std::string shown(const std::string& value) { return value.empty() ? "not set" : value; }
std::string shown(PortRange value) {
  return value == PortRange{} ? "not set" : fmt::format("{}-{}", value.first, value.last);
}

struct ShownAsItIs {
  template <typename T>
  static std::string show(const T& value) {
    return shown(value);
  }
};

template <typename Number, Number least = 0, Number most = std::numeric_limits<Number>::max()>
struct WholeNumber : ShownAsItIs {
  static std::string accepted() { return fmt::format("a whole number from {} to {}", least, most); }
  template <typename Out>
  static bool parse(std::string_view text, Out& out) {
    const auto value = parse_whole<Number>(text);
    return value >= least && value <= most && take(value, out);
  }
};

struct AnyText : ShownAsItIs {
  static bool parse(std::string_view text, std::string& out) {
    out = text;
    return !text.empty();
  }
};

template <const auto& words>
struct OneOf {
  static std::string accepted() {
    std::string list;
    for (const auto& word : words) {
      const bool is_last = &word + 1 == std::end(words);
      if (!list.empty()) list += is_last ? " or " : ", ";
      list += word.text;
    }
    return list;
  }
  template <typename T>
  static bool parse(std::string_view text, T& out) {
    for (const Word<T>& word : words) {
      if (word.text != text) continue;
      out = word.value;
      return true;
    }
    return false;
  }
  template <typename T>
  static std::string show(const T& value) {
    for (const Word<T>& word : words)
      if (word.value == value) return std::string(word.text);
    return "";
  }
};

// The syntax of each kind of value_of.
namespace syntax {

struct presence {
  static std::string accepted() { return "any value, even 0 or an empty one"; }
  static bool parse(std::string_view, bool& out) { return out = true; }
  static std::string show(bool) { return "not set"; }
};
using boolean = OneOf<kBooleans>;
struct optional_size : ShownAsItIs {
  static std::string accepted() {
    return "bytes with an optional suffix k, m, g or t (powers of 1024), as in 65536, 64k or 1.5g";
  }
  static bool parse(std::string_view text, std::optional<std::size_t>& out) {
    return take(parse_size(text), out);
  }
};
// A larger heap could not be mapped, and rounding its size up would make it a small one.
struct heap_size : ShownAsItIs {
  static std::string accepted() {
    return "bytes, at most 256t, with an optional suffix k, m, g or t (powers of 1024), as in "
           "65536, 64k or 1.5g";
  }
  template <typename Size>
  static bool parse(std::string_view text, Size& out) {
    return take(parse_heap_size(text), out);
  }
};
using optional_heap_size = heap_size;
struct seconds : ShownAsItIs {
  static std::string accepted() { return "seconds from 0 to 1000000000, as in 2.5"; }
  template <typename Seconds>
  static bool parse(std::string_view text, Seconds& out) {
    return take(parse_seconds(text), out);
  }
};
using optional_seconds = seconds;
using optional_count = WholeNumber<unsigned>;
using block_count = WholeNumber<unsigned, 1, kMostReduceBlocks>;
using thread_count = WholeNumber<unsigned, 1, most_threads(ReduceRule::automatic)>;
using device_count = WholeNumber<unsigned, 1, kMostCpuDevices>;
using number = WholeNumber<std::uint64_t>;
using check = OneOf<kChecks>;
using abort_by = OneOf<kEnds>;
using heap_kind = OneOf<kHeaps>;
using network_kind = OneOf<kNetworks>;
using proxy_kind = OneOf<kProxies>;
struct network_device : AnyText {
  static std::string accepted() { return "the name of an interface, or of a device as UCX has it"; }
};
struct port_range : ShownAsItIs {
  static std::string accepted() { return "two ports from 1 to 65535, as in 20000-20100"; }
  static bool parse(std::string_view text, PortRange& out) { return take(parse_ports(text), out); }
};
using reduce_algorithm = OneOf<kRules>;
struct file : AnyText {
  static std::string accepted() { return "the path of a file"; }
};

}  // namespace syntax

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

// The names by which a variable may be set. The first that is set counts.
struct NameFor {
  std::string name;
  std::size_t on_top = 0;
};
std::vector<NameFor> names_for(std::string_view ours, NamesOf library) {
  std::vector<NameFor> names{{std::string(ours)}};
  if (std::string alias = alias_of(ours); !alias.empty()) names.push_back({std::move(alias)});
  for (const LibraryVariable& other : kLibraryVariables)
    if (other.library == library && other.ours == ours)
      names.push_back({std::string(other.name), other.on_top});
  return names;
}

template <typename Syntax, typename T>
std::optional<std::string> read(std::string_view ours, T& out, const GetEnv& get_env,
                                NamesOf library) {
  for (const auto& [name, on_top] : names_for(ours, library)) {
    const char* const text = get_env(name.c_str());
    if (text == nullptr) continue;
    if (Syntax::parse(text, out)) {
      if constexpr (std::is_same_v<T, std::optional<std::size_t>>) *out += on_top;
      return std::nullopt;
    }
    return fmt::format("{}={} is not valid: it takes {}", name, printable(text),
                       Syntax::accepted());
  }
  return std::nullopt;
}

// Returns the error if settings are valid by themselves but not together.
std::optional<std::string> conflicting_settings(const Environment& environment) {
  if (has(environment.check, Check::races) && !environment.trace.empty())
    return "MESHMEM_CHECK=races is not valid beside MESHMEM_TRACE: one job has one of them";
  const ReduceRule& rule = environment.reduce_algorithm;
  const unsigned threads = environment.reduce_threads.value_or(0);
  if (threads <= most_threads(rule)) return std::nullopt;
  return fmt::format("MESHMEM_REDUCE_THREADS={} is not valid: blocks of {} have at most {} threads",
                     threads, name_of(rule), most_threads(rule));
}

}  // namespace

std::string name_of(const ReduceRule& rule) { return OneOf<kRules>::show(rule); }

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
  // Read it again as an integer if it is one: a double would round large ones.
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
  if (!error) error = read<syntax::kind>(#name, parsed.member, get_env, names);
#include "base/settings/environment_table.hpp"
#undef X
  if (!error) error = conflicting_settings(parsed);
  if (!error) out = parsed;
  return error;
}

std::vector<Variable> environment_variables() {
  const Environment defaults;
  return {
#define VARIABLE(name, member, kind, text, is_for_tests)                                          \
  Variable{#name, alias_of(#name), syntax::kind::accepted(), syntax::kind::show(defaults.member), \
           text,  is_for_tests},
#define X(name, member, kind, fallback, text) VARIABLE(name, member, kind, text, false)
#define X_FOR_TESTS(name, member, kind, fallback, text) VARIABLE(name, member, kind, text, true)
#include "base/settings/environment_table.hpp"
#undef X
#undef VARIABLE
  };
}

}  // namespace meshmem
