// SPDX-License-Identifier: Apache-2.0
//
// The table of environment variables: what each kind of value accepts and refuses, the old names,
// the warnings, and that the page made from the table is up to date.
#include "base/settings/environment.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <clocale>
#include <fstream>
#include <iterator>
#include <locale>
#include <map>
#include <set>

namespace meshmem {
namespace {

using Variables = std::map<std::string, std::string>;

GetEnv from(const Variables& variables) {
  return [&variables](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  };
}

Environment parsed(const Variables& variables) {
  Environment environment;
  EXPECT_EQ(parse_environment(environment, from(variables)), std::nullopt);
  return environment;
}

std::string error_of(const Variables& variables) {
  Environment environment;
  return parse_environment(environment, from(variables)).value_or("");
}

TEST(ParseSize, AcceptsWhatTheStandardAccepts) {
  const std::map<std::string, std::size_t> sizes = {
      {"0", 0},
      {"1", 1},
      {"007", 7},
      {"20k", 20480},
      {"20K", 20480},
      {"20kk", 20480},
      {"20kB of heap", 20480},
      {"3M", 3u << 20},
      {"3.1M", 3250586},
      {".5m", 512u << 10},
      {"0.5m", 512u << 10},
      {"5.", 5},
      {"1.5", 2},
      {"0.1k", 103},
      {"0.0", 0},
      {"0.000001", 1},
      {"1g", std::size_t{1} << 30},
      {"2T", std::size_t{2} << 40},
      {"1e3", 1000},
      {"1e3k", 1024000},
      {"9007199254740993", 9007199254740993u},  // no double has this value
      {"18446744073709551615", 18446744073709551615u},
      {"16777215t", std::size_t{16777215} << 40},
  };
  for (const auto& [text, bytes] : sizes) EXPECT_EQ(parse_size(text), bytes) << text;
}

TEST(ParseSize, RefusesEverythingElse) {
  for (const char* text : {"",
                           " ",
                           " 1",
                           "1 ",
                           "1 k",
                           "k",
                           ".",
                           ".k",
                           "-1",
                           "-0",
                           "+1",
                           "1x",
                           "0x10",
                           "1,5m",
                           "1e",
                           "e3",
                           "inf",
                           "nan",
                           "1e400",
                           "18446744073709551616",
                           "16777216t",
                           "1e19k",
                           "99999999999999999999g",
                           "one",
                           "1_000",
                           "--1",
                           "1..5"}) {
    EXPECT_EQ(parse_size(text), std::nullopt) << '"' << text << '"';
  }
}

TEST(ParseSize, IgnoresTheLocale) {
  // The C locale may not be installed here, so a facet of our own stands in on the C++ side.
  struct Comma : std::numpunct<char> {
    char do_decimal_point() const override { return ','; }
    std::string do_grouping() const override { return "\3"; }
    char do_thousands_sep() const override { return '.'; }
  };
  const std::locale before = std::locale::global(std::locale(std::locale(), new Comma));
  if (std::setlocale(LC_ALL, "de_DE.UTF-8") == nullptr) std::printf("no de_DE.UTF-8 here\n");
  EXPECT_EQ(parse_size("3.1M"), 3250586u);
  EXPECT_EQ(parse_size("3,1M"), std::nullopt);
  EXPECT_EQ(parsed({{"MESHMEM_TIMEOUT", "2.5"}}).timeout, 2.5);
  EXPECT_NE(environment_markdown().find("| 60 |"), std::string::npos);
  std::locale::global(before);
  std::setlocale(LC_ALL, "C");
}

TEST(Environment, HasItsDefaultsWhenNothingIsSet) {
  const Environment environment = parsed({});
  EXPECT_FALSE(environment.version);
  EXPECT_FALSE(environment.info);
  EXPECT_FALSE(environment.debug);
  EXPECT_EQ(environment.symmetric_size, 0u);
  EXPECT_EQ(environment.reduce_algorithm, ReduceRule::automatic);
  EXPECT_EQ(environment.reduce_ring_min_bytes, std::nullopt);
  EXPECT_EQ(environment.copy_min_bytes, std::nullopt);
  EXPECT_FALSE(environment.deterministic);
  EXPECT_EQ(environment.check, Check::off);
  EXPECT_FALSE(environment.timeout.has_value());
  EXPECT_EQ(environment.start_timeout, 60.0);
  EXPECT_EQ(environment.network, NetworkKind::automatic);
  EXPECT_EQ(environment.network_device, "");
  EXPECT_EQ(environment.spin, std::nullopt);
}

TEST(Environment, ReadsEveryVariable) {
  const Environment environment = parsed({{"SHMEM_VERSION", "1"},
                                          {"SHMEM_INFO", "1"},
                                          {"SHMEM_DEBUG", "1"},
                                          {"SHMEM_SYMMETRIC_SIZE", "1.5g"},
                                          {"MESHMEM_REDUCE_ALGORITHM", "two_shot"},
                                          {"MESHMEM_REDUCE_RING_MIN_BYTES", "32k"},
                                          {"MESHMEM_COPY_MIN_BYTES", "1t"},
                                          {"MESHMEM_DETERMINISTIC", "yes"},
                                          {"MESHMEM_CHECK", "on"},
                                          {"MESHMEM_TIMEOUT", ".25"},
                                          {"MESHMEM_START_TIMEOUT", "5"},
                                          {"MESHMEM_NETWORK", "ucx"},
                                          {"MESHMEM_NETWORK_DEVICE", "eth0"},
                                          {"MESHMEM_KEEPALIVE", "1.5"},
                                          {"MESHMEM_TCP_PORT_RANGE", "1-65535"},
                                          {"MESHMEM_SPIN", "4294967295"}});
  EXPECT_TRUE(environment.version && environment.info && environment.debug);
  EXPECT_EQ(environment.symmetric_size, std::size_t{3} << 29);
  EXPECT_EQ(environment.reduce_algorithm, ReduceAlgorithm::two_shot);
  EXPECT_EQ(environment.reduce_ring_min_bytes, 32768u);
  EXPECT_EQ(environment.copy_min_bytes, std::size_t{1} << 40);
  EXPECT_TRUE(environment.deterministic);
  EXPECT_EQ(environment.check, Check::calls);
  EXPECT_EQ(environment.timeout, 0.25);
  EXPECT_EQ(environment.start_timeout, 5.0);
  EXPECT_EQ(environment.network, NetworkKind::ucx);
  EXPECT_EQ(environment.network_device, "eth0");
  EXPECT_EQ(environment.keepalive, 1.5);
  EXPECT_EQ(environment.tcp_port_range, (PortRange{1, 65535}));
  EXPECT_EQ(environment.spin, 4294967295u);
}

TEST(Environment, TakesRangesOfPortsOnly) {
  EXPECT_EQ(parsed({{"MESHMEM_TCP_PORT_RANGE", "5000-5000"}}).tcp_port_range,
            (PortRange{5000, 5000}));
  for (const char* value : {"", "-", "5000", "5000-", "-5000", "5100-5000", "0-10", "1-65536",
                            "5000-5100-", "5000--5100", "5000 - 5100", "5000:5100", "a-b", "+1-2"})
    EXPECT_EQ(error_of({{"MESHMEM_TCP_PORT_RANGE", value}}),
              fmt::format("MESHMEM_TCP_PORT_RANGE={} is not valid: it takes two ports from 1 to "
                          "65535, as in 20000-20100",
                          value));
}

TEST(Environment, TakesPresenceForTrue) {
  for (const char* value : {"", "0", "no", "false", "anything"}) {
    EXPECT_TRUE(parsed({{"SHMEM_INFO", value}}).info) << value;
    EXPECT_TRUE(parsed({{"SMA_VERSION", value}}).version) << value;
  }
}

TEST(Environment, KnowsTheOldNamesAndPrefersTheNew) {
  EXPECT_EQ(parsed({{"SMA_SYMMETRIC_SIZE", "2k"}}).symmetric_size, 2048u);
  EXPECT_TRUE(parsed({{"SMA_DEBUG", "1"}}).debug);
  const Variables both = {{"SMA_SYMMETRIC_SIZE", "nonsense"}, {"SHMEM_SYMMETRIC_SIZE", "1k"}};
  EXPECT_EQ(parsed(both).symmetric_size, 1024u);
  EXPECT_NE(error_of({{"SMA_SYMMETRIC_SIZE", "x"}}).find("SMA_SYMMETRIC_SIZE=x"),
            std::string::npos);
  EXPECT_EQ(error_of({{"SMA_CHECK", "nonsense"}}), "");  // only SHMEM_ variables have old names
}

TEST(Environment, ChecksForRacesOrTracesButNotBoth) {
  EXPECT_EQ(parsed({{"MESHMEM_CHECK", "races"}}).check, Check::races);
  EXPECT_EQ(parsed({{"MESHMEM_CHECK", "races-polled"}}).check, Check::races | Check::polled);
  EXPECT_EQ(parsed({{"MESHMEM_CHECK", "1,races"}}).check, Check::calls | Check::races);
  EXPECT_NE(error_of({{"MESHMEM_CHECK", "race"}}).find("races-polled"), std::string::npos);
  for (const char* value : {"races", "races-polled"})
    EXPECT_NE(error_of({{"MESHMEM_CHECK", value}, {"MESHMEM_TRACE", "file"}}), "");
  EXPECT_EQ(error_of({{"MESHMEM_CHECK", "1"}, {"MESHMEM_TRACE", "file"}}), "");
}

TEST(Environment, ReadsEveryBooleanAndNothingLikeOne) {
  for (const char* value : {"1", "yes", "on", "true"}) {
    EXPECT_TRUE(parsed({{"MESHMEM_DETERMINISTIC", value}}).deterministic) << value;
    EXPECT_EQ(parsed({{"MESHMEM_CHECK", value}}).check, Check::calls) << value;
  }
  for (const char* value : {"0", "no", "off", "false"}) {
    EXPECT_FALSE(parsed({{"MESHMEM_DETERMINISTIC", value}}).deterministic) << value;
    EXPECT_EQ(parsed({{"MESHMEM_CHECK", value}}).check, Check::off) << value;
  }
  for (const char* value : {"", "2", "y", "TRUE", " 1", "01", "-1", "yes "}) {
    EXPECT_NE(error_of({{"MESHMEM_CHECK", value}}), "") << value;
    EXPECT_NE(error_of({{"MESHMEM_DETERMINISTIC", value}}), "") << value;
  }
}

// "a, b or c"; also "1 or 0, yes or no".
std::vector<std::string> words_of(std::string_view list) {
  std::vector<std::string> words;
  while (!list.empty()) {
    const std::size_t comma = list.find(", "), last = list.find(" or ");
    const std::size_t end = std::min({comma, last, list.size()});
    words.emplace_back(list.substr(0, end));
    list.remove_prefix(std::min(list.size(), end + (comma < last ? 2 : 4)));
  }
  return words;
}

TEST(Environment, AcceptsEachWordThatItListsAndNothingLikeOne) {
  std::set<std::string> lists;
  for (const Variable& variable : environment_variables()) {
    const std::vector<std::string> words = words_of(variable.accepted);
    // A variable that takes words has one of them by default.
    if (std::find(words.begin(), words.end(), variable.default_value) == words.end()) continue;
    lists.insert(variable.name);
    for (const std::string& word : words) {
      EXPECT_EQ(error_of({{variable.name, word}}), "");
      for (const std::string& other : {word + "x", word.substr(1), " " + word})
        EXPECT_EQ(error_of({{variable.name, other}}),
                  fmt::format("{}={} is not valid: it takes {}", variable.name, other,
                              variable.accepted));
    }
  }
  for (const char* name :
       {"MESHMEM_REDUCE_ALGORITHM", "MESHMEM_HEAP", "MESHMEM_CHECK", "MESHMEM_NETWORK"})
    EXPECT_EQ(lists.count(name), 1u) << name;
}

TEST(Environment, ListsEveryAlgorithm) {
  std::vector<ReduceRule> rules{ReduceRule::automatic, ReduceRule::classic};
  for (int i = 0; i < device::kReduceAlgorithmCount; ++i)
    rules.emplace_back(static_cast<ReduceAlgorithm>(i));
  std::vector<std::string> names;
  for (const ReduceRule& rule : rules) {
    names.emplace_back(name_of(rule));
    EXPECT_EQ(parsed({{"MESHMEM_REDUCE_ALGORITHM", names.back()}}).reduce_algorithm, rule);
  }
  for (const Variable& variable : environment_variables()) {
    if (variable.name != "MESHMEM_REDUCE_ALGORITHM") continue;
    std::vector<std::string> listed = words_of(variable.accepted);
    std::sort(names.begin(), names.end());
    std::sort(listed.begin(), listed.end());
    EXPECT_EQ(listed, names);
  }
}

TEST(Environment, RefusesNumbersThatAreNone) {
  for (const char* value : {"", "-1", "inf", "nan", "1s", "1e10", "1,5", " 1", "1e", "."}) {
    EXPECT_NE(error_of({{"MESHMEM_TIMEOUT", value}}), "") << value;
  }
  for (const char* value : {"", "-1", "1.5", "4294967296", "1k", " 1", "0x1"}) {
    EXPECT_NE(error_of({{"MESHMEM_SPIN", value}}), "") << value;
  }
  for (const char* value : {"0", "65", "zero"}) {
    EXPECT_EQ(error_of({{"MESHMEM_CPU_DEVICES", value}}),
              std::string("MESHMEM_CPU_DEVICES=") + value +
                  " is not valid: it takes a whole number from 1 to 64");
  }
}

TEST(Environment, RefusesMoreBlocksAndThreadsThanThereAre) {
  for (const char* value : {"0", "129", "1000", "-1"}) {
    EXPECT_EQ(error_of({{"MESHMEM_REDUCE_BLOCKS", value}}),
              std::string("MESHMEM_REDUCE_BLOCKS=") + value +
                  " is not valid: it takes a whole number from 1 to 128");
  }
  for (const char* value : {"0", "577", "100000"}) {
    EXPECT_EQ(error_of({{"MESHMEM_REDUCE_THREADS", value}}),
              std::string("MESHMEM_REDUCE_THREADS=") + value +
                  " is not valid: it takes a whole number from 1 to 576");
  }
  const auto of_576 = [](const char* algorithm) {
    return error_of({{"MESHMEM_REDUCE_THREADS", "576"}, {"MESHMEM_REDUCE_ALGORITHM", algorithm}});
  };
  EXPECT_EQ(of_576("two_shot_wide"), "");
  EXPECT_EQ(of_576("auto"), "");
  EXPECT_EQ(of_576("ring"),
            "MESHMEM_REDUCE_THREADS=576 is not valid: blocks of ring have at most 512 threads");
}

TEST(Environment, RefusesHeapsThatNoProcessCanMap) {
  EXPECT_EQ(parsed({{"SHMEM_SYMMETRIC_SIZE", "256t"}}).symmetric_size, kMostHeapBytes);
  for (const char* name : {"SHMEM_SYMMETRIC_SIZE", "MESHMEM_DEVICE_HEAP_SIZE"}) {
    for (const char* value : {"281474976710657", "257t", "18446744073709551615"})
      EXPECT_NE(error_of({{name, value}}).find(" is not valid: it takes bytes, at most 256t, "),
                std::string::npos)
          << value;
  }
  // A threshold may be larger than any message.
  EXPECT_EQ(
      parsed({{"MESHMEM_REDUCE_RING_MIN_BYTES", "18446744073709551615"}}).reduce_ring_min_bytes,
      SIZE_MAX);
}

// ---- variables of other libraries

std::optional<std::size_t> device_heap(const Variables& variables, NamesOf names) {
  Environment environment;
  EXPECT_EQ(parse_environment(environment, from(variables), names), std::nullopt);
  return environment.device_heap_size;
}

TEST(LibraryVariables, CountForProgramsUnderTheirNamesAlone) {
  const Variables both = {{"NVSHMEM_SYMMETRIC_SIZE", "1.5G"}, {"ROCSHMEM_HEAP_SIZE", "4096"}};
  constexpr std::size_t kOnTop = 16 << 20;  // for small blocks beside what fills the size
  EXPECT_EQ(device_heap(both, NamesOf::nvshmem), (std::size_t{3} << 29) + kOnTop);
  EXPECT_EQ(device_heap(both, NamesOf::rocshmem), 4096u + kOnTop);
  EXPECT_EQ(device_heap(both, NamesOf::openshmem), std::nullopt);
  EXPECT_EQ(device_heap({}, NamesOf::nvshmem), std::nullopt);
}

TEST(LibraryVariables, GiveWayToOurs) {
  const Variables both = {{"NVSHMEM_SYMMETRIC_SIZE", "nonsense"},
                          {"MESHMEM_DEVICE_HEAP_SIZE", "1m"}};
  EXPECT_EQ(device_heap(both, NamesOf::nvshmem), 1u << 20);
}

TEST(LibraryVariables, AreNamedWhereTheyAreWrong) {
  Environment environment;
  for (const char* value : {"", "lots", "-1", "1x", "257t"}) {
    const auto error =
        parse_environment(environment, from({{"NVSHMEM_SYMMETRIC_SIZE", value}}), NamesOf::nvshmem);
    EXPECT_EQ(error.value_or("").find(std::string("NVSHMEM_SYMMETRIC_SIZE=") + value +
                                      " is not valid: it takes bytes, at most 256t, "),
              0u)
        << value;
  }
}

TEST(LibraryVariables, ReadAsVariablesThatThereAre) {
  for (const LibraryVariable& other : kLibraryVariables) {
    const auto variables = environment_variables();
    EXPECT_TRUE(std::any_of(variables.begin(), variables.end(), [&](const Variable& variable) {
      return variable.name == other.ours;
    })) << other.ours;
  }
}

TEST(Environment, SaysInOneLineWhatIsWrong) {
  EXPECT_EQ(
      error_of({{"MESHMEM_DETERMINISTIC", "maybe"}}),
      "MESHMEM_DETERMINISTIC=maybe is not valid: it takes 1, 0, yes, no, on, off, true or false");
  const std::string line =
      error_of({{"SHMEM_SYMMETRIC_SIZE", "a\nb\x7F" + std::string(10000, 'x')}});
  EXPECT_EQ(line.find('\n'), std::string::npos);
  EXPECT_LT(line.size(), 300u);
}

TEST(Environment, IsUnchangedByAnError) {
  Environment environment;
  environment.spin = 7;
  const Variables variables = {{"SHMEM_DEBUG", "1"}, {"MESHMEM_SPIN", "8"}, {"MESHMEM_CHECK", "?"}};
  EXPECT_NE(parse_environment(environment, from(variables)), std::nullopt);
  EXPECT_FALSE(environment.debug);
  EXPECT_EQ(environment.spin, 7u);
}

TEST(Environment, FindsSlipsOfThePen) {
  const char* const entries[] = {"PATH=/bin",
                                 "MESHMEM_CHEKC=1",
                                 "MESHMEM_CHECK=1",
                                 "MESHMEM_NO_EQUALS",
                                 "MESHMEM_OUTPUT_TTY=1",
                                 "MESHMEM_ERROR_TTY=1",
                                 "SHMEM_OTHER=1",
                                 "MESHMEM_SPINS=3",
                                 "SHMEM_CHECK=1",
                                 nullptr};
  const std::vector<std::string> expected = {"MESHMEM_CHEKC", "MESHMEM_NO_EQUALS", "MESHMEM_SPINS",
                                             "SHMEM_CHECK"};
  EXPECT_EQ(unknown_variables(entries), expected);
  EXPECT_TRUE(unknown_variables(nullptr).empty());
}

TEST(Environment, KnowsWhichVariableIsMeant) {
  EXPECT_EQ(variable_meant_by("MESHMEM_CHEKC"), "MESHMEM_CHECK");
  EXPECT_EQ(variable_meant_by("MESHMEM_SPINS"), "MESHMEM_SPIN");
  EXPECT_EQ(variable_meant_by("MESHMEM_NETWORK_DEVISE"), "MESHMEM_NETWORK_DEVICE");
  EXPECT_EQ(variable_meant_by("SHMEM_TIMEOUT"), "MESHMEM_TIMEOUT");
  EXPECT_EQ(variable_meant_by("MESHMEM_SYMMETRIC_SIZE"), "SHMEM_SYMMETRIC_SIZE");
  for (const char* other : {"MESHMEM_NO_EQUALS", "MESHMEM_CC", "MESHMEM_HIPCXX", "SHMEM_CHEKC"})
    EXPECT_EQ(variable_meant_by(other), "") << other;
}

TEST(Environment, NamesEveryVariableOnceInHelpAndPage) {
  std::set<std::string> names;
  const std::string help = environment_help();
  for (const Variable& variable : environment_variables()) {
    EXPECT_TRUE(names.insert(variable.name).second) << variable.name;
    EXPECT_NE(help.find("\n  " + variable.name), std::string::npos) << variable.name;
    EXPECT_NE(environment_markdown().find("| `" + variable.name + "` |"), std::string::npos);
  }
  EXPECT_NE(help.find("SHMEM_DEBUG (or SMA_DEBUG)\n"), std::string::npos);
  for (std::size_t at = 0; at < help.size();) {
    const std::size_t end = help.find('\n', at);
    EXPECT_LE(end - at, 80u) << help.substr(at, end - at);
    at = end + 1;
  }
}

TEST(Environment, PageHasVariablesForTestsAtItsEnd) {
  const std::string page = environment_markdown();
  const std::size_t part = page.find("\n## For tests of meshmem\n");
  ASSERT_NE(part, std::string::npos);
  int n_for_tests = 0;
  for (const Variable& variable : environment_variables()) {
    n_for_tests += variable.is_for_tests;
    EXPECT_EQ(page.find("| `" + variable.name + "` |") > part, variable.is_for_tests)
        << variable.name;
  }
  EXPECT_GT(n_for_tests, 0);
  EXPECT_EQ(page.find("\n## ", part + 1), std::string::npos);
}

TEST(Environment, PageIsUpToDate) {
  std::ifstream file(MESHMEM_ENVIRONMENT_PAGE);
  ASSERT_TRUE(file) << "cannot read " << MESHMEM_ENVIRONMENT_PAGE;
  const std::string page(std::istreambuf_iterator<char>(file), {});
  EXPECT_EQ(page, environment_markdown())
      << "make it again: meshmem-info --environment-markdown > docs/environment.md";
}

}  // namespace
}  // namespace meshmem
