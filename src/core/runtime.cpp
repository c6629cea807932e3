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
#include "core/spread.hpp"
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
    if (!memory_.is_open()) {
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

// By two words of the header: gathering what each PE says would make every PE map pages of all
// others.
Runtime::StartOutcome Runtime::compare_starts(bool has_failed, const char* where) {
  ++starts_;
  ArenaHeader& header = memory_.arena().header();
  (has_failed ? header.failed_start : header.good_start).store(starts_);
  memory_.meet(where);
  if (network_.is_connected()) {
    if (memory_.is_first())
      for (std::atomic<std::uint64_t>* last : {&header.failed_start, &header.good_start})
        last->store(network_.meet(last->load(), where));
    memory_.meet(where);
  }
  return {header.failed_start.load() == starts_, header.good_start.load() == starts_};
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
  network_.abandon();
}

// Programs forget shmem_finalize on all PEs at once, and one line is enough. So the first PE on PE
// 0's node says it at once; the first PE of another node says it if it still lives seconds later.
void Runtime::end_unfinished() {
  std::fflush(nullptr);  // the program's output, which exit() would write after this
  const bool is_first = !memory_.arena().header().names_leaver.exchange(true);
  if (!is_first || !nodes_.is_near(0)) leave_word_to_others();
  if (is_first)
    print_line(
        "the program has ended without shmem_finalize; call it on every PE before main returns");
  end_job_on_error();
}

// Between nodes their first PEs meet, and find the highest sequence number of any team.
void Runtime::meet(const char* where) {
  memory_.meet(where);
  if (!network_.is_connected()) return;
  if (memory_.is_first()) {
    std::atomic<std::uint64_t>& highest = memory_.arena().header().highest_sequence;
    highest.store(network_.meet(memory_.highest_sequence(), where), std::memory_order_relaxed);
  }
  memory_.meet(where);
}

void Runtime::open() {
  if (network_.is_connected()) network_.restart();
  address_map = {.n_pes = 0, .my_pe = me_, .heap = heap_segment_, .statics = statics_segment_};
  open_host_heap();
  open_teams();
  if (device_memory_.is_open()) open_device();
  if (device_memory_.is_open() && nodes_.has_several())
    device_state_.use_proxy(
        kernel_proxy_.open(device_memory_.device(), nodes_, environment_.proxy));
  add_predefined_teams();
  device_state_.publish();
  address_map.n_pes = direct_map.n_pes = static_cast<unsigned>(n_pes_);
  meet("start");
  spread_over_cores();
}

void Runtime::open_host_heap() {
  watch_blocks(environment_.check == Check::calls ? &heap_ : nullptr, &device_heap_);
  heap_.open(heap_of_pe_[static_cast<std::size_t>(me_)], facts_.heap_bytes(), facts_.heap_alignment,
             gap_, kBelowHeap);
}

void Runtime::open_teams() {
  // Sequence numbers go on where the teams of an earlier round stopped.
  first_sequence_ = std::max(first_sequence_, memory_.highest_sequence());
  teams_.emplace(
      address_map, [this](int world_pe, int slot) { return memory_.team_area(world_pe, slot); },
      [this](int world_pe) { return nodes_.node_of(world_pe); }, more_pes_than_cores_,
      core_share_.fewest_cores, first_sequence_);
  active_set_teams_.open(nodes_.is_near(0) ? memory_.active_sets() : nullptr, *teams_,
                         [this](std::vector<int> pes, int slot) -> Team& {
                           return add_team(std::move(pes), slot, first_sequence_, {});
                         });
}

void Runtime::add_predefined_teams() {
  for (PredefinedTeam& team : predefined_teams(nodes_, n_pes_, me_, names_))
    add_team(std::move(team.pes), team.slot, first_sequence_, {}).is_predefined = true;
  world_ = teams_->find(SHMEM_TEAM_WORLD);
}

void Runtime::spread_over_cores() {
  meshmem::spread_over_cores(memory_.directory(), memory_.n(), memory_.index(), core_share_,
                             environment_.spread,
                             [this] { memory_.meet("tell on which cores they run"); });
}

void Runtime::open_device() {
  const Slab& slab = device_memory_.data();
  device_heap_.open(slab.base, slab.bytes, device_heap_alignment_, gap_,
                    kDevicesAreProcessors ? std::optional<std::size_t>(0) : std::nullopt);
  DeviceSegment heap;
  heap.base = reinterpret_cast<std::uintptr_t>(slab.base);
  heap.bytes = slab.bytes;
  if (nodes_.has_several()) heap.mapped = slab.copies;
  heap.all_for_kernels = device_memory_.all_reach_all();
  heap.copies = by_world_pe(slab.copies);
  heap.route_of = device_routes().data();
  const KernelReach reach{.me = me_,
                          .routes = device_routes(),
                          .data = heap.copies,
                          .sync = by_world_pe(device_memory_.sync().copies),
                          .heaps = host_heaps_for_kernels(),
                          .heap = reinterpret_cast<const void*>(heap_segment_.base),
                          .heap_bytes = facts_.heap_bytes()};
  device_state_.open(device_memory_, reach, environment_.device_first_epoch);
  device_segments().add(std::move(heap));
}

std::vector<std::byte*> Runtime::by_world_pe(const std::vector<std::byte*>& by_index) const {
  std::vector<std::byte*> copies(static_cast<std::size_t>(n_pes_), nullptr);
  for (std::size_t index = 0; index < by_index.size(); ++index) {
    const int pe = memory_.pes()[index];
    if (nodes_.is_near(pe)) copies[static_cast<std::size_t>(pe)] = by_index[index];
  }
  return copies;
}

void Runtime::find_copies_of(DeviceSegment& segment) const {
  segment.copies = by_world_pe(segment.mapped);
  segment.route_of = device_routes().data();
}

// On one node a PE's number is its index.
const std::vector<DeviceRoute>& Runtime::device_routes() const {
  return nodes_.has_several() ? device_routes_ : device_memory_.routes();
}

void Runtime::find_device_routes() {
  if (!nodes_.has_several()) return;
  device_routes_.resize(static_cast<std::size_t>(n_pes_));
  for (int index = 0; index < memory_.n(); ++index)
    device_routes_[static_cast<std::size_t>(memory_.pes()[static_cast<std::size_t>(index)])] =
        device_memory_.routes()[static_cast<std::size_t>(index)];
}

std::vector<std::byte*> Runtime::host_heaps_for_kernels() const {
  if constexpr (!kDevicesAreProcessors) return by_world_pe(registered_heaps_);
  std::vector<std::byte*> heaps;
  for (std::byte* heap : heap_of_pe_) heaps.push_back(is_mapped(heap) ? heap : nullptr);
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
  meet("finalize");  // what streams and kernels of any PE had under way has come until then
  device_state_.close();
  close_device_segments();
  contexts_.remove_all();
  memory_.mine().highest_sequence = teams_->highest_sequence();
  teams_.reset();
  address_map.n_pes = 0;
  watch_blocks(nullptr, nullptr);
  forget_unfinished_uses();
  // Pages that a GPU's driver has pinned stay what the GPU sees.
  if (registered_heaps_.empty()) heap_.give_back();
  heap_.close();
  device_heap_.close();
  meet("finalize");
  if (network_.is_connected()) network_.stop(environment_.timeout);
  end_use(environment_.timeout);
  set_phase(PePhase::finalized);
}

void Runtime::close_device_segments() {
  for (const DeviceSegment& segment : device_segments().all()) device_memory_.unmap(segment);
  device_segments().clear();
}

}  // namespace meshmem
