// SPDX-License-Identifier: Apache-2.0
//
// The checks of the machine come first, and what is bad is printed before the library starts, since
// a start that fails ends the process. PE 0 fetches the checks of other nodes by gets.
#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "base/machine/machine.hpp"
#include "info/doctor/checks.hpp"
#include "info/doctor/nodes.hpp"
#include "info/doctor/trial.hpp"

namespace meshmem::doctor {
namespace {

// A PE that does not answer for this long ends the job (MESHMEM_TIMEOUT).
constexpr const char* kPatienceSeconds = "60";
// Launchers end all PEs when one fails, so a PE without the library waits this long for the one
// that prints for its node.
constexpr std::chrono::seconds kTimeToPrint(10);

// Returns the library of this installation, or why it cannot be loaded. Only a job loads it, so
// meshmem-info works without it otherwise. It stays loaded until the process ends.
std::variant<Library, std::string> load_library() {
  const auto reason = [] {
    const char* text = ::dlerror();
    return std::string(text ? text : "no reason given");
  };
  void* const file = ::dlopen(MESHMEM_LIBRARY, RTLD_NOW | RTLD_GLOBAL);
  if (!file) return reason();
  Library library{};
#define MESHMEM_FIND(name)                                                                \
  library.name = reinterpret_cast<decltype(library.name)>(::dlsym(file, "shmem_" #name)); \
  if (!library.name) return reason();
  MESHMEM_DOCTOR_ROUTINES(MESHMEM_FIND)
#undef MESHMEM_FIND
  return library;
}

// False if the launcher's variables say that another PE is its node's first. The library, which
// knows for sure, has not started yet. With oshrun all PEs are on one machine.
bool may_be_first_of_node(const Machine& machine) {
  const char* own =
      machine.variable("MESHMEM_OSHRUN_PES") ? machine.variable("PMIX_RANK") : nullptr;
  for (const char* name : {"OMPI_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID", "MPI_LOCALRANKID"})
    if (!own) own = machine.variable(name);
  return !own || std::string(own) == "0";
}

void print_bad_checks(const Checks& checks) {
  NodeChecks own{host_name(), {}};
  for (const Check& check : checks)
    if (check.verdict == Verdict::bad) own.checks.push_back(check);
  for (Check& check : own.checks) check.nodes = {own.node};
  std::fputs(lines_of(own.checks).c_str(), stderr);
}

int print(const Checks& checks, bool as_json) {
  const std::string text = as_json ? json_of(checks) : table_of(checks);
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);  // before the launcher hears of a status and ends the others
  return has_bad(checks) ? 1 : 0;
}

// Returns symmetric memory; ends the job if the heap has no room for it.
template <typename T>
T* allocate(const Library& library, std::size_t count) {
  void* const memory = library.malloc_with_hints(count * sizeof(T), SHMEMX_MALLOC_HOST);
  if (!memory) {
    std::fprintf(stderr, "meshmem-info: the heap has no room; raise SHMEM_SYMMETRIC_SIZE\n");
    std::exit(1);
  }
  return static_cast<T*>(memory);
}

Places all_places(const Library& library) {
  Places places = find_places(library);
  const auto n = static_cast<std::size_t>(places.n_pes);
  int* const all = allocate<int>(library, n + 1);
  all[n] = places.first;
  library.fcollectmem(SHMEM_TEAM_WORLD, all, all + n, sizeof(int));
  places.firsts.assign(all, all + n);
  std::sort(places.firsts.begin(), places.firsts.end());
  places.firsts.erase(std::unique(places.firsts.begin(), places.firsts.end()), places.firsts.end());
  return places;
}

std::string network_between_nodes(const Machine& machine, const Checks& checks) {
  const auto text_of = [&machine](const char* name) {
    const char* text = machine.variable(name);
    return std::string(text ? text : "");
  };
  const bool has_fake_nodes = !text_of("MESHMEM_OSHRUN_FAKE_NODES").empty();
  if (has_fake_nodes && text_of("MESHMEM_NETWORK") != "ucx" &&
      text_of("MESHMEM_NETWORK_DEVICE").empty())
    return "tcp over lo";
  const auto networks = std::find_if(checks.begin(), checks.end(),
                                     [](const Check& check) { return check.name == "networks"; });
  return networks == checks.end() ? "the network" : networks->says;
}

std::vector<NodeChecks> gather(const Library& library, const NodeReport* reports,
                               const std::vector<int>& firsts) {
  std::vector<NodePlace> places;
  std::vector<NodeChecks> nodes;
  const auto got = std::make_unique<NodeReport>();
  for (const int pe : firsts) {
    library.getmem(got.get(), reports, sizeof *got, pe);
    nodes.push_back(get(*got));
    places.push_back({nodes.back().node, pe});
  }
  const std::vector<std::string> names = names_of(places);
  for (std::size_t i = 0; i < nodes.size(); ++i) nodes[i].node = names[i];
  return nodes;
}

int try_and_report(const Library& library, const Machine& machine, Checks checks, bool as_json) {
  const Places places = all_places(library);
  NodeReport* const report = allocate<NodeReport>(library, 1);
  long* const status = allocate<long>(library, 2);  // PE 0's, and the copy that it sends to all
  const TrialMemory memory{allocate<char>(library, kTrialBytes),
                           library.malloc_with_hints(kTrialBytes, SHMEMX_MALLOC_DEVICE)};
  const JobFacts facts{machine.target(), network_between_nodes(machine, checks)};
  for (Check& check : try_job(library, places, memory, facts)) checks.push_back(std::move(check));
  put(*report, {host_name(), std::move(checks)});
  library.barrier_all();
  if (places.me == 0) *status = print(merge(gather(library, report, places.firsts)), as_json);
  library.broadcastmem(SHMEM_TEAM_WORLD, status + 1, status, sizeof *status, 0);
  return static_cast<int>(status[1]);
}

}  // namespace

int run_as_job(const Machine& machine, bool as_json) {
  Checks checks = check_all(machine);
  const auto loaded = load_library();
  const bool prints_for_node = may_be_first_of_node(machine);
  if (const auto* reason = std::get_if<std::string>(&loaded)) {
    checks.push_back(bad("library", *reason,
                         "apt-get install what it lacks, or add its folder to LD_LIBRARY_PATH"));
    if (prints_for_node) return print(checks, as_json);
    std::this_thread::sleep_for(kTimeToPrint);
    return 1;
  }
  if (prints_for_node) print_bad_checks(checks);
  const Library& library = std::get<Library>(loaded);
  ::setenv("MESHMEM_TIMEOUT", kPatienceSeconds, 0);
  library.init();
  const int status = try_and_report(library, machine, std::move(checks), as_json);
  library.finalize();
  return status;
}

}  // namespace meshmem::doctor
