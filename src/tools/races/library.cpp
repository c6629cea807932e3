// SPDX-License-Identifier: Apache-2.0
//
// The functions of this library that libmeshmem.so calls.
// Invariant: after a job with races PE 0 ends with status 1, as the last PE of its machine. A
// launcher would end those that still run.
#include <fmt/format.h>
#include <pshmem.h>
#include <pthread.h>
#include <unistd.h>

#include <cstdio>
#include <optional>

#include "tools/interpose/interpose.hpp"
#include "tools/interpose/teams.hpp"
#include "tools/races/checker.hpp"
#include "tools/races/state.hpp"

namespace meshmem::races {
namespace {

TraceJob checked_job;
bool has_races = false;
// While a thread forks it holds the checker, so no other is in it; its own hooks do nothing.
thread_local std::optional<Entered> at_fork;

void enter_for_fork() {
  if (!must_stay_out()) at_fork.emplace();
}

std::string open(const TraceJob& job) {
  if (job.version != kTraceJobVersion) return "libmeshmem_races.so is of another meshmem";
  checked_job = job;
  // A child of fork shares the PE's network but is not the PE: it checks nothing, and its status is
  // its own.
  static const int registered = pthread_atfork(
      enter_for_fork, [] { at_fork.reset(); },
      [] {
        leave_checker();
        has_races = false;
        at_fork.reset();
      });
  if (registered != 0) return "MESHMEM_CHECK=races: no memory for a function at fork";
  tracing::forget_teams();
  tracing::name_predefined_teams(job);
  if (const std::string error = open_checker(checked_job); !error.empty())
    return "MESHMEM_CHECK=races: " + error;
  tracing::put_wrappers_in_place();
  return {};
}

void close() {
  {
    const Entered entered;  // closes the ledger, which stays closed in a new call
    if (checker.is_open) take_call_number();
  }
  pshmem_barrier_all();  // now all PEs have ended their calls, and have told of their races
  const std::string races = close_checker();
  if (races.empty()) return;
  has_races = true;
  checked_job.print_line(fmt::format("MESHMEM_CHECK=races: {}; the job ends with status 1", races));
}

// Runs after the program's destructors and atexit functions. _exit() skips only what the system
// would do after it.
__attribute__((destructor)) void end_with_status() {
  if (!has_races) return;
  std::fflush(nullptr);
  checked_job.wait_for_other_processes();
  _exit(1);
}

}  // namespace
}  // namespace meshmem::races

#define VISIBLE extern "C" __attribute__((visibility("default")))
VISIBLE void meshmem_open_trace(const meshmem::TraceJob& job, std::string& error) {
  error = meshmem::races::open(job);
}
VISIBLE void meshmem_close_trace() { meshmem::races::close(); }
VISIBLE void meshmem_leave_trace() {}
#undef VISIBLE
