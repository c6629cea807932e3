// SPDX-License-Identifier: Apache-2.0
//
// Set-up, exit and query (OpenSHMEM 1.6, sections 9.1 and 9.2).
// Invariant: queries never communicate.
#include <fmt/core.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>
#include <thread>

#include "api/entry.hpp"
#include "base/error.hpp"
#include "bootstrap/job.hpp"
#include "bootstrap/launcher_variables.hpp"
#include "collectives/reduce_policy.hpp"
#include "collectives/reduction.hpp"
#include "collectives/same_call.hpp"
#include "collectives/sync.hpp"
#include "transport/completion.hpp"

namespace meshmem {

void CallInContext::refuse_context() const {
  if (ctx == SHMEM_CTX_INVALID) fatal("{}: called with SHMEM_CTX_INVALID", routine);
  fatal("{}: {} is no context of a living team", routine, static_cast<const void*>(ctx));
}

void refuse_team(shmem_team_t handle, const char* routine) {
  fatal("{}: {} is no team (destroyed already, or never made)", routine,
        static_cast<const void*>(handle));
}

void CallInContext::refuse_team_pe(const Team& team, int pe) const {
  fatal("{}: PE {} is not in 0..{} of the context's team", routine, pe, team.n - 1);
}

Team& collective_team(shmem_team_t handle, const char* routine) {
  Team* team = team_of(handle, routine);
  if (!team) fatal("{}: called with SHMEM_TEAM_INVALID", routine);
  team->begin_call(routine);
  return *team;
}

namespace {

// One more initialization; the first reads the environment. nullopt or why not.
std::optional<std::string> start() {
  const bool first = !runtime().is_active();
  if (auto error = runtime().enter()) return error;
  if (!first) return std::nullopt;
  const Environment& environment = runtime().environment();
  reduce_policy.settings = {.rule = environment.reduce_algorithm,
                            .ring_min_bytes = environment.reduce_ring_min_bytes,
                            .deterministic = environment.deterministic,
                            .blocks = environment.reduce_blocks,
                            .threads = environment.reduce_threads};
  calls_are_compared = environment.check;
  const auto n_pes = static_cast<int>(address_map.n_pes);
  if (!runtime().tuning().empty())
    if (auto error = reduce_policy.use_tuning(runtime().tuning(),
                                              runtime().device_memory().architecture(), n_pes))
      return fmt::format("MESHMEM_TUNING={}: {}", environment.tuning, *error);
  runtime().device_state().limit_reductions(reduce_policy.group_limits(n_pes),
                                            reduce_policy.grid_limits(n_pes));
  if (address_map.my_pe != 0) return std::nullopt;
  if (environment.version)
    fmt::print("{} (OpenSHMEM {}.{})\n", SHMEM_VENDOR_STRING, SHMEM_MAJOR_VERSION,
               SHMEM_MINOR_VERSION);
  if (environment.info) fmt::print("{}", environment_help());
  std::fflush(stdout);
  for (const std::string& name : unknown_variables(environ))
    debug("the variable {} is not known; see SHMEM_INFO", name);
  return std::nullopt;
}

// Whatever may be thrown on the way, by the standard library and by libraries that it calls.
std::optional<std::string> start_or_say_why() {
  try {
    return start();
  } catch (const std::bad_alloc&) {
    fatal_without_memory();
  } catch (const std::exception& exception) {
    return fmt::format("the C++ library says: {}", exception.what());
  }
}

// For an error that all PEs are likely to make alike: PE 0 tells it and ends the job. The others speak
// up only if they are still there a second later, so it was theirs alone. A program that must not
// start by its environment does not ask: PMIx would load what the environment names.
[[noreturn]] void fail_together(const std::string& message) {
  if (!refuse_foreign_environment() && connect_to_launcher(Environment().start_timeout).pe != 0)
    std::this_thread::sleep_for(std::chrono::seconds(1));
  fatal_message(message);
}

// Where PE `pe`'s copy is for loads and stores, of the processor or of kernels of this device; nullptr
// if no way leads there.
std::byte* find_loadable_copy(const void* address, int pe) {
  std::byte* there = find_copy(address_map, address, 1, pe);
  if (is_mapped(there)) return there;
  if (!may_be_on_device(address)) return nullptr;
  const auto place = device_segments().find(address, 1, pe);
  return place && place->for_kernels ? place->address : nullptr;
}

constexpr int kGrantedThreadLevel = SHMEM_THREAD_MULTIPLE;

void finish(const char* routine) {
  Team& world = collective_team(SHMEM_TEAM_WORLD, "shmem_finalize");
  expect_same_call(world, "");  // of those, too, whose program just ends
  world.begin_call(routine);
  complete_transfers(routine);
  sync(world);
  runtime().leave();
}

// A call without an initialization to undo changes nothing: programs of other libraries make it on their way out.
void debug_finalize_of_nothing() {
  Environment
      environment;  // where there was no shmem_init nobody has read it yet; it reports bad values
  if (parse_environment(environment, std::getenv) || !environment.debug) return;
  print_line(
      "shmem_finalize: called before shmem_init or after the last shmem_finalize; it does nothing");
}

int my_pe(const char* routine) {
  require_active(routine);
  return address_map.my_pe;
}
int n_pes(const char* routine) {
  require_active(routine);
  return static_cast<int>(address_map.n_pes);
}

}  // namespace

MESHMEM_ENTRY(void, init, (void)) {
  if (const auto error = start_or_say_why()) fail_together("shmem_init: " + *error);
}

MESHMEM_ENTRY(int, init_thread, (int, int* provided)) {
  if (const auto error = start_or_say_why()) {
    print_line("shmem_init_thread: " + *error);
    return 1;
  }
  if (provided) *provided = kGrantedThreadLevel;
  return 0;
}

MESHMEM_ENTRY(void, finalize, (void)) {
  host_only("shmem_finalize");
  if (!runtime().is_active()) return debug_finalize_of_nothing();
  finish("shmem_finalize");
}

// No atexit: a PE that ends with another status than 0 is likely to have met an error, and the
// others to wait for something else than its end. The launcher takes it for the failure that it is.
MESHMEM_NAMED_ENTRY(void, start_pes, (int)) {
  static std::atomic<bool> is_first{true};
  static const pid_t process = getpid();
  if (!is_first.exchange(false)) return;
  if (const auto error = start_or_say_why()) fail_together("start_pes: " + *error);
  on_exit(
      [](int status, void*) {
        const bool is_a_pe = getpid() == process;  // and no child of fork
        if (status == 0 && is_a_pe && runtime().is_active()) finish("the end of the program");
      },
      nullptr);
}

MESHMEM_ENTRY(void, global_exit, (int status)) {
  std::fflush(nullptr);
  abort_job(status);
}

MESHMEM_ENTRY(void, query_initialized, (int* initialized)) {
  *initialized = runtime().is_active() ? 1 : 0;
}
MESHMEM_ENTRY(void, query_thread, (int* provided)) { *provided = kGrantedThreadLevel; }

MESHMEM_ENTRY(int, my_pe, (void)) { return my_pe("shmem_my_pe"); }
MESHMEM_ENTRY(int, n_pes, (void)) { return n_pes("shmem_n_pes"); }
MESHMEM_NAMED_ENTRY(int, _my_pe, (void)) { return my_pe("_my_pe"); }
MESHMEM_NAMED_ENTRY(int, _num_pes, (void)) { return n_pes("_num_pes"); }

MESHMEM_ENTRY(int, pe_accessible, (int pe)) {
  require_active("shmem_pe_accessible");
  return static_cast<unsigned>(pe) < address_map.n_pes ? 1 : 0;
}

MESHMEM_ENTRY(int, addr_accessible, (const void* addr, int pe)) {
  require_active("shmem_addr_accessible");
  if (static_cast<unsigned>(pe) >= address_map.n_pes) return 0;
  return is_in_segment(address_map, addr, 1) || is_on_device(addr) ? 1 : 0;
}

MESHMEM_ENTRY(void*, ptr, (const void* dest, int pe)) {
  require_active("shmem_ptr");
  return static_cast<unsigned>(pe) < address_map.n_pes ? find_loadable_copy(dest, pe) : nullptr;
}

MESHMEM_ENTRY(void*, team_ptr, (shmem_team_t handle, const void* dest, int pe)) {
  const Team* team = team_of(handle, "shmem_team_ptr");
  if (!team || static_cast<unsigned>(pe) >= static_cast<unsigned>(team->n)) return nullptr;
  return find_loadable_copy(dest, team->world_pe(pe));
}

MESHMEM_ENTRY(void, info_get_version, (int* major, int* minor)) {
  *major = SHMEM_MAJOR_VERSION;
  *minor = SHMEM_MINOR_VERSION;
}
MESHMEM_ENTRY(void, info_get_name, (char* name)) {
  static_assert(sizeof SHMEM_VENDOR_STRING <= SHMEM_MAX_NAME_LEN);
  std::memcpy(name, SHMEM_VENDOR_STRING, sizeof SHMEM_VENDOR_STRING);
}

}  // namespace meshmem
