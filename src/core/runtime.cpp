// SPDX-License-Identifier: Apache-2.0
//
// Opens and closes the library: heaps, teams, the address map, and the tables for kernels. Also
// handles a process that ends without shmem_finalize.
// Invariant: PEs meet before they use what others open, and before they close what others use.
#include "core/runtime.hpp"

#include <malloc.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <utility>

#include "base/error.hpp"
#include "base/hooks/memory_checker.hpp"
#include "base/settings/foreign_variables.hpp"
#include "base/status/own_status.hpp"
#include "base/waiting/schedule_fuzzing.hpp"
#include "base/waiting/wait.hpp"
#include "bootstrap/job.hpp"
#include "core/agreement.hpp"
#include "core/faults.hpp"
#include "core/kernel_waits.hpp"
#include "gpu/unfinished_uses.hpp"
#include "memory/argument_checks.hpp"

namespace meshmem {
namespace {

static_assert(device::kTeamSlots == kMaxTeams);

// How many times a PE that has a core for itself polls before it yields; together that takes some
// tens of microseconds.
constexpr unsigned kPolls = 4000;

Runtime* to_abandon = nullptr;  // at the process's end

// The second of two handlers at the process's end: ends the library's threads. If the PE has not
// finalized, but exits as a success, it also ends the job. Registered when the library is loaded,
// so that it comes after the destructors of the program's global variables, which may finalize. A
// child of fork has no threads and is no PE.
[[maybe_unused]] const int abandons_at_exit = on_exit(
    [](int status, void*) {
      if (to_abandon == nullptr || is_child_of_pe()) return;
      to_abandon->abandon();
      if (status == 0 && to_abandon->is_active()) to_abandon->end_unfinished();
    },
    nullptr);

// The first of the two: disconnects from the launcher, or has the last finalize do so. A PE that
// never finalizes stays connected, so that the launcher takes its exit for a failure. Registered by
// the first init. A child of fork is not the PE.
void disconnect_at_exit() {
  std::atexit([] {
    if (!is_child_of_pe()) runtime().disconnect();
  });
}

}  // namespace

Runtime& runtime() {
  static Runtime& instance = *new Runtime;
  return instance;
}

std::optional<std::string> Runtime::enter() {
  const std::lock_guard lock(mutex_);
  const NamesOf names = next_names_.exchange(NamesOf::openshmem);
  if (depth_ == 0) {
    if (!job_.is_open()) {
      if (auto error = read_settings(names)) return error;
      connect();
    } else {
      begin_use();
    }
    if (environment_.heap == HeapKind::device && !devices_.is_connected())
      return "MESHMEM_HEAP=device, but there is no device memory (SHMEM_DEBUG=1 says why)";
    set_phase(PePhase::starting);
    names_ = names;
    open();
    set_phase(PePhase::running);
    malloc_trim(0);  // start-up has freed much: a PE among many should be small
  }
  was_nested_ = depth_.fetch_add(1, std::memory_order_release) > 0 || was_nested_;
  return std::nullopt;
}

std::optional<std::string> Runtime::read_settings(NamesOf names) {
  if (auto error = reason_to_refuse_environment()) return error;
  if (auto error = parse_environment(
          environment_, [](const char* name) { return std::getenv(name); }, names))
    return error;
  enable_debug(environment_.debug);
  if (environment_.fuzz_seed && !kHasScheduleFuzzing)
    return "MESHMEM_FUZZ_SEED: this library was built without schedule fuzzing "
           "(-DMESHMEM_SCHEDULE_FUZZING=ON)";
  if (environment_.tuning.empty()) return std::nullopt;
  return read_tuning_file(environment_.tuning, tuning_);
}

// Once a process, in this order.
void Runtime::connect() {
  job_.join(environment_);
  if (environment_.abort == AbortBy::core) end_by_core_files(heap_);
  explain_faults();
  disconnect_at_exit();
  to_abandon = this;
  job_.connect(environment_, tuning_);
  if (job_.nodes().has_several() && job_.n_pes() > kMostFarPes) {
    if (job_.me() != 0) wait_for_others_to_report();
    fatal("a job over several machines can have {} PEs, and this one has {}", kMostFarPes,
          job_.n_pes());
  }
  if (devices_.connect(environment_, job_))
    show_waits_of_kernels({.sync = device_memory().sync(),
                           .state = device_state(),
                           .team_in = [this](int slot) -> const Team* {
                             return is_active() ? teams_->find(handle_of(slot)) : nullptr;
                           }});
  wait_policy.polls = environment_.spin.value_or(job_.has_more_pes_than_cores() ? 1 : kPolls);
  wait_policy.timeout_seconds = environment_.timeout.value_or(0);
  wait_policy.timeout_name = "MESHMEM_TIMEOUT";
}

void Runtime::leave() {
  const std::lock_guard lock(mutex_);
  if (depth_ == 1) close();
  depth_.fetch_sub(1, std::memory_order_release);
  if (is_ending_ && depth_ == 0) disconnect_from_launcher();
}

// Takes no lock: a signal handler may end the process in the middle of a start, which holds the
// lock.
void Runtime::disconnect() {
  is_ending_ = true;
  if (depth_ == 0) disconnect_from_launcher();
}

// The proxy comes first, since it uses the network.
void Runtime::abandon() {
  proxy().abandon();
  job_.network().abandon();
}

// Programs forget shmem_finalize on all PEs at once, and one line is enough. So on PE 0's node the
// PE that ends first prints it at once. On another node the PE that ends first prints it if it
// still lives seconds later.
void Runtime::end_unfinished() {
  flush_streams();  // the program's output, which exit() would write after this
  const bool is_first = !job_.memory().arena().header().reports_unfinished_exit.exchange(true);
  if (!is_first || !job_.nodes().is_near(0)) wait_for_others_to_report();
  if (is_first)
    print_line(was_nested_
                   ? "the program has called shmem_finalize less often than shmem_init, and each "
                     "shmem_init needs one"
                   : "the program has ended without shmem_finalize; call it on every PE before "
                     "main returns");
  end_job_on_error();
}

void Runtime::open() {
  if (job_.network().is_connected()) job_.network().restart();
  address_map = {.n_pes = 0, .my_pe = job_.me(), .heap = job_.heap(), .statics = job_.statics()};
  open_host_heap();
  open_teams();
  if (devices_.is_connected()) devices_.open();
  if (devices_.is_connected() && job_.nodes().has_several())
    device_state().use_proxy(
        kernel_proxy_.open(device_memory().device(), job_.nodes(), environment_.proxy));
  add_predefined_teams();
  device_state().publish();
  address_map.n_pes = direct_map.n_pes = static_cast<unsigned>(job_.n_pes());
  job_.meet("start");
  job_.spread_over_cores(environment_.spread);
}

void Runtime::open_host_heap() {
  watch_blocks(has(environment_.check, Check::calls) ? &heap_ : nullptr, &device_heap());
  heap_.open(reinterpret_cast<std::byte*>(job_.heap().base), job_.facts().heap_bytes(),
             job_.facts().heap_alignment, job_.gap(), kBelowHeap);
}

void Runtime::open_teams() {
  // Sequence numbers go on where the teams of an earlier init stopped.
  first_sequence_ = std::max(first_sequence_, job_.memory().highest_sequence());
  teams_.emplace(
      address_map,
      [this](int world_pe, int slot) { return job_.memory().team_area(world_pe, slot); },
      [this](int world_pe) { return job_.nodes().node_of(world_pe); },
      job_.has_more_pes_than_cores(), job_.core_share().fewest_cores, first_sequence_);
  active_set_teams_.open(job_.nodes().is_near(0) ? job_.memory().active_sets() : nullptr, *teams_,
                         [this](std::vector<int> pes, int slot) -> Team& {
                           return make_team(std::move(pes), slot, first_sequence_, {});
                         });
}

void Runtime::add_predefined_teams() {
  for (PredefinedTeam& team : predefined_teams(job_.nodes(), job_.n_pes(), job_.me(), names_))
    add_team(std::move(team.pes), team.slot, first_sequence_, {}).is_predefined = true;
  world_ = teams_->find(SHMEM_TEAM_WORLD);
}

Team& Runtime::make_team(std::vector<int> pes, int slot, std::uint64_t start_sequence,
                         const shmem_team_config_t& config) {
  Team& team = teams_->add(std::move(pes), slot, start_sequence, config);
  team.node.in_pe_order = environment_.deterministic;
  device_state().add_team(team.slot, team.me, team.pes);
  kernel_proxy_.note_team(slot, !team.is_on_one_node());
  return team;
}

Team& Runtime::add_team(std::vector<int> pes, int slot, std::uint64_t start_sequence,
                        const shmem_team_config_t& config) {
  Team& team = make_team(std::move(pes), slot, start_sequence, config);
  teams_->publish(team);
  return team;
}

void Runtime::remove_team(Team& team) {
  device_state().remove_team(team.slot);
  teams_->remove(team);
}

void Runtime::close() {
  if (has_devices()) devices_.await_streams("shmem_finalize");
  kernel_proxy_.close();
  job_.meet("finalize");  // after it, all transfers of streams and kernels have arrived
  devices_.close();
  job_.memory().mine().highest_sequence = teams_->highest_sequence();
  teams_.reset();
  address_map.n_pes = 0;
  watch_blocks(nullptr, nullptr);
  forget_unfinished_uses();
  if (!devices_.have_pinned_host_heaps()) heap_.return_pages();
  heap_.close();
  device_heap().close();
  job_.meet("finalize");
  if (job_.network().is_connected()) job_.network().stop(environment_.timeout.value_or(0));
  end_use(environment_.timeout.value_or(0));
  set_phase(PePhase::finalized);
}

}  // namespace meshmem
