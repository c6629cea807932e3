// SPDX-License-Identifier: Apache-2.0
// Reads oshrun's command line with CLI11.
// Invariant: nothing after the first word that is not an option of oshrun's is looked at: it
// belongs to the program. Called once by main().
#include "options.hpp"

#include <sched.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <cmath>

#include "failure.hpp"

namespace meshmem {
namespace {

constexpr int kMaxPes = 65536;

constexpr const char* kExamples =
    "Options end at the program's name; what follows belongs to the program.\n"
    "Examples:\n"
    "  oshrun -n 4 ./hello                     4 PEs\n"
    "  oshrun --tag-output -n 8 ./a.out -n 3   each line says which PE wrote it; -n 3 is a.out's\n"
    "  oshrun -x SHMEM_SYMMETRIC_SIZE=1G --timeout 60 ./a.out\n"
    "Exit status: that of the first PE to end with a nonzero one, 128 + signal for a PE that was\n"
    "killed, 124 after --timeout, 127 or 126 when the program cannot be run.";

int count_usable_cores() {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  // Fails where a machine has more cores than a cpu_set_t can name.
  if (::sched_getaffinity(0, sizeof(cores), &cores) == 0) return CPU_COUNT(&cores);
  return static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN));
}

int parse_count(const std::string& text, const char* option, const char* what) {
  int count = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc() || end != text.data() + text.size() || count < 1 || count > kMaxPes) {
    throw Failure(kUsageError, fmt::format("{} takes a number of {} from 1 to {}, not '{}'", option,
                                           what, kMaxPes, text));
  }
  return count;
}

std::chrono::duration<double> parse_seconds(const std::string& text) {
  char* end = nullptr;
  double seconds = std::strtod(text.c_str(), &end);
  if (end == text.c_str() || *end != '\0' || !std::isfinite(seconds) || seconds <= 0) {
    throw Failure(kUsageError,
                  fmt::format("--timeout takes a positive number of seconds, not '{}'", text));
  }
  return std::chrono::duration<double>(std::min(seconds, 1e9));
}

void check_export(const std::string& text) {
  if (text.empty() || text[0] == '=') {
    throw Failure(kUsageError, fmt::format("-x takes NAME or NAME=VALUE, not '{}'", text));
  }
}

// CLI11 has no options of several letters with one dash.
std::string normal_name(const std::string& word) { return word == "-np" ? "-n" : word; }

bool takes_next_word(const CLI::App& app, const std::string& word) {
  const CLI::Option* option = app.get_option_no_throw(word);
  return option != nullptr && option->get_items_expected_min() > 0;
}

// Divides the command line into oshrun's own words and, in `program`, the rest.
std::vector<std::string> take_own_words(const CLI::App& app, int argc, char** argv,
                                        std::vector<std::string>& program) {
  std::vector<std::string> own;
  int i = 1;
  for (; i < argc; ++i) {
    std::string word = normal_name(argv[i]);
    if (word.empty() || word[0] != '-') break;
    if (word == "--") {
      ++i;
      break;
    }
    own.push_back(word);
    if (takes_next_word(app, word) && i + 1 < argc) own.push_back(argv[++i]);
  }
  program.assign(argv + std::min(i, argc), argv + argc);
  return own;
}

class HelpText : public CLI::Formatter {
  std::string make_usage(const CLI::App*, std::string) const override {
    return "Usage: oshrun [options] program [arguments]\n";
  }
};

// The raw texts, before they are checked.
struct Texts {
  std::string pes, timeout, fake_nodes;
};

void declare_options(CLI::App& app, Options& options, Texts& texts) {
  app.formatter(std::make_shared<HelpText>());
  app.footer(kExamples);
  app.set_version_flag("--version", "oshrun (meshmem) " MESHMEM_VERSION, "Print the version");
  app.add_option("-n", texts.pes, "Number of PEs (also -np); by default one per usable core")
      ->type_name("PES");
  app.add_option("-x", options.exports, "Set NAME for the PEs, or pass it on; may be repeated")
      ->type_name("NAME[=VALUE]")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app.add_option("--timeout", texts.timeout, "End the job after so long, with status 124")
      ->type_name("SECONDS");
  app.add_flag("--tag-output", options.tag_output,
               "Put the PE's number before each line: [3] text");
  app.add_option("--wdir", options.working_folder, "Run the program in this folder")
      ->type_name("FOLDER");
  // For tests of the path between nodes: the PEs are told that they are on this many machines.
  app.add_option("--fake-nodes", texts.fake_nodes)->group("");
}

void fill_in(Options& options, const Texts& texts, bool pes_given) {
  options.pes = pes_given ? parse_count(texts.pes, "-n", "PEs") : count_usable_cores();
  if (!texts.timeout.empty()) options.timeout = parse_seconds(texts.timeout);
  if (!texts.fake_nodes.empty()) {
    options.fake_nodes = parse_count(texts.fake_nodes, "--fake-nodes", "nodes");
  }
  for (const std::string& text : options.exports) check_export(text);
  if (options.fake_nodes > options.pes) {
    throw Failure(kUsageError, fmt::format("--fake-nodes {} is more than the {} PEs",
                                           options.fake_nodes, options.pes));
  }
  if (options.program.empty()) {
    throw Failure(kUsageError, "no program to run; try: oshrun -n 4 ./hello (or oshrun --help)");
  }
}

}  // namespace

std::optional<Options> parse_options(int argc, char** argv) {
  Options options;
  Texts texts;
  CLI::App app("oshrun starts an OpenSHMEM program as several PEs on this machine.", "oshrun");
  declare_options(app, options, texts);
  std::vector<std::string> own = take_own_words(app, argc, argv, options.program);
  std::reverse(own.begin(), own.end());  // CLI11 takes words from the back
  try {
    app.parse(own);
  } catch (const CLI::Success& asked_for_text) {
    app.exit(asked_for_text);
    return std::nullopt;
  } catch (const CLI::ParseError& error) {
    throw Failure(kUsageError, fmt::format("{}; see oshrun --help", error.what()));
  }
  fill_in(options, texts, app.count("-n") > 0);
  return options;
}

}  // namespace meshmem
