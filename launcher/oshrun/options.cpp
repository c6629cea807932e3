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
#include "foreign_options.hpp"

namespace meshmem {
namespace {

constexpr const char* kExamples =
    "Options end at the program's name; later words belong to the program.\n"
    "Other launchers' options that mean the same are understood (--np, -wd, -l, --oversubscribe,\n"
    "--allow-run-as-root); every other one is refused with what to write instead.\n"
    "Examples:\n"
    "  oshrun -n 4 ./hello                     4 PEs\n"
    "  oshrun --tag-output -n 8 ./a.out -n 3   each line says which PE wrote it; -n 3 is a.out's\n"
    "  oshrun -x SHMEM_SYMMETRIC_SIZE=1G --timeout 60 ./a.out\n"
    "  oshrun --hosts a:4,b:4 ./hello          4 PEs on each of two machines\n"
    "Exit status: that of the first PE to end with a nonzero one, 128 + signal for a PE that was\n"
    "killed, 124 after --timeout, 127 or 126 when the program cannot be run, 2 for wrong options,\n"
    "1 when the job cannot start or when its output is lost, as on a full disk.";

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

// A word of the command line that is an option: "-n", "-n2", "--wdir=/tmp", "-host".
struct OptionWord {
  std::string text;
  std::string name;  // without dashes and value
  std::optional<std::string> value;
};

OptionWord take_apart(const std::string& word) {
  const std::size_t begin = word.starts_with("--") ? 2 : 1;
  const std::size_t equals = word.find('=', begin);
  if (equals == std::string::npos) return {word, word.substr(begin), std::nullopt};
  return {word, word.substr(begin, equals - begin), word.substr(equals + 1)};
}

std::string with_dashes(const std::string& name) { return (name.size() == 1 ? "-" : "--") + name; }

const CLI::Option* find_own(const CLI::App& app, const std::string& name) {
  return name.empty() ? nullptr : app.get_option_no_throw(with_dashes(name));
}

bool takes_value(const CLI::Option& option) { return option.get_items_expected_min() > 0; }

// "-n2" is "-n 2"; "-host" is not "-h -o -s -t", nor "-nodes" the number "odes".
const CLI::Option* find_with_value_attached(const CLI::App& app, OptionWord& word) {
  if (word.text.starts_with("--") || word.name.size() < 2) return nullptr;
  const CLI::Option* option = find_own(app, word.name.substr(0, 1));
  if (option == nullptr || !takes_value(*option)) return nullptr;
  word.value = word.text.substr(2);
  return option;
}

[[noreturn]] void refuse_unknown(const CLI::App& app, const OptionWord& word) {
  std::string ours;
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group().empty()) continue;
    ours += fmt::format("{}{}", ours.empty() ? "" : ", ", option->get_name());
  }
  throw Failure(kUsageError, fmt::format("{} is not an option of oshrun, which has {}; see oshrun "
                                         "--help",
                                         word.text, ours));
}

// Our option that `word` means; nullptr: the word is to be left out.
const CLI::Option* understand(const CLI::App& app, OptionWord& word) {
  if (const CLI::Option* own = find_own(app, word.name)) return own;
  if (const ForeignOption* foreign = find_foreign_option(word.name)) {
    if (foreign->answer == ForeignAnswer::left_out) return nullptr;
    if (foreign->answer == ForeignAnswer::same_as) {
      return app.get_option_no_throw(std::string(foreign->text));
    }
    throw Failure(kUsageError,
                  fmt::format("{} is not an option of oshrun: {}", word.text, foreign->text));
  }
  if (const CLI::Option* own = find_with_value_attached(app, word)) return own;
  refuse_unknown(app, word);
}

// ./a : ./b would be two programs for other launchers.
void check_single_program(const std::vector<std::string>& program) {
  for (std::size_t i = 1; i + 1 < program.size(); ++i) {
    if (program[i] != ":") continue;
    throw Failure(kUsageError,
                  fmt::format("':' and a second program: all PEs run one program; if they are "
                              "arguments of {}, write -- before it",
                              program[0]));
  }
}

// Divides the command line into oshrun's own words, as CLI11 is to see them, and, in `program`, the
// rest.
std::vector<std::string> take_own_words(const CLI::App& app, int argc, char** argv,
                                        std::vector<std::string>& program) {
  std::vector<std::string> own;
  int i = 1;
  for (; i < argc && argv[i][0] == '-' && std::string_view(argv[i]) != "--"; ++i) {
    OptionWord word = take_apart(argv[i]);
    const CLI::Option* option = understand(app, word);
    if (option == nullptr) continue;
    own.push_back(with_dashes(option->get_single_name()));
    if (takes_value(*option) && !word.value && i + 1 < argc) word.value = argv[++i];
    if (word.value && takes_value(*option)) own.push_back(*word.value);
    if (word.value && !takes_value(*option)) own.back() = word.text;  // which CLI11 judges
  }
  const bool marked = i < argc && std::string_view(argv[i]) == "--";
  program.assign(argv + std::min(i + (marked ? 1 : 0), argc), argv + argc);
  if (!marked) check_single_program(program);
  return own;
}

