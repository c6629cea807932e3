// SPDX-License-Identifier: Apache-2.0
// The command lines of prun and prterun (PRRTE), mpirun (Open MPI) and srun (Slurm), made from
// oshrun's.
// Invariant: words of the user's are passed on as they are; a word that the other launcher would
// understand differently is refused.
#include "hosts.hpp"

#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string_view>

#include "base/settings/foreign_variables.hpp"
#include "environment.hpp"
#include "failure.hpp"

namespace meshmem {
namespace {

using Words = std::vector<std::string>;

struct Host {
  std::string name;
  int pes;  // 0: not given
};

Host parse_host(const std::string& text) {
  const std::size_t colon = text.find(':');
  Host host{text.substr(0, colon), 0};
  if (colon != std::string::npos) {
    const auto pes = parse_number(std::string_view(text).substr(colon + 1), 1, kMaxPes);
    if (!pes) host.name.clear();
    host.pes = static_cast<int>(pes.value_or(0));
  }
  if (host.name.empty())
    refuse("--hosts takes names with numbers of PEs, such as a:4,b:4, not '{}'", text);
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

// Without numbers, -n PEs are spread evenly; some of the first hosts may get one more.
void spread(std::vector<Host>& hosts, int pes) {
  const int n_hosts = static_cast<int>(hosts.size());
  if (pes < n_hosts) refuse("--hosts names {} machines for {} PEs; leave some out", n_hosts, pes);
  for (int i = 0; i < n_hosts; ++i) hosts[i].pes = pes / n_hosts + (i < pes % n_hosts ? 1 : 0);
}

struct Placement {
  std::vector<Host> hosts;  // with a number for each
  int pes;
};

// Places the PEs by the numbers that --hosts gives.
Placement place_by_numbers(const std::vector<Host>& hosts, const Options& options) {
  long sum = 0;
  for (const Host& host : hosts) {
    if (host.pes == 0) refuse("--hosts gives numbers of PEs, but none for '{}'", host.name);
    sum += host.pes;
  }
  if (sum > kMaxPes)
    refuse("--hosts {} asks for {} PEs; the most is {}", options.hosts, sum, kMaxPes);
  if (options.pes > sum && !options.oversubscribe)
    refuse("-n {} is more than the {} PEs of --hosts {}", options.pes, sum, options.hosts);
  return {hosts, options.pes > 0 ? options.pes : static_cast<int>(sum)};
}

Placement place(const Options& options) {
  std::vector<Host> hosts = parse_hosts(options.hosts);
  const auto is_counted = [](const Host& host) { return host.pes > 0; };
  if (std::any_of(hosts.begin(), hosts.end(), is_counted)) return place_by_numbers(hosts, options);
  if (options.pes == 0)
    refuse("say how many PEs: --hosts {}:4 for each machine, or -n for all", hosts[0].name);
  spread(hosts, options.pes);
  return {hosts, options.pes};
}

Words words_of_hosts(const Options& options) {
  const Placement placement = place(options);
  Words list;
  for (const Host& host : placement.hosts)
    list.push_back(fmt::format("{}:{}", host.name, host.pes));
  return {"--host", fmt::format("{}", fmt::join(list, ",")), "-n",
          fmt::format("{}", placement.pes)};
}

Words words_of_file(const Options& options) {
  if (::access(options.hostfile.c_str(), R_OK) != 0)
    refuse("cannot read --hostfile '{}': {}", options.hostfile, std::strerror(errno));
  Words words = {"--hostfile", options.hostfile};
  if (options.pes > 0) words.insert(words.end(), {"-n", fmt::format("{}", options.pes)});
  return words;
}

// True if oshrun passes the variable on: launchers themselves pass on only their own.
bool goes_along(std::string_view variable) {
  for (std::string_view family : {"SHMEM_", "MESHMEM_", "UCX_", "LD_LIBRARY_PATH="}) {
    if (variable.starts_with(family)) return true;
  }
  const std::string_view name = variable.substr(0, variable.find('='));
  return std::any_of(std::begin(kLibraryVariables), std::end(kLibraryVariables),
                     [&](const LibraryVariable& other) { return other.name == name; });
}

Words exports_of(const Options& options) {
  Words exports;
  for (const std::string& text : options.exports) {
    const bool has_value = text.find('=') != std::string::npos;
    if (has_value || std::getenv(text.c_str()) != nullptr) exports.push_back(text);
  }
  for (char** entry = ::environ; *entry != nullptr; ++entry) {
    const std::size_t equals = std::string_view(*entry).find('=');
    if (equals == std::string_view::npos) continue;
    const std::string name(*entry, equals);
    const bool is_named = std::any_of(exports.begin(), exports.end(), [&name](const auto& text) {
      return text == name || text.starts_with(name + "=");
    });
    if (goes_along(*entry) && !is_named) exports.push_back(name);
  }
  return exports;
}

void check_program(const std::string& launcher, const std::vector<std::string>& program) {
  if (std::find(program.begin() + 1, program.end(), ":") == program.end()) return;
  refuse("':' as a word of its own begins a second program for {}, also among the arguments of {}",
         launcher, program[0]);
}

// Refuses in one line what the launcher would refuse in a page.
void check_root(const std::string& launcher, const Options& options) {
  if (::geteuid() != 0 || options.allow_root) return;
  // 1 in both variables lets root run it.
  const std::string allowed =
      launcher == "mpirun" ? "OMPI_ALLOW_RUN_AS_ROOT" : "PRTE_ALLOW_RUN_AS_ROOT";
  if (std::getenv(allowed.c_str()) == nullptr ||
      std::getenv((allowed + "_CONFIRM").c_str()) == nullptr)
    refuse("{} does not run as root unless told to; add --allow-run-as-root", launcher);
}

std::string working_folder_of(const Options& options) {
  return std::filesystem::absolute(options.working_folder);
}

// For launchers of Open MPI's family, whose options differ little.
Words command_of_open_mpi(const FoundLauncher& launcher, const Options& options) {
  const bool is_mpirun = launcher.program == "mpirun";
  check_program(launcher.program, options.program);
  Words words = {launcher.program};
  const auto add = [&words](const Words& more) {
    words.insert(words.end(), more.begin(), more.end());
  };
  if (options.allow_root) add({"--allow-run-as-root"});
  if (!launcher.argument.empty()) add({"--dvm-uri", "file:" + launcher.argument});
  add(options.hosts.empty() ? words_of_file(options) : words_of_hosts(options));
  if (options.oversubscribe)
    add(is_mpirun ? Words{"--oversubscribe"} : Words{"--map-by", ":OVERSUBSCRIBE"});
  add({"--bind-to", "none"});  // as on one machine; the launchers bind otherwise
  if (!options.working_folder.empty()) add({"--wdir", working_folder_of(options)});
  if (options.timeout) {
    add({"--timeout", fmt::format("{:.0f}", std::ceil(options.timeout->count()))});
  }
  if (options.tag_output) add(is_mpirun ? Words{"--tag-output"} : Words{"--output", "tag"});
  for (const std::string& text : exports_of(options)) add({"-x", text});
  add(options.program);
  check_root(launcher.program, options);  // last: other mistakes count for all users
  return words;
}

// The host of each PE, in their order. PEs beyond the hosts' numbers are dealt out in turn.
Words host_of_each_pe(const Placement& placement) {
  const auto& [hosts, pes] = placement;
  Words names;
  for (const Host& host : hosts) names.insert(names.end(), host.pes, host.name);
  for (std::size_t i = 0; names.size() < static_cast<std::size_t>(pes); ++i)
    names.push_back(hosts[i % hosts.size()].name);
  names.resize(pes);
  return names;
}

// Slurm passes on all variables. New ones are set by env before it: --export takes no commas.
Words command_of_srun(const std::string& protocol, const Options& options) {
  if (options.timeout)
    refuse("srun has no --timeout in seconds; write timeout SECONDS oshrun ..., without --timeout");
  Words words;
  for (const std::string& text : exports_of(options)) {
    if (text.find('=') == std::string::npos) continue;
    if (words.empty()) words.push_back("env");
    words.push_back(text);
  }
  const Placement placement = place(options);
  const Words hosts = host_of_each_pe(placement);
  const auto add = [&words](const Words& more) {
    words.insert(words.end(), more.begin(), more.end());
  };
  add({"srun", "--kill-on-bad-exit=1", "--export=ALL", "--mpi=" + protocol, "--cpu-bind=none"});
  add({"--distribution=arbitrary", "-w", fmt::format("{}", fmt::join(hosts, ","))});
  add({"-n", fmt::format("{}", placement.pes)});
  if (options.oversubscribe) words.push_back("--overcommit");
  if (!options.working_folder.empty()) words.push_back("--chdir=" + working_folder_of(options));
  if (options.tag_output) words.push_back("--label");
  add(options.program);
  return words;
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

// The printed line is one that the user can type: it lacks the variable that run_launcher() sets.
int hand_over(const Options& options) {
  const bool is_pe = std::getenv("PMIX_RANK") != nullptr || std::getenv("PMI_RANK") != nullptr;
  if (is_pe) forget_outer_identity();
  const FoundLauncher launcher = choose_launcher(options);
  const auto make_command = [&] {
    return launcher.program == "srun" ? command_of_srun(launcher.argument, options)
                                      : command_of_open_mpi(launcher, options);
  };
  std::string line = "oshrun: several machines:";
  for (const std::string& word : make_command()) {
    line += ' ';
    line += as_shell_word(word);
  }
  std::fprintf(stderr, "%s\n", line.c_str());
  std::fflush(stderr);
  return run_launcher(make_command);
}

}  // namespace meshmem
