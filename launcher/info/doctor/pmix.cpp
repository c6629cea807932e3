// SPDX-License-Identifier: Apache-2.0
//
// PMIx, by which PEs and launchers speak: the library that meshmem and oshrun load, those of the
// launchers on PATH and of this job's, and settings that both ends obey. The settings that break
// jobs were found by trying them with PMIx 4.2.
#include <fmt/format.h>

#include <cstdlib>
#include <sstream>

#include "info/doctor/checks.hpp"
#include "info/doctor/pmix_library.hpp"

namespace meshmem::doctor {
namespace {

constexpr int kOldestServer = 3;  // of the major versions

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

// Servers tell their clients.
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

// Of those that tell.
Checks check_launchers_libraries(const Machine& machine) {
  const std::string name = "PMIx of launchers";
  std::string found;
  for (const char* launcher : {"prterun", "mpirun"}) {
    const std::string program = machine.find_program(launcher);
    const std::string version = program.empty() ? "" : machine.pmix_of_launcher(program);
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

}  // namespace

Checks check_pmix(const Machine& machine) {
  Checks checks{check_library(machine)};
  if (machine.variable("PMIX_RANK")) checks.push_back(check_server(machine));
  checks.push_back(check_settings(machine));
  for (Check& check : check_launchers_libraries(machine)) checks.push_back(std::move(check));
  return checks;
}

}  // namespace meshmem::doctor
