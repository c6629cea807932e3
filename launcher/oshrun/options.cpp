// SPDX-License-Identifier: Apache-2.0
// Reads oshrun's command line with CLI11.
// Invariant: nothing after the first word that is not an option of oshrun's is looked at: it
// belongs to the program. Called once by main().
#include "options.hpp"

#include <CLI/CLI.hpp>
#include <charconv>
#include <cmath>
#include <functional>
#include <limits>

#include "base/machine/machine.hpp"
#include "failure.hpp"

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

int parse_count(const std::string& text, const char* option, const char* what) {
  const auto count = parse_number(text, 1, kMaxPes);
  if (!count) refuse("{} takes a number of {} from 1 to {}, not '{}'", option, what, kMaxPes, text);
  return static_cast<int>(*count);
}

std::chrono::duration<double> parse_seconds(const std::string& text) {
  char* end = nullptr;
  double seconds = std::strtod(text.c_str(), &end);
  if (end == text.c_str() || *end != '\0' || !std::isfinite(seconds) || seconds <= 0)
    refuse("--timeout takes a positive number of seconds, not '{}'", text);
  return std::chrono::duration<double>(std::min(seconds, 1e9));
}

// --- Options of other launchers: mpirun, mpiexec, prterun, srun ------------------------------

// Names have no dashes, as some launchers take one and some two. An option in kSameAs means the
// same in every launcher that has it. Options whose meaning differs (-c, -N) are in kRefused.
struct ForeignOptions {
  std::string_view names;
  std::string_view answer;  // our option, or what to write instead
};

constexpr ForeignOptions kSameAs[] = {
    {"np ntasks", "-n"}, {"wd chdir", "--wdir"}, {"l label prepend-rank", "--tag-output"},
    {"V", "--version"},  {"H host", "--hosts"},  {"machinefile", "--hostfile"},
};

constexpr std::string_view kWithoutEffect = "envall genvall";

constexpr ForeignOptions kRefused[] = {
    {"f", "write --hostfile FILE, with a line 'a slots=4' for each machine"},
    {"default-hostfile w nodelist nodes rankfile rf",
     "machines are named by --hosts a:4,b:4 or by --hostfile FILE"},
    {"c", "it is the number of PEs to some launchers and cores per PE to others; use -n"},
    {"N ppn perhost pernode npernode npersocket ntasks-per-node",
     "write oshrun -n 4 for this machine, or --hosts a:4,b:4 for several"},
    {"map-by bind-to rank-by bycore bynode byslot bind-to-core bind-to-none cpu-bind cpu-set "
     "cpus-per-proc cpus-per-rank cpus-per-task report-bindings",
     "oshrun binds no PE to a core or place; leave it out (to bind: oshrun -n 4 taskset ...)"},
    {"nooversubscribe", "oshrun starts as many PEs as -n says; leave it out"},
    {"use-hwthread-cpus", "without -n there is one PE per usable core; use -n"},
    {"env genv", "write -x NAME=VALUE"},
    {"envlist genvlist", "write -x NAME for each"},
    {"envnone genvnone", "PEs get the whole environment; use oshrun -n 4 env -i ./hello"},
    {"export", "PEs get the whole environment; write -x NAME=VALUE to change it"},
    {"mca gmca omca prtemca pmixmca",
     "oshrun has no components to set; leave it out (for MPI inside: export OMPI_MCA_name=value)"},
    {"mpi", "oshrun always speaks PMIx; leave it out"},
    {"app configfile multi-prog", "all PEs run one program; let it ask shmem_my_pe() what to do"},
    {"s stdin", "standard input goes to PE 0; leave it out"},
    {"o output output-filename", "write > FILE behind the command"},
    {"merge-stderr-to-stdout", "write 2>&1 behind the command"},
};

bool is_among(std::string_view names, const std::string& name) {
  return name.find(' ') == name.npos &&
         fmt::format(" {} ", names).find(fmt::format(" {} ", name)) != std::string::npos;
}

template <typename Rows>
const ForeignOptions* find_row(const Rows& rows, const std::string& name) {
  for (const ForeignOptions& row : rows)
    if (is_among(row.names, name)) return &row;
  return nullptr;
}

// --- Words -----------------------------------------------------------------------------------

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
  refuse("{} is not an option of oshrun, which has {}; see oshrun --help", word.text, ours);
}

// Returns our option that `word` means; nullptr: the word has no effect.
const CLI::Option* understand(const CLI::App& app, OptionWord& word) {
  if (const CLI::Option* own = find_own(app, word.name)) return own;
  if (const ForeignOptions* same = find_row(kSameAs, word.name))
    return app.get_option_no_throw(std::string(same->answer));
  if (is_among(kWithoutEffect, word.name)) return nullptr;
  if (const ForeignOptions* refused = find_row(kRefused, word.name))
    refuse("{} is not an option of oshrun: {}", word.text, refused->answer);
  if (const CLI::Option* own = find_with_value_attached(app, word)) return own;
  refuse_unknown(app, word);
}

