// SPDX-License-Identifier: Apache-2.0
//
// Sets up collectives and the trace when the Runtime has been opened, and ends the trace before it
// closes.
// Invariant: all PEs read the same settings of collectives (agreement.hpp), so all choose alike.
#include "library/init_finalize.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <new>
#include <thread>

#include "base/error.hpp"
#include "base/settings/foreign_variables.hpp"
#include "base/status/own_status.hpp"
#include "bootstrap/job.hpp"
#include "collectives/device/for_kernels.hpp"
#include "collectives/policy/reduce_policy.hpp"
#include "collectives/same_call.hpp"
#include "collectives/sync.hpp"
#include "core/runtime.hpp"
#include "core/trace_library.hpp"
#include "memory/address_map.hpp"
#include "one_sided/completion.hpp"

namespace meshmem {
namespace {

// Sets collectives up as the environment says. Returns nullopt, or what is wrong with it.
std::optional<std::string> set_up_collectives(const Environment& environment) {
  reduce_policy.settings = {.rule = environment.reduce_algorithm,
                            .ring_min_bytes = environment.reduce_ring_min_bytes,
                            .blocks = environment.reduce_blocks,
                            .threads = environment.reduce_threads};
  calls_are_compared = has(environment.check, Check::calls);
  const auto n_pes = static_cast<int>(address_map.n_pes);
  if (!runtime().tuning().empty())
    if (auto error = reduce_policy.use_tuning(runtime().tuning(),
                                              runtime().device_memory().architecture(), n_pes))
      return fmt::format("MESHMEM_TUNING={}: {}", environment.tuning, *error);
  runtime().device_state().limit_reductions(reduce_policy.kernel_limits(n_pes));
  return std::nullopt;
}

// PE 0 prints the version and the variables, if the environment asks for them.
void print_banner(const Environment& environment) {
  if (environment.version)
    std::printf("%s (OpenSHMEM %d.%d)\n", SHMEM_VENDOR_STRING, SHMEM_MAJOR_VERSION,
                SHMEM_MINOR_VERSION);
  if (environment.info) std::fputs(environment_help().c_str(), stdout);
  std::fflush(stdout);
  for (const std::string& name : unknown_variables(environ)) {
    const std::string meant = variable_meant_by(name);
    if (meant.empty())
      debug("the variable {} is not known; see SHMEM_INFO", name);
    else
      print_line(fmt::format("the variable {} is not known; is {} meant?", name, meant));
  }
}

// Lets the proxy hand collectives that kernels ask for to CollectivesForKernels.
void serve_kernels() {
  CollectivesForKernels& collectives = collectives_for_kernels();
  collectives.use([](std::uint64_t number) { runtime().proxy().answer(number); });
  runtime().kernel_proxy().use_collectives(
      {.begin = [&collectives](const device::ProxyCommand& command) { collectives.begin(command); },
       .stop = [&collectives] { collectives.stop(); }});
}

std::optional<std::string> objection_to(const std::optional<Place>& asked) {
  const Job& job = joined_job();
  if (!asked || (asked->pe == job.pe && asked->n_pes == job.n_pes)) return std::nullopt;
  return fmt::format(
      "the program starts as rank {} of {}, but this is PE {} of {}: its launcher, or an earlier "
      "start, has said so",
      asked->pe, asked->n_pes, job.pe, job.n_pes);
}

// Makes an open library ready for programs. Returns nullopt, or why it cannot.
std::optional<std::string> make_ready(const char* routine, int thread_level,
                                      const TraceMoment& begin) {
  const Environment& environment = runtime().environment();
  if (auto error = set_up_collectives(environment)) return error;
  if (address_map.my_pe == 0) print_banner(environment);
  return open_trace(routine, thread_level, begin);
}

// If no PE can go on, the library closes again on all, as if it had not been opened. If some can,
// those that cannot end the job: the others would wait for them.
std::optional<std::string> close_again_on(const std::optional<std::string>& error,
                                          const char* routine) {
  const JobConnection::StartOutcome all =
      runtime().job().compare_starts(error.has_value(), routine);
  if (!all.has_failures) return std::nullopt;
  if (all.has_successes && error) fatal("{}: {}", routine, *error);
  if (all.has_successes)
    for (;;) pause();
  runtime().leave();
  return error;
}

// Counts one more initialization; the first reads the environment and opens the library. Returns
// nullopt, or why it failed. A thread that calls it meanwhile waits until the library is ready.
std::optional<std::string> start(const char* routine, int thread_level,
                                 const std::optional<Place>& asked) {
  if (is_child_of_pe())
    return "called by a child of fork, which shares its PE's memory and is no PE itself; let the "
           "child become a program of its own by exec";
  static std::mutex starting;
  const std::lock_guard lock(starting);
  const TraceMoment begin = TraceMoment::now_exactly();
  const bool first = !runtime().is_active();
  const bool is_only_thread = has_one_thread();  // the library has not started its own yet
  if (first) serve_kernels();
  if (auto error = runtime().enter()) return error;
  auto error = objection_to(asked);
  if (!first) {
    if (error) runtime().leave();
    set_acts_alone(false);  // whatever this call asks for
    return error;
  }
  // nvshmem_init and rocshmem_init ask for no level, and let threads call in turn.
  if (runtime().names() != NamesOf::openshmem)
    thread_level = std::max(thread_level, SHMEM_THREAD_SERIALIZED);
  if (!error) error = make_ready(routine, thread_level, begin);
  if ((error = close_again_on(error, routine))) return error;
  const bool may_wait_for_ever = runtime().environment().timeout == 0;
  set_acts_alone(thread_level == SHMEM_THREAD_SINGLE && is_only_thread && !may_wait_for_ever &&
                 kDevicesAreProcessors &&
                 has_places_of_job(address_map.my_pe, static_cast<int>(address_map.n_pes)));
  return std::nullopt;
}

}  // namespace

std::optional<std::string> start_or_say_why(const char* routine, int thread_level,
                                            std::optional<Place> asked) {
  try {
    return start(routine, thread_level, asked);
  } catch (const std::bad_alloc&) {
    fatal_without_memory();
  } catch (const std::exception& exception) {
    return fmt::format("the C++ library says: {}", exception.what());
  }
}

// A set-uid program does not ask the launcher which PE it is, since PMIx would load files that the
// environment names.
void fail_together(const std::string& message) {
  if (!is_child_of_pe() && !reason_to_refuse_environment() &&
      connect_to_launcher(Environment().start_timeout).pe != 0)
    std::this_thread::sleep_for(std::chrono::seconds(1));
  fatal_message(message);
}

void finish(const char* routine) {
  Team& world = runtime().world();
  world.begin_call("shmem_finalize");
  expect_same_call(world, "");  // also on a PE whose program just ends
  world.begin_call(routine);
  complete_transfers(routine);
  sync(world);
  if (runtime().has_one_user()) close_trace();
  runtime().leave();
}

void debug_finalize_of_nothing() {
  Environment environment;  // without shmem_init nobody has read it; a bad value is no error here
  if (parse_environment(environment, std::getenv) || !environment.debug) return;
  print_line(
      "shmem_finalize: called before shmem_init or after the last shmem_finalize; it does nothing");
}

}  // namespace meshmem
