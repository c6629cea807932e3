// SPDX-License-Identifier: Apache-2.0
//
// Checks the launchers on PATH. oshrun starts jobs of one machine without any of them.
#include <fmt/format.h>

#include <sstream>

#include "info/doctor/checks.hpp"

namespace meshmem::doctor {
namespace {

// The first line of --version with a number in it: some print a headline before. MPICH's launcher
// puts its version into a column, so blanks are drawn together.
std::string version_of(const Machine& machine, const std::string& program) {
  std::istringstream lines(machine.output_of(program, "--version 2>/dev/null"));
  std::string line, result;
  while (std::getline(lines, line) && line.find_first_of("0123456789") == std::string::npos)
    line.clear();
  std::istringstream words(line);
  for (std::string word; words >> word;) result += (result.empty() ? "" : " ") + word;
  return result.empty() ? "does not report its version" : result;
}

Check check_programs(const Machine& machine) {
  std::string found;
  for (const char* name : {"prterun", "prun", "mpirun", "mpiexec.hydra", "srun"}) {
    const std::string program = machine.find_program(name);
    if (program.empty()) continue;
    found +=
        fmt::format("{}{} ({})", found.empty() ? "" : "; ", name, version_of(machine, program));
  }
  if (!found.empty()) return ok("launchers", found);
  return warn("launchers", "only oshrun, which starts jobs of one machine",
              "for several: apt-get install openmpi-bin, or add the launcher's folder to PATH");
}

// Slurm's plugins are words of what it lists: "pmix", "pmix_v4", "pmi2", "none".
Check check_srun(const Machine& machine, const std::string& srun) {
  std::istringstream words(machine.output_of(srun, "--mpi=list 2>&1"));
  bool has_list = false, has_pmi2 = false;
  for (std::string word; words >> word;) {
    word.erase(word.find_last_not_of(",:;") + 1);
    if (word.starts_with("pmix")) return ok("srun", "speaks PMIx: srun --mpi=pmix");
    has_pmi2 |= word == "pmi2";
    has_list |= word == "none";
  }
  if (has_pmi2) return ok("srun", "speaks PMI but not PMIx: srun --mpi=pmi2");
  if (!has_list) return ok("srun", "does not list its protocols");
  return warn("srun", "speaks neither PMIx nor PMI, so it starts no jobs of meshmem",
              "install Slurm's plugin for PMIx, or run mpirun in the allocation");
}

}  // namespace

Checks check_launchers(const Machine& machine) {
  Checks checks{check_programs(machine)};
  const std::string srun = machine.find_program("srun");
  if (!srun.empty()) checks.push_back(check_srun(machine, srun));
  return checks;
}

}  // namespace meshmem::doctor