// ./a : ./b would be two programs for other launchers.
void check_single_program(const std::vector<std::string>& program) {
  for (std::size_t i = 1; i + 1 < program.size(); ++i) {
    if (program[i] != ":") continue;
    refuse(
        "':' and a second program: all PEs run one program; if they are arguments of {}, write -- "
        "before it",
        program[0]);
  }
}

// Returns oshrun's own words of the command line, in the form that CLI11 takes. The rest goes to
// `program`.
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
    if (word.value && !takes_value(*option)) own.back() = word.text;  // for CLI11 to judge
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

int parse_pid(const std::string& text) {
  const auto pid = parse_number(text, 1, std::numeric_limits<pid_t>::max());
  if (!pid) refuse("--status takes the process id of an oshrun, not '{}'", text);
  return static_cast<int>(*pid);
}

void declare_options(CLI::App& app, Options& options) {
  using Text = const std::string&;
  const auto add = [&app](const char* name, std::function<void(Text)> take, const char* help) {
    return app.add_option_function<std::string>(name, take, help);
  };
  app.formatter(std::make_shared<HelpText>());
  app.footer(kExamples);
  // CLI11 would show its own help only once the values of all other options are right.
  app.set_help_flag();
  app.add_flag_callback(
         "-h,--help", [] { throw CLI::CallForHelp(); }, "Print this help message and exit")
      ->trigger_on_parse();
  app.set_version_flag("--version", "oshrun (meshmem) " MESHMEM_VERSION, "Print the version")
      ->trigger_on_parse();
  add(
      "-n", [&](Text text) { options.pes = parse_count(text, "-n", "PEs"); },
      "Number of PEs (also -np, --np); by default one per usable core")
      ->type_name("PES");
  app.add_option("-x", options.exports, "Set NAME for the PEs, or pass it on; may be repeated")
      ->type_name("NAME[=VALUE]")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  add(
      "--timeout", [&](Text text) { options.timeout = parse_seconds(text); },
      "End the job after this many seconds, with status 124")
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
  add(
      "--status", [&](Text text) { options.status_of = parse_pid(text); },
      "Print where the PEs of the oshrun with this process id are. SIGQUIT to\n"
      "that oshrun (Ctrl-\\) prints it there; twice within 2 s it ends the job")
      ->type_name("PID");
  // For tests of the path between nodes: the PEs are told that they are on this many machines.
  add(
      "--fake-nodes",
      [&](Text text) { options.fake_nodes = parse_count(text, "--fake-nodes", "nodes"); }, "")
      ->group("");
  // These two change nothing in a job on this machine.
  app.add_flag("--allow-run-as-root", options.allow_root)->group("");
  app.add_flag("--oversubscribe", options.oversubscribe)->group("");
}

void check_machines(const Options& options, const CLI::App& app) {
  const bool hosts = app.count("--hosts") > 0, hostfile = app.count("--hostfile") > 0;
  if (hosts && options.hosts.empty()) refuse("--hosts names no machine");
  if (hostfile && options.hostfile.empty()) refuse("--hostfile names no file");
  if (hosts && hostfile) refuse("--hosts and --hostfile exclude each other");
  for (const char* local : {"--fake-nodes", "--status"}) {
    if (!options.is_for_several_machines() || app.count(local) == 0) continue;
    refuse("{} is for jobs on this machine; leave out {}", local, hosts ? "--hosts" : "--hostfile");
  }
}

void check_options(Options& options, const CLI::App& app) {
  check_machines(options, app);
  if (options.pes == 0 && !options.is_for_several_machines())
    options.pes = static_cast<int>(allowed_cpus().size());
  if (options.fake_nodes > 1 && options.fake_nodes > options.pes)
    refuse("--fake-nodes {} is more than the {} PEs", options.fake_nodes, options.pes);
  for (const std::string& text : options.exports)
    if (text.empty() || text[0] == '=') refuse("-x takes NAME or NAME=VALUE, not '{}'", text);
  if (options.status_of && !options.program.empty())
    refuse("--status takes one process id and no program, so not '{}'", options.program[0]);
  if (!options.status_of && options.program.empty())
    refuse("no program to run; try: oshrun -n 4 ./hello (or oshrun --help)");
}

}  // namespace

std::optional<long> parse_number(std::string_view text, long least, long most) {
  long number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || stop != end || number < least || number > most) return std::nullopt;
  return number;
}

std::optional<Options> parse_options(int argc, char** argv) {
  Options options;
  CLI::App app("oshrun starts an OpenSHMEM program as several PEs.", "oshrun");
  declare_options(app, options);
  std::vector<std::string> own = take_own_words(app, argc, argv, options.program);
  const std::string last = own.empty() ? "" : own.back();
  std::reverse(own.begin(), own.end());  // CLI11 takes words from the back
  try {
    app.parse(own);
  } catch (const CLI::Success& asked_for_text) {
    app.exit(asked_for_text);
    return std::nullopt;
  } catch (const CLI::ParseError& error) {
    const bool lacks_value =
        dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr && last.starts_with('-');
    refuse("{}; see oshrun --help", lacks_value ? last + " needs a value" : error.what());
  }
  check_options(options, app);
  return options;
}

}  // namespace meshmem
