// SPDX-License-Identifier: Apache-2.0
//
// The tables of foreign variables, and what they say of this process.
// Invariant: if a launcher started a single process, nothing here objects.
#include "base/settings/foreign_variables.hpp"

#include <fmt/core.h>
#include <sys/auxv.h>

#include <algorithm>
#include <cstdlib>

namespace meshmem {
namespace {

// If `rank` is set, this launcher started the process. The first of `sizes` that is set is the
// number of the job's processes.
struct LauncherVariables {
  const char* rank;
  const char* sizes[2];
};

constexpr const char* kOshrunPes = "MESHMEM_OSHRUN_PES";

constexpr LauncherVariables kLaunchers[] = {
    {"PMIX_RANK", {"PMIX_SIZE", nullptr}},
    {"PMI_RANK", {"PMI_SIZE", nullptr}},
    {"PMI_PORT", {"PMI_SIZE", nullptr}},  // mpiexec.hydra -pmi-port: rank and size by TCP
    {"PMI_ID", {"PMI_SIZE", nullptr}},
    {"OMPI_COMM_WORLD_RANK", {"OMPI_COMM_WORLD_SIZE", nullptr}},
    {"OMPI_COMM_WORLD_SIZE", {"OMPI_COMM_WORLD_SIZE", nullptr}},
    {"MV2_COMM_WORLD_RANK", {"MV2_COMM_WORLD_SIZE", nullptr}},
    {"PALS_RANKID", {"PALS_NRANKS", nullptr}},
    {"SLURM_PROCID", {"SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"}},
    {kOshrunPes, {kOshrunPes, nullptr}},
};

}  // namespace

std::optional<std::string> launcher_without_server(const GetEnv& get_env) {
  for (const LauncherVariables& launcher : kLaunchers) {
    const char* rank = get_env(launcher.rank);
    if (!rank) continue;
    for (const char* name : launcher.sizes) {
      const char* size = name ? get_env(name) : nullptr;
      if (!size) continue;
      if (std::atol(size) > 1)
        return fmt::format("{}={} says that this is one of {} processes", name, size, size);
      return std::nullopt;
    }
    if (std::atol(rank) > 0 || launcher.rank == std::string_view("PMIX_RANK") ||
        launcher.rank == std::string_view("PMI_PORT")) {
      return fmt::format("{}={} says that a launcher started this process", launcher.rank, rank);
    }
  }
  return std::nullopt;
}

std::optional<std::string> contradiction_of_oshrun(int n_pes, const GetEnv& get_env) {
  const char* text = get_env(kOshrunPes);
  const long started = text ? std::atol(text) : 0;
  if (started < 1 || started == n_pes) return std::nullopt;
  return fmt::format(
      "{}={} says that oshrun started {} PEs, but the PMIx server that answers knows {}: start the "
      "program by one launcher alone (where another one in between is meant, unset {})",
      kOshrunPes, text, started, n_pes, kOshrunPes);
}

bool names_pmix_server(const char* const* entries) {
  for (; entries != nullptr && *entries != nullptr; ++entries) {
    if (std::string_view(*entries).starts_with("PMIX_SERVER_URI")) return true;  // of any version
  }
  return false;
}

bool names_pmi_connection(const GetEnv& get_env) {
  return get_env("PMI_FD") != nullptr && get_env("PMI_RANK") != nullptr &&
         get_env("PMI_SIZE") != nullptr;
}

bool is_started_by_launcher(const char* const* entries, const GetEnv& get_env) {
  return names_pmix_server(entries) || names_pmi_connection(get_env);
}

// oshrun's own comes first: programs that it starts inherit those of launchers around it.
int processes_of_launcher(const char* const* entries, const GetEnv& get_env) {
  if (!is_started_by_launcher(entries, get_env)) return 0;
  for (const char* name : {kOshrunPes, "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"})
    if (const char* size = get_env(name)) return std::max(std::atoi(size), 0);
  return 0;
}

std::optional<std::string> reason_to_refuse_environment() {
  if (getauxval(AT_SECURE) == 0) return std::nullopt;
  return "this program is set-uid, set-gid or has file capabilities, and its environment may be "
         "another user's: meshmem does not start in it; take that bit or capability away";
}

}  // namespace meshmem
