// SPDX-License-Identifier: Apache-2.0
//
// From an init to its finalize: heaps, teams, WORLD and SHARED, the address map, what kernels know.
// connect.cpp has what is made once a process.
// Invariant: PEs meet before they use what others open, and before they close what others use.
#include "core/runtime.hpp"

#include <malloc.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <utility>

#include "base/error.hpp"
#include "base/hooks/memory_checker.hpp"
#include "base/machine/thread.hpp"
#include "base/settings/foreign_variables.hpp"
#include "base/status/own_status.hpp"
#include "base/waiting/schedule_fuzzing.hpp"
#include "base/waiting/wait.hpp"
#include "bootstrap/job.hpp"
#include "core/predefined_teams.hpp"
#include "core/tuning_file.hpp"
#include "gpu/device_target.hpp"
#include "gpu/device_transfer.hpp"
#include "gpu/hip_error.hpp"
#include "gpu/unfinished_uses.hpp"
#include "memory/argument_checks.hpp"

namespace meshmem {

static_assert(device::kTeamSlots == kMaxTeams);

Runtime& runtime() {
  static Runtime& instance = *new Runtime;
  return instance;
}

std::optional<std::string> Runtime::enter() {
  const std::lock_guard lock(mutex_);
  const NamesOf names = names_of_.exchange(NamesOf::openshmem);
  if (depth_ == 0) {
    if (!job_.is_open()) {
      if (auto error = read_settings(names)) return error;
      connect();
    } else {
      begin_use();
    }
    if (environment_.heap == HeapKind::device && !device_memory_.is_open())
      return "MESHMEM_HEAP=device, but there is no device memory (SHMEM_DEBUG=1 says why)";
    set_phase(PePhase::starting);
    names_ = names;
    open();
    set_phase(PePhase::running);
    malloc_trim(0);  // start-up has freed much: a PE among many should be small
  }
  depth_.fetch_add(1, std::memory_order_release);
  return std::nullopt;
}

std::optional<std::string> Runtime::read_settings(NamesOf names) {
  if (auto error = refuse_foreign_environment()) return error;
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

void Runtime::leave() {
  const std::lock_guard lock(mutex_);
  if (depth_ == 1) close();
  depth_.fetch_sub(1, std::memory_order_release);
  if (is_ending_ && depth_ == 0) disconnect_from_launcher();
}

// Without the lock: a signal's handler may end the process in the middle of a start, which has it.
void Runtime::disconnect() {
  is_ending_ = true;
  if (depth_ == 0) disconnect_from_launcher();
}

// The proxy uses the network.
void Runtime::abandon() {
  proxy().abandon();
  job_.network().abandon();
}

// Programs forget shmem_finalize on all PEs at once, and one line is enough. So the first PE on PE
// 0's node says it at once; the first PE of another node says it if it still lives seconds later.
void Runtime::end_unfinished() {
  std::fflush(nullptr);  // the program's output, which exit() would write after this
  const bool is_first = !job_.memory().arena().header().names_leaver.exchange(true);
  if (!is_first || !job_.nodes().is_near(0)) leave_word_to_others();
  if (is_first)
    print_line(
        "the program has ended without shmem_finalize; call it on every PE before main returns");
  end_job_on_error();
}

void Runtime::open() {
  if (job_.network().is_connected()) job_.network().restart();
  address_map = {.n_pes = 0,
                 .my_pe = job_.me(),
                 .heap = job_.segments().heap(),
                 .statics = job_.segments().statics()};
  open_host_heap();
  open_teams();
  if (device_memory_.is_open()) open_device();
  if (device_memory_.is_open() && job_.nodes().has_several())
    device_state_.use_proxy(
        kernel_proxy_.open(device_memory_.device(), job_.nodes(), environment_.proxy));
  add_predefined_teams();
  device_state_.publish();
  address_map.n_pes = direct_map.n_pes = static_cast<unsigned>(job_.n_pes());
  job_.meet("start");
  job_.spread_over_cores(environment_.spread);
}

void Runtime::open_host_heap() {
  watch_blocks(environment_.check == Check::calls ? &heap_ : nullptr, &device_heap_);
  heap_.open(job_.segments().my_heap(), job_.facts().heap_bytes(), job_.facts().heap_alignment,
             job_.gap(), kBelowHeap);
}

void Runtime::open_teams() {
  // Sequence numbers go on where the teams of an earlier round stopped.
  first_sequence_ = std::max(first_sequence_, job_.memory().highest_sequence());
  teams_.emplace(
      address_map,
      [this](int world_pe, int slot) { return job_.memory().team_area(world_pe, slot); },
      [this](int world_pe) { return job_.nodes().node_of(world_pe); },
      job_.has_more_pes_than_cores(), job_.core_share().fewest_cores, first_sequence_);
  active_set_teams_.open(job_.nodes().is_near(0) ? job_.memory().active_sets() : nullptr, *teams_,
                         [this](std::vector<int> pes, int slot) -> Team& {
                           return add_team(std::move(pes), slot, first_sequence_, {});
                         });
}

void Runtime::add_predefined_teams() {
  for (PredefinedTeam& team : predefined_teams(job_.nodes(), job_.n_pes(), job_.me(), names_))
    add_team(std::move(team.pes), team.slot, first_sequence_, {}).is_predefined = true;
  world_ = teams_->find(SHMEM_TEAM_WORLD);
}

void Runtime::open_device() {
  const Slab& slab = device_memory_.data();
  device_heap_.open(slab.base, slab.bytes, device_heap_alignment_, job_.gap(),
                    kDevicesAreProcessors ? std::optional<std::size_t>(0) : std::nullopt);
  DeviceSegment heap;
  heap.base = reinterpret_cast<std::uintptr_t>(slab.base);
  heap.bytes = slab.bytes;
  if (job_.nodes().has_several()) heap.mapped = slab.copies;
  heap.all_for_kernels = device_memory_.all_reach_all();
  heap.copies = by_world_pe(slab.copies);
  heap.route_of = device_routes().data();
  const KernelReach reach{.me = job_.me(),
                          .routes = device_routes(),
                          .data = heap.copies,
                          .sync = by_world_pe(device_memory_.sync().copies),
                          .heaps = host_heaps_for_kernels(),
                          .heap = reinterpret_cast<const void*>(job_.segments().heap().base),
                          .heap_bytes = job_.facts().heap_bytes()};
  device_state_.open(device_memory_, reach, environment_.device_first_epoch);
  device_segments().add(std::move(heap));
}

std::vector<std::byte*> Runtime::by_world_pe(const std::vector<std::byte*>& by_index) const {
  std::vector<std::byte*> copies(static_cast<std::size_t>(job_.n_pes()), nullptr);
  for (std::size_t index = 0; index < by_index.size(); ++index) {
    const int pe = job_.memory().pes()[index];
    if (job_.nodes().is_near(pe)) copies[static_cast<std::size_t>(pe)] = by_index[index];
  }
  return copies;
}

void Runtime::find_copies_of(DeviceSegment& segment) const {
  segment.copies = by_world_pe(segment.mapped);
  segment.route_of = device_routes().data();
}

// On one node a PE's number is its index.
const std::vector<DeviceRoute>& Runtime::device_routes() const {
  return job_.nodes().has_several() ? device_routes_ : device_memory_.routes();
}

void Runtime::find_device_routes() {
  if (!job_.nodes().has_several()) return;
  device_routes_.resize(static_cast<std::size_t>(job_.n_pes()));
  for (int index = 0; index < job_.memory().n(); ++index)
    device_routes_[static_cast<std::size_t>(job_.memory().pes()[static_cast<std::size_t>(index)])] =
        device_memory_.routes()[static_cast<std::size_t>(index)];
}

std::vector<std::byte*> Runtime::host_heaps_for_kernels() const {
  if constexpr (!kDevicesAreProcessors) return by_world_pe(registered_heaps_);
  std::vector<std::byte*> heaps;
  for (std::byte* heap : job_.segments().heap_of_pe())
    heaps.push_back(is_mapped(heap) ? heap : nullptr);
  return heaps;
}

Team& Runtime::add_team(std::vector<int> pes, int slot, std::uint64_t start_sequence,
                        const shmem_team_config_t& config) {
  Team& team = teams_->add(std::move(pes), slot, start_sequence, config);
  device_state_.add_team(team.for_kernels());
  kernel_proxy_.note_team(slot, !team.is_on_one_node());
  return team;
}

// By a thread of its own, since no call of HIP waits for all streams and no longer than for a
// while.
void Runtime::await_streams(const char* routine) {
  std::atomic<bool> is_over{false};
  std::thread waiter = start_thread("that waits for the streams", [&] {
    wait_for_device(device_memory_.device(), routine);
    is_over.store(true, std::memory_order_release);
  });
  wait_until_ready([&] { return is_over.load(std::memory_order_acquire); },
                   [&] {
                     return fmt::format("the work on the streams of device {} to end, in {}",
                                        device_memory_.device(), routine);
                   });
  waiter.join();
}

void Runtime::remove_team(Team& team) {
  device_state_.remove_team(team.for_kernels());
  teams_->remove(team);
}

void Runtime::close() {
  if (has_devices()) await_streams("shmem_finalize");
  kernel_proxy_.close();
  job_.meet("finalize");  // what streams and kernels of any PE had under way has come until then
  device_state_.close();
  close_device_segments();
  contexts_.remove_all();
  job_.memory().mine().highest_sequence = teams_->highest_sequence();
  teams_.reset();
  address_map.n_pes = 0;
  watch_blocks(nullptr, nullptr);
  forget_unfinished_uses();
  // Pages that a GPU's driver has pinned stay what the GPU sees.
  if (registered_heaps_.empty()) heap_.give_back();
  heap_.close();
  device_heap_.close();
  job_.meet("finalize");
  if (job_.network().is_connected()) job_.network().stop(environment_.timeout);
  end_use(environment_.timeout);
  set_phase(PePhase::finalized);
}

void Runtime::close_device_segments() {
  for (const DeviceSegment& segment : device_segments().all()) device_memory_.unmap(segment);
  device_segments().clear();
}

}  // namespace meshmem