class HelpText : public CLI::Formatter {
  std::string make_usage(const CLI::App*, std::string) const override {
    return "Usage: oshrun [options] program [arguments]\n";
  }
};

// The raw texts, before they are checked.
struct Texts {
  std::string pes, timeout, status, fake_nodes;
};

void declare_options(CLI::App& app, Options& options, Texts& texts) {
  app.formatter(std::make_shared<HelpText>());
  app.footer(kExamples);
  app.set_version_flag("--version", "oshrun (meshmem) " MESHMEM_VERSION, "Print the version");
  app.add_option("-n", texts.pes, "Number of PEs (also -np, --np); by default one per usable core")
      ->type_name("PES");
  app.add_option("-x", options.exports, "Set NAME for the PEs, or pass it on; may be repeated")
      ->type_name("NAME[=VALUE]")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app.add_option("--timeout", texts.timeout, "End the job after this many seconds, with status 124")
      ->type_name("SECONDS");
  app.add_flag("--tag-output", options.tag_output,
               "Put the PE's number before each line: [3] text");
  app.add_option("--wdir", options.working_folder, "Run the program in this folder")
      ->type_name("FOLDER");
  app.add_option("--hosts", options.hosts,
                 "Run on these machines (also --host, -H) by prun, srun, prterun or\n"
                 "mpirun, whose command is printed; without PES -n is spread evenly")
      ->type_name("NAME[:PES],...");
  app.add_option("--hostfile", options.hostfile,
                 "The same from a file with a line 'NAME slots=PES' for each machine")
      ->type_name("FILE");
  app.add_option("--status", texts.status,
                 "Print where the PEs of the oshrun with this process id are. SIGQUIT to\n"
                 "that oshrun (Ctrl-\\) prints it there; twice within 2 s it ends the job")
      ->type_name("PID");
  // For tests of the path between nodes: the PEs are told that they are on this many machines.
  app.add_option("--fake-nodes", texts.fake_nodes)->group("");
  // They change nothing on this machine.
  app.add_flag("--allow-run-as-root", options.allow_root)->group("");
  app.add_flag("--oversubscribe", options.oversubscribe)->group("");
}

void fill_in_status(Options& options, const std::string& text) {
  pid_t pid = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), pid);
  if (error != std::errc() || end != text.data() + text.size() || pid < 1) {
    throw Failure(kUsageError,
                  fmt::format("--status takes the process id of an oshrun, not '{}'", text));
  }
  if (!options.program.empty()) {
    throw Failure(kUsageError,
                  fmt::format("--status {} runs no program, such as {}", pid, options.program[0]));
  }
  options.status_of = pid;
}

void check_machines(const Options& options, const Texts& texts, const CLI::App& app) {
  const bool hosts = app.count("--hosts") > 0, hostfile = app.count("--hostfile") > 0;
  if (hosts && options.hosts.empty()) throw Failure(kUsageError, "--hosts names no machine");
  if (hostfile && options.hostfile.empty()) throw Failure(kUsageError, "--hostfile names no file");
  if (hosts && hostfile) throw Failure(kUsageError, "--hosts and --hostfile exclude each other");
  if (!hosts && !hostfile) return;
  if (!texts.fake_nodes.empty() || !texts.status.empty()) {
    throw Failure(kUsageError, fmt::format("{} is for jobs on this machine; leave out {}",
                                           texts.status.empty() ? "--fake-nodes" : "--status",
                                           hosts ? "--hosts" : "--hostfile"));
  }
}

void fill_in(Options& options, const Texts& texts, const CLI::App& app) {
  check_machines(options, texts, app);
  if (app.count("-n") > 0) {
    options.pes = parse_count(texts.pes, "-n", "PEs");
  } else if (!options.is_for_several_machines()) {
    options.pes = count_usable_cores();
  }
  if (!texts.timeout.empty()) options.timeout = parse_seconds(texts.timeout);
  if (!texts.fake_nodes.empty()) {
    options.fake_nodes = parse_count(texts.fake_nodes, "--fake-nodes", "nodes");
    if (options.fake_nodes > options.pes) {
      throw Failure(kUsageError, fmt::format("--fake-nodes {} is more than the {} PEs",
                                             options.fake_nodes, options.pes));
    }
  }
  for (const std::string& text : options.exports) check_export(text);
  if (!texts.status.empty()) return fill_in_status(options, texts.status);
  if (options.program.empty()) {
    throw Failure(kUsageError, "no program to run; try: oshrun -n 4 ./hello (or oshrun --help)");
  }
}

}  // namespace

std::optional<Options> parse_options(int argc, char** argv) {
  Options options;
  Texts texts;
  CLI::App app("oshrun starts an OpenSHMEM program as several PEs.", "oshrun");
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
  fill_in(options, texts, app);
  return options;
}

}  // namespace meshmem
