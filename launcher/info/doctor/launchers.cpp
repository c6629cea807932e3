// SPDX-License-Identifier: Apache-2.0
//
// Who starts jobs: PMIx's library, which the library and oshrun load, and the launchers on PATH.
// oshrun starts jobs of one machine without any of the others.
#include <fmt/format.h>

#include <cstdlib>
#include <sstream>

#include "info/doctor/checks.hpp"

namespace meshmem::doctor {
namespace {

Check check_pmix(const Machine& machine) {
  const std::string loaded = machine.pmix_version(), built = MESHMEM_PMIX_VERSION;
  if (loaded.empty())
    return bad("PMIx", "libpmix.so.2 cannot be loaded; no program of meshmem starts without it",
               "apt-get install libpmix2, or add its folder to LD_LIBRARY_PATH");
  // "OpenPMIx 4.2.2 (PMIx Standard: ...)"
  const std::size_t digit = loaded.find_first_of("0123456789");
  const std::string number = digit == std::string::npos
                                 ? "?"
                                 : loaded.substr(digit, loaded.find_first_of(" ,", digit) - digit);
  if (std::atoi(number.c_str()) < std::atoi(built.c_str()))
    return warn("PMIx", fmt::format("{} is loaded, older than the {} of the build", number, built),
                "build meshmem anew on this machine, or put the newer libpmix first in "
                "LD_LIBRARY_PATH");
  const char* server = machine.variable("PMIX_VERSION");  // servers tell their clients
  return ok("PMIx", fmt::format("{}, built with {}{}{}", number, built,
                                server ? "; this job's server has " : "", server ? server : ""));
}

// MPICH's launcher puts its version into a column.
std::string with_single_spaces(const std::string& text) {
  std::istringstream words(text);
  std::string result;
  for (std::string word; words >> word;) result += (result.empty() ? "" : " ") + word;
  return result;
}

Check check_programs(const Machine& machine) {
  std::string found;
  for (const char* name : {"prterun", "prun", "mpirun", "mpiexec.hydra", "srun"}) {
    const std::string program = machine.find_program(name);
    if (program.empty()) continue;
    const std::string version = with_single_spaces(machine.version_of(program));
    found += fmt::format("{}{} ({})", found.empty() ? "" : "; ", name,
                         version.empty() ? "does not tell its version" : version);
  }
  if (!found.empty()) return ok("launchers", found);
  return warn("launchers", "only oshrun, which starts jobs of one machine",
              "for several: apt-get install openmpi-bin, or add the launcher's folder to PATH");
}

// Slurm's plugins are words of what it lists: "pmix", "pmix_v4", "pmi2", "none".
Check check_srun(const Machine& machine, const std::string& srun) {
  std::istringstream words(machine.protocols_of_srun(srun));
  bool has_list = false, has_pmi2 = false;
  for (std::string word; words >> word;) {
    word.erase(word.find_last_not_of(",:;") + 1);
    if (word.starts_with("pmix")) return ok("srun", "speaks PMIx: srun --mpi=pmix");
    has_pmi2 |= word == "pmi2";
    has_list |= word == "none";
  }
  if (has_pmi2) return ok("srun", "speaks no PMIx, but PMI: srun --mpi=pmi2");
  if (!has_list) return ok("srun", "does not tell what it speaks");
  return warn("srun", "speaks neither PMIx nor PMI, so it starts no jobs of meshmem",
              "install Slurm's plugin for PMIx, or run mpirun in the allocation");
}

}  // namespace

Checks check_launchers(const Machine& machine) {
  Checks checks{check_pmix(machine), check_programs(machine)};
  const std::string srun = machine.find_program("srun");
  if (!srun.empty()) checks.push_back(check_srun(machine, srun));
  return checks;
}

}  // namespace meshmem::doctor
