// SPDX-License-Identifier: Apache-2.0
// The command lines of prun and prterun (PRRTE), mpirun (Open MPI) and srun (Slurm), made from
// oshrun's.
// Invariant: words of the user's are passed on as they are; a word that the other launcher would
// understand differently is refused.
#include "hosts.hpp"

#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <numeric>
#include <string_view>

#include "base/settings/foreign_variables.hpp"
#include "environment.hpp"
#include "failure.hpp"
#include "handed_job.hpp"
#include "launcher_choice.hpp"

namespace meshmem {
namespace {

using Words = std::vector<std::string>;

struct Launcher {  // of Open MPI's family, whose options differ little
  const char* program;
  const char* root_variable;  // 1 in it and in NAME_CONFIRM lets root run it
  Words tag_output;
  Words oversubscribe;
};

const Launcher kPrun{
    "prun", "PRTE_ALLOW_RUN_AS_ROOT", {"--output", "tag"}, {"--map-by", ":OVERSUBSCRIBE"}};
const Launcher kPrterun{
    "prterun", "PRTE_ALLOW_RUN_AS_ROOT", {"--output", "tag"}, {"--map-by", ":OVERSUBSCRIBE"}};
const Launcher kMpirun{"mpirun", "OMPI_ALLOW_RUN_AS_ROOT", {"--tag-output"}, {"--oversubscribe"}};

[[noreturn]] void refuse(const std::string& text) { throw Failure(kUsageError, text); }

struct Host {
  std::string name;
  int pes;  // 0: not said
};

Host parse_host(const std::string& text) {
  const std::size_t colon = text.find(':');
  Host host{text.substr(0, colon), 0};
  const char* end = text.data() + text.size();
  if (colon != std::string::npos) {
    const auto [stop, error] = std::from_chars(text.data() + colon + 1, end, host.pes);
    if (error != std::errc() || stop != end || host.pes < 1 || host.pes > kMaxPes)
      host.name.clear();
  }
  if (host.name.empty()) {
    refuse(fmt::format("--hosts takes names with numbers of PEs, such as a:4,b:4, not '{}'", text));
  }
  return host;
}

std::vector<Host> parse_hosts(const std::string& text) {
  std::vector<Host> hosts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    hosts.push_back(parse_host(text.substr(begin, end - begin)));
    begin = end + 1;
  }
  return hosts;
}

// Without numbers, -n PEs are spread evenly: the first hosts get one more where it does not divide.
void spread(std::vector<Host>& hosts, int pes) {
  const int n_hosts = static_cast<int>(hosts.size());
  if (pes < n_hosts) {
    refuse(fmt::format("--hosts names {} machines for {} PEs; leave some out", n_hosts, pes));
  }
  for (int i = 0; i < n_hosts; ++i) hosts[i].pes = pes / n_hosts + (i < pes % n_hosts ? 1 : 0);
}

long count_pes(const std::vector<Host>& hosts) {
  return std::accumulate(hosts.begin(), hosts.end(), 0L,
                         [](long sum, const Host& host) { return sum + host.pes; });
}

void check_numbers(const std::vector<Host>& hosts, const Options& options) {
  const auto unsaid =
      std::find_if(hosts.begin(), hosts.end(), [](auto& host) { return !host.pes; });
  if (unsaid != hosts.end()) {
    refuse(fmt::format("--hosts gives numbers of PEs, but none for '{}'", unsaid->name));
  }
  const long sum = count_pes(hosts);
  if (sum > kMaxPes)
    refuse(fmt::format("--hosts {} asks for {} PEs; the most is {}", options.hosts, sum, kMaxPes));
  if (options.pes > sum && !options.oversubscribe) {
    refuse(fmt::format("-n {} is more than the {} PEs of --hosts {}", options.pes, sum,
                       options.hosts));
  }
}

// With a number for each.
std::vector<Host> hosts_of(const Options& options) {
  std::vector<Host> hosts = parse_hosts(options.hosts);
  const auto is_counted = [](const Host& host) { return host.pes > 0; };
  if (std::any_of(hosts.begin(), hosts.end(), is_counted)) {
    check_numbers(hosts, options);
  } else if (options.pes > 0) {
    spread(hosts, options.pes);
  } else {
    refuse(fmt::format("say how many PEs: --hosts {}:4 for each machine, or -n for all",
                       hosts[0].name));
  }
  return hosts;
}

int pes_of(const Options& options, const std::vector<Host>& hosts) {
  return options.pes > 0 ? options.pes : static_cast<int>(count_pes(hosts));
}

Words words_of_hosts(const Options& options) {
  const std::vector<Host> hosts = hosts_of(options);
  std::string list;
  for (const Host& host : hosts)
    list += fmt::format("{}{}:{}", list.empty() ? "" : ",", host.name, host.pes);
  return {"--host", list, "-n", fmt::format("{}", pes_of(options, hosts))};
}

Words words_of_file(const Options& options) {
  if (::access(options.hostfile.c_str(), R_OK) != 0) {
    refuse(fmt::format("cannot read --hostfile '{}': {}", options.hostfile, std::strerror(errno)));
  }
  Words words = {"--hostfile", options.hostfile};
  if (options.pes > 0) words.insert(words.end(), {"-n", fmt::format("{}", options.pes)});
  return words;
}

// Launchers pass on no variables to other machines but their own.
bool goes_along(std::string_view variable) {
  for (std::string_view family : {"SHMEM_", "MESHMEM_", "UCX_", "LD_LIBRARY_PATH="}) {
    if (variable.starts_with(family)) return true;
  }
  const std::string_view name = variable.substr(0, variable.find('='));
  const auto& others = library_variables();
  return std::any_of(others.begin(), others.end(),
                     [&](const LibraryVariable& other) { return other.name == name; });
}

Words exports_of(const Options& options) {
  Words exports;
  for (const std::string& text : options.exports) {
    const bool has_value = text.find('=') != std::string::npos;
    if (has_value || std::getenv(text.c_str()) != nullptr) exports.push_back(text);
  }
  for (char** entry = ::environ; *entry != nullptr; ++entry) {
    const std::string name(*entry, std::string_view(*entry).find('='));
    const bool is_said = std::any_of(exports.begin(), exports.end(), [&name](const auto& text) {
      return text == name || text.starts_with(name + "=");
    });
    if (goes_along(*entry) && !is_said) exports.push_back(name);
  }
  return exports;
}

void check_program(const Launcher& launcher, const Options& options) {
  const auto& program = options.program;
  if (std::find(program.begin() + 1, program.end(), ":") != program.end()) {
    refuse(
        fmt::format("':' as a word of its own begins a second program for {}, also among the "
                    "arguments of {}",
                    launcher.program, program[0]));
  }
}

// One line instead of the launcher's page.
void check_root(const Launcher& launcher, const Options& options) {
  if (::geteuid() != 0 || options.allow_root) return;
  const std::string confirm = fmt::format("{}_CONFIRM", launcher.root_variable);
  if (std::getenv(launcher.root_variable) != nullptr && std::getenv(confirm.c_str()) != nullptr) {
    return;
  }
  refuse(fmt::format("{} does not run as root unless told to; add --allow-run-as-root",
                     launcher.program));
}

std::string working_folder_of(const Options& options) {
  return std::filesystem::absolute(options.working_folder);
}

Words command_of(const Launcher& launcher, const std::string& dvm, const Options& options) {
  check_program(launcher, options);
  check_root(launcher, options);
  Words words = {launcher.program};
  const auto add = [&words](const Words& more) {
    words.insert(words.end(), more.begin(), more.end());
  };
  if (options.allow_root) add({"--allow-run-as-root"});
  if (!dvm.empty()) add({"--dvm-uri", "file:" + dvm});
  add(options.hosts.empty() ? words_of_file(options) : words_of_hosts(options));
  if (options.oversubscribe) add(launcher.oversubscribe);
  add({"--bind-to", "none"});  // as on one machine; the launchers bind otherwise
  if (!options.working_folder.empty()) add({"--wdir", working_folder_of(options)});
  if (options.timeout) {
    add({"--timeout", fmt::format("{:.0f}", std::ceil(options.timeout->count()))});
  }
  if (options.tag_output) add(launcher.tag_output);
  for (const std::string& text : exports_of(options)) add({"-x", text});
  add(options.program);
  return words;
}

// The host of each PE, in their order. PEs beyond the hosts' numbers are dealt out in turn.
std::string host_of_each_pe(const Options& options) {
  const std::vector<Host> hosts = hosts_of(options);
  Words names;
  for (const Host& host : hosts) names.insert(names.end(), host.pes, host.name);
  const auto pes = static_cast<std::size_t>(pes_of(options, hosts));
  for (std::size_t i = 0; names.size() < pes; ++i) names.push_back(hosts[i % hosts.size()].name);
  names.resize(pes);
  return fmt::format("{}", fmt::join(names, ","));
}

// Slurm takes all variables along, and values with a comma only so.
Words command_of_srun(const std::string& protocol, const Options& options) {
  if (options.timeout)
    refuse("srun has no --timeout in seconds; write timeout SECONDS oshrun ..., without --timeout");
  Words words;
  for (const std::string& text : exports_of(options)) {
    if (text.find('=') == std::string::npos) continue;
    if (words.empty()) words.push_back("env");
    words.push_back(text);
  }
  const std::string list = host_of_each_pe(options);
  const Words common = {"srun",
                        "--kill-on-bad-exit=1",
                        "--export=ALL",
                        "--mpi=" + protocol,
                        "--cpu-bind=none",
                        "--distribution=arbitrary",
                        "-w",
                        list,
                        "-n",
                        fmt::format("{}", std::count(list.begin(), list.end(), ',') + 1)};
  words.insert(words.end(), common.begin(), common.end());
  if (options.oversubscribe) words.push_back("--overcommit");
  if (!options.working_folder.empty()) words.push_back("--chdir=" + working_folder_of(options));
  if (options.tag_output) words.push_back("--label");
  words.insert(words.end(), options.program.begin(), options.program.end());
  return words;
}

Words command_for(const FoundLauncher& found, const Options& options) {
  switch (found.kind) {
    case LauncherKind::prun:
      return command_of(kPrun, found.way, options);
    case LauncherKind::srun:
      return command_of_srun(found.way, options);
    case LauncherKind::prterun:
      return command_of(kPrterun, "", options);
    case LauncherKind::mpirun:
      break;
  }
  return command_of(kMpirun, "", options);
}

std::string as_shell_word(const std::string& word) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789%+,-./:=@_";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
  std::string quoted = "'";
  for (char letter : word) quoted += letter == '\'' ? "'\\''" : std::string(1, letter);
  return quoted + "'";
}

}  // namespace

// The line is one that the user can type: it is made without the record's variable.
int hand_over(const Options& options) {
  const bool is_pe = std::getenv("PMIX_RANK") != nullptr || std::getenv("PMI_RANK") != nullptr;
  if (is_pe) forget_outer_identity();
  const FoundLauncher launcher = choose_launcher(options);
  std::string line = "oshrun: several machines:";
  for (const std::string& word : command_for(launcher, options)) {
    line += ' ';
    line += as_shell_word(word);
  }
  std::fprintf(stderr, "%s\n", line.c_str());
  std::fflush(stderr);
  JobRecord record;
  return run_launcher(command_for(launcher, options), record);
}

}  // namespace meshmem
