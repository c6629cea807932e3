// SPDX-License-Identifier: Apache-2.0
//
// Checks the launchers on PATH; oshrun starts jobs of one machine without any of them. Also checks
// PMIx, by which PEs and launchers speak: the library of meshmem and oshrun, those of the launchers
// and of this job's server, and settings of both ends. The settings that break jobs were found by
// trying them with PMIx 4.2.
#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string_view>

#include "info/doctor/checks.hpp"

namespace meshmem::doctor {
namespace {

constexpr int kOldestServer = 3;  // the major version of PMIx

// "4.2.2" of "OpenPMIx 4.2.2 (PMIx Standard: ...)"; "?" of another text.
std::string pmix_number(const std::string& text) {
  const std::size_t digit = text.find_first_of("0123456789");
  if (digit == std::string::npos) return "?";
  return text.substr(digit, text.find_first_of(" ,", digit) - digit);
}

Check check_library(const Machine& machine) {
  const std::string loaded = machine.pmix_version(), built = MESHMEM_PMIX_VERSION;
  if (loaded.empty())
    return bad("PMIx", "libpmix.so.2 cannot be loaded; no program of meshmem starts without it",
               "apt-get install libpmix2, or add its folder to LD_LIBRARY_PATH");
  const std::string number = pmix_number(loaded);
  if (std::atoi(number.c_str()) < std::atoi(built.c_str()))
    return warn("PMIx", fmt::format("{} is loaded, older than the {} of the build", number, built),
                "build meshmem anew on this machine, or put the newer libpmix first in "
                "LD_LIBRARY_PATH");
  return ok("PMIx", fmt::format("{}, built with {}", number, built));
}

// Servers set PMIX_VERSION for their clients.
Check check_server(const Machine& machine) {
  const char* version = machine.variable("PMIX_VERSION");
  if (!version) return ok("PMIx server", "this job's server does not report its version");
  if (std::atoi(version) < kOldestServer)
    return warn(
        "PMIx server",
        fmt::format("this job's server has PMIx {}; jobs need {} or newer", version, kOldestServer),
        "use a launcher with a newer PMIx, or oshrun");
  return ok("PMIx server", fmt::format("this job's server has PMIx {}", version));
}

// Whether a list of components, "a,b" or "^a,b" for all but these, takes this one.
bool takes(const std::string& setting, const std::string& component) {
  const bool excludes = setting.starts_with('^');
  std::istringstream words(excludes ? setting.substr(1) : setting);
  for (std::string word; std::getline(words, word, ',');)
    if (word == component) return !excludes;
  return excludes;
}

Check check_settings(const Machine& machine) {
  const char* storage = machine.variable("PMIX_MCA_gds");
  if (storage && !takes(storage, "hash"))
    return bad("PMIx settings",
               fmt::format("PMIX_MCA_gds={} leaves out hash, without which jobs stand still or "
                           "do not start",
                           storage),
               "unset PMIX_MCA_gds, or add hash");
  const char* security = machine.variable("PMIX_MCA_psec");
  const char* of_server = machine.variable("PMIX_SECURITY_MODE");  // in a job
  const std::string needed = of_server ? of_server : "native";
  if (security && !takes(security, needed) && (of_server || !takes(security, "none")))
    return bad(
        "PMIx settings",
        fmt::format("PMIX_MCA_psec={} leaves out {}, by which {}", security, needed,
                    of_server ? "this job's server knows its PEs" : "servers know their PEs"),
        fmt::format("unset PMIX_MCA_psec, or add {}", needed));
  return ok("PMIx settings", "no setting keeps PEs from their server");
}

constexpr const char* kNotFound = "not found";
// The path in ldd's line "libpmix.so.2 => /usr/lib/libpmix.so.2 (0x7f...)", kNotFound, or "" if
// there is no such line.
std::string linked_pmix(const Machine& machine, const std::string& file) {
  std::istringstream lines(
      machine.output_of("/usr/bin/ldd", fmt::format("'{}' 2>/dev/null", file)));
  for (std::string line; std::getline(lines, line);) {
    const std::size_t arrow = line.find(" => ");
    if (arrow == std::string::npos || !trimmed(line).starts_with("libpmix.so")) continue;
    const std::string place = line.substr(arrow + 4);
    return place.starts_with(kNotFound) ? kNotFound : place.substr(0, place.find(" ("));
  }
  return "";
}

// mpirun of Open MPI 4 has libpmix in a plugin, mca_pmix_*.so, in a folder that ompi_info prints as
// "path:pkglibdir:/usr/lib/openmpi". prterun, and mpirun of Open MPI 5, are linked with it.
std::string pmix_of_plugins(const Machine& machine, const std::string& program) {
  constexpr std::string_view kBefore = "path:pkglibdir:";
  if (machine.output_of(program, "--version 2>/dev/null").find("Open MPI") == std::string::npos)
    return "";
  const std::string info = std::filesystem::path(program).replace_filename("ompi_info");
  std::istringstream lines(machine.output_of(info, "--parsable --path pkglibdir 2>/dev/null"));
  std::string line;
  while (std::getline(lines, line) && !line.starts_with(kBefore)) line.clear();
  const std::string folder = line.empty() ? "" : trimmed(line.substr(kBefore.size()));
  for (const std::string& name : machine.list(folder)) {
    if (!name.starts_with("mca_pmix_")) continue;
    const std::string found = linked_pmix(machine, machine.at(folder + "/" + name));
    if (!found.empty()) return found;
  }
  return "";
}

// "4.2.2" of a file that has "OpenPMIx 4.2.2 (PMIx Standard: ...)" in it, or "".
std::string pmix_version_in(const std::filesystem::path& file) {
  constexpr std::string_view kBefore = "OpenPMIx ";
  std::ifstream stream(file, std::ios::binary);
  const std::string bytes(std::istreambuf_iterator<char>(stream), {});
  for (std::size_t at = bytes.find(kBefore); at != std::string::npos;
       at = bytes.find(kBefore, at + 1)) {
    const std::string text = bytes.substr(at, bytes.find('\0', at) - at);
    if (text.find("PMIx Standard") != std::string::npos) return pmix_number(text);
  }
  return "";
}

// "4.2.2", kNotFound, or "" if the launcher has no PMIx or it cannot be found out.
std::string pmix_of_launcher(const Machine& machine, const std::string& program) {
  if (program.empty() || program.find('\'') != std::string::npos) return "";
  std::string found = linked_pmix(machine, program);
  if (found.empty()) found = pmix_of_plugins(machine, program);
  const bool is_file = !found.empty() && found != kNotFound;
  return is_file ? pmix_version_in(machine.at(found)) : found;
}

// Only of launchers whose PMIx can be found out.
Checks check_launchers_libraries(const Machine& machine) {
  const std::string name = "PMIx of launchers";
  std::string found;
  for (const char* launcher : {"prterun", "mpirun"}) {
    const std::string program = machine.find_program(launcher);
    const std::string version = pmix_of_launcher(machine, program);
    if (version.empty()) continue;
    if (version == kNotFound)
      return {warn(
          name, fmt::format("{} does not find its libpmix", launcher),
          fmt::format("install the PMIx of {}, or add its folder to LD_LIBRARY_PATH", program))};
    if (std::atoi(version.c_str()) < kOldestServer)
      return {warn(
          name,
          fmt::format("{} has PMIx {}; jobs need {} or newer", launcher, version, kOldestServer),
          "install a newer Open MPI or PRRTE, or use oshrun")};
    found += fmt::format("{}{} has {}", found.empty() ? "" : ", ", launcher, version);
  }
  if (found.empty()) return {};
  return {ok(name, found)};
}

// The first line of --version with a number in it: some print a headline before. MPICH's launcher
// puts its version into a column, so several blanks become one.
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

// srun lists its plugins as words: "pmix", "pmix_v4", "pmi2", "none".
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
  Checks checks{check_library(machine)};
  if (machine.variable("PMIX_RANK")) checks.push_back(check_server(machine));
  checks.push_back(check_settings(machine));
  for (Check& check : check_launchers_libraries(machine)) checks.push_back(std::move(check));
  checks.push_back(check_programs(machine));
  const std::string srun = machine.find_program("srun");
  if (!srun.empty()) checks.push_back(check_srun(machine, srun));
  return checks;
}

}  // namespace meshmem::doctor
