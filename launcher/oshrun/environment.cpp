// SPDX-License-Identifier: Apache-2.0
// Sorts oshrun's variables into two kinds: those by which an outer launcher tells a process who it
// is (its identity), and all others, which the PEs inherit.
// Invariant: settings that a user may have made (PMIX_MCA_*, OMPI_MCA_*, PRTE_MCA_*) pass through,
// except those by which mpirun tells its own children who they are.
#include "environment.hpp"

#include <fmt/format.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/settings/foreign_variables.hpp"
#include "failure.hpp"

namespace meshmem {
namespace {

bool is_outer_identity(std::string_view name) {  // takes NAME or NAME=VALUE
  for (std::string_view setting : {"OMPI_MCA_ess", "OMPI_MCA_orte_", "OMPI_MCA_pmix"}) {
    if (name.starts_with(setting)) return true;
  }
  for (std::string_view setting : {"PMIX_MCA_", "OMPI_MCA_", "PRTE_MCA_"}) {
    if (name.starts_with(setting)) return false;
  }
  for (std::string_view family : {"PMIX_", "OMPI_", "PRTE_", "PMI_", "MPI_LOCALRANKID",
                                  "MPI_LOCALNRANKS", "PRRTE_", "ORTE_"}) {
    if (name.starts_with(family)) return true;
  }
  return std::any_of(std::begin(kOshrunVariables), std::end(kOshrunVariables),
                     [&](const OshrunVariable& variable) {
                       return variable.name == name.substr(0, name.find('='));
                     });
}

void apply_export(Environment& environment, const std::string& text) {
  std::size_t equals = text.find('=');
  std::string name = text.substr(0, equals);
  if (equals != std::string::npos) {
    environment[name] = text.substr(equals + 1);
  } else if (const char* value = std::getenv(name.c_str())) {
    environment[name] = value;
  } else {
    fmt::print(stderr, "oshrun: -x {}: it is not set here; -x {}=VALUE sets it\n", name, name);
  }
}

}  // namespace

Environment make_base_environment(const std::vector<std::string>& exports, int pes,
                                  const std::string& scratch_path) {
  Environment environment;
  for (char** entry = ::environ; *entry != nullptr; ++entry) {
    std::string text = *entry;
    std::size_t equals = text.find('=');
    if (equals == std::string::npos || is_outer_identity(text)) continue;
    environment[text.substr(0, equals)] = text.substr(equals + 1);
  }
  // PEs write to pipes. These variables tell a program which of them lead to a terminal.
  if (::isatty(STDOUT_FILENO) == 1) environment.emplace("MESHMEM_OUTPUT_TTY", "1");
  if (::isatty(STDERR_FILENO) == 1) environment.emplace("MESHMEM_ERROR_TTY", "1");
  // Open MPI 4's component orte takes a program for a single process if it sees no launcher that it
  // knows. Without this component Open MPI asks the PMIx server, which is oshrun's.
  environment.emplace("OMPI_MCA_schizo", "^orte");
  // Otherwise Open MPI's shared memory lies in /dev/shm, and stays there when the job is killed.
  environment.emplace("OMPI_MCA_btl_vader_backing_directory", scratch_path);
  for (const std::string& text : exports) apply_export(environment, text);
  environment["MESHMEM_OSHRUN_PES"] = fmt::format("{}", pes);
  return environment;
}

std::string make_secret() {
  std::uint64_t words[2];
  if (::getrandom(words, sizeof(words), 0) != sizeof(words))
    give_up("cannot get random bits: {}", std::strerror(errno));
  return fmt::format("{:016x}{:016x}", words[0], words[1]);
}

void forget_outer_identity() {
  std::vector<std::string> identities;
  for (char** entry = ::environ; *entry != nullptr; ++entry) {
    std::string_view text = *entry;
    if (is_outer_identity(text)) identities.emplace_back(text.substr(0, text.find('=')));
  }
  for (const std::string& name : identities) ::unsetenv(name.c_str());
}

}  // namespace meshmem
