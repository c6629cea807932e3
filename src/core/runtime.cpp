// SPDX-License-Identifier: Apache-2.0
//
// Start-up and end.
//   connect  launcher -> arena (made by the node's first PE, found by the others through one
//            exchange) -> static data -> who may
//            use which cores
//            -> devices: choose, map, check
//   open     heaps, WORLD and SHARED, the address map, what kernels know
// Invariant: a failure of one PE ends the job; no PE waits for one that has gone. Only this file
// knows the order of steps.
#include "core/runtime.hpp"

#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdint>
#include <cstdlib>
#include <functional>

#include "base/error.hpp"
#include "base/file_handover.hpp"
#include "base/machine.hpp"
#include "base/memory_checker.hpp"
#include "base/own_status.hpp"
#include "base/schedule_fuzzing.hpp"
#include "base/thread.hpp"
#include "base/wait.hpp"
#include "bootstrap/job.hpp"
#include "bootstrap/launcher_variables.hpp"
#include "core/core_file.hpp"
#include "core/kernel_waits.hpp"
#include "core/spread.hpp"
#include "core/tuning_file.hpp"
#include "gpu/device_target.hpp"
#include "gpu/device_transfer.hpp"
#include "gpu/hip_error.hpp"
#include "gpu/host_heap_access.hpp"
#include "gpu/stream_uses.hpp"
#include "memory/room.hpp"
#include "memory/static_data.hpp"

namespace meshmem {
namespace {

constexpr const char* kArenaKey = "meshmem.arena";
constexpr unsigned kPolls =
    4000;  // before a PE that has a core for itself yields: some tens of microseconds
constexpr std::size_t kHeapUnderValgrind = std::size_t{64} << 20;
static_assert(device::kTeamSlots == kMaxTeams);
constexpr int kWorldSlot = 0;
constexpr int kSharedSlot = 1;

std::size_t heap_bytes(const Environment& environment, int n_pes) {
  if (environment.symmetric_size > 0)
    return (environment.symmetric_size + kMinAlignment - 1) / kMinAlignment * kMinAlignment;
  // Kernels reach the host heaps of a GPU target if the driver pins them, so they are small there.
  if (!kDevicesAreProcessors) return std::size_t{256} << 20;
  // Half of the machine, in equal shares. Address space only, so there is no need to be modest.
  std::size_t share = machine_memory_bytes() / 2 / static_cast<std::size_t>(n_pes);
  // Valgrind looks for lost memory in all that a process maps, which takes the pages it looks at.
  if (memory_checker() == MemoryChecker::valgrind) share = std::min(share, kHeapUnderValgrind);
  return std::max(share / kRegionAlignment, std::size_t{1}) * kRegionAlignment;
}

// PEs of one job that have nothing in common: the static data of another program is no copy of
// mine.
bool run_one_program(const DirectoryEntry* directory, int n_pes) {
  return std::all_of(directory, directory + n_pes, [&](const DirectoryEntry& entry) {
    return entry.program == directory[0].program;
  });
}

bool is_any_checked(const DirectoryEntry* directory, int n_pes) {
  return std::any_of(directory, directory + n_pes,
                     [](const DirectoryEntry& entry) { return entry.is_checked; });
}

void check_heap_sizes(const DirectoryEntry* directory, int n_pes, int me) {
  for (int i = 0; i < n_pes; ++i) {
    const std::size_t wanted = directory[i].layout.heap_bytes;
    if (wanted == directory[0].layout.heap_bytes) continue;
    if (me == i)
      print_line(
          fmt::format("SHMEM_SYMMETRIC_SIZE makes the heap {} bytes here but {} bytes in PE {}; "
                      "give all PEs the same",
                      wanted, directory[0].layout.heap_bytes, directory[0].pe));
    if (me == i) abort_job(1, "error");
    pause();  // the one that differs ends the job
  }
}

// What PEs do differently from each other if it differs: then they wait for each other for ever.
std::uint64_t hash_of_plans(const Environment& environment) {
  const std::string text =
      fmt::format("{} {} {} {} {} {}", static_cast<int>(environment.reduce_algorithm),
                  environment.reduce_ring_min_bytes.value_or(SIZE_MAX), environment.deterministic,
                  environment.reduce_blocks.value_or(UINT_MAX), environment.device_first_epoch,
                  environment.check);
  return std::hash<std::string>()(text);
}

void check_alike(const DirectoryEntry* directory, int n_pes, int me) {
  const auto end_if_mine = [&](int i, const char* what) {
    if (me == i)
      print_line(
          fmt::format("{} here than in PE {}; give all PEs the same", what, directory[0].pe));
    if (me == i) abort_job(1, "error");
    pause();  // the one that differs ends the job
  };
  for (int i = 0; i < n_pes; ++i) {
    if (directory[i].tuning != directory[0].tuning)
      end_if_mine(i, "MESHMEM_TUNING names another table");
    if (directory[i].plans != directory[0].plans)
      end_if_mine(i,
                  "MESHMEM_REDUCE_ALGORITHM, MESHMEM_REDUCE_RING_MIN_BYTES, MESHMEM_REDUCE_BLOCKS, "
                  "MESHMEM_DETERMINISTIC, MESHMEM_CHECK or MESHMEM_DEVICE_FIRST_EPOCH is another");
  }
}

}  // namespace

Runtime& runtime() {
  static Runtime& instance = *new Runtime;
  return instance;
}

std::optional<std::string> Runtime::enter() {
  const std::lock_guard lock(mutex_);
  if (depth_ == 0) {
    if (!arena_) {
      if (auto error = refuse_foreign_environment()) return error;
      if (auto error =
              parse_environment(environment_, [](const char* name) { return std::getenv(name); }))
        return error;
      enable_debug(environment_.debug);
      if (environment_.fuzz_seed && !kHasScheduleFuzzing)
        return "MESHMEM_FUZZ_SEED: this library was built without schedule fuzzing "
               "(-DMESHMEM_SCHEDULE_FUZZING=ON)";
      if (!environment_.tuning.empty())
        if (auto error = read_tuning_file(environment_.tuning, tuning_)) return error;
      connect();
    }
    if (environment_.heap == HeapPlace::device && !device_memory_.is_open())
      return "MESHMEM_HEAP=device, but there is no device memory (SHMEM_DEBUG=1 says why)";
    set_phase(PePhase::starting);
    open();
    set_phase(PePhase::running);
    malloc_trim(0);  // start-up has freed much: a PE among many should be small
  }
  depth_.fetch_add(1, std::memory_order_release);
  return std::nullopt;
}

void Runtime::leave() {
  const std::lock_guard lock(mutex_);
  if (depth_ == 1) close();
  depth_.fetch_sub(1, std::memory_order_release);
}

void Runtime::connect() {
  open_launcher_board();
  wait_policy = {.polls = 1,
                 .timeout_seconds = environment_.start_timeout,
                 .timeout_name = "MESHMEM_START_TIMEOUT"};
  const Job& job = connect_to_launcher(environment_.start_timeout);
  if (environment_.abort == AbortBy::core) end_by_core_files(heap_);
  n_pes_ = job.n_pes;
  me_ = job.pe;
  if (environment_.fuzz_seed) start_schedule_fuzzing(*environment_.fuzz_seed, me_);
  if (static_cast<int>(job.node_pes.size()) != n_pes_) {
    fatal(
        "{} of the {} PEs are on other machines; this version of meshmem runs on one machine only",
        n_pes_ - static_cast<int>(job.node_pes.size()), n_pes_);
  }
  static const pid_t connected_process = getpid();
  std::atexit([] {
    // A child of fork is not the PE; a PE that exits without shmem_finalize must look like the
    // failure that it is.
    if (getpid() == connected_process && !runtime().is_active()) disconnect_from_launcher();
  });

  const StaticData statics = find_static_data();
  layout_ = {.n_pes = static_cast<std::size_t>(n_pes_),
             .control_bytes = sizeof(TeamArea) * kMaxTeams + sizeof(ActiveSetList),
             .static_bytes = statics.bytes(),
             .heap_bytes = heap_bytes(environment_, n_pes_)};
  const std::size_t wanted_heap = layout_.heap_bytes;
  if (me_ == 0) {
    arena_.emplace(Arena::create(layout_));
    publish(kArenaKey, arena_->ticket());
  }
  exchange_published(environment_.start_timeout);
  if (me_ != 0) {
    const std::string ticket = lookup(0, kArenaKey);
    layout_ = Arena::layout_of(ticket);
    arena_.emplace(Arena::attach(ticket, me_));
  }
  open_board(arena_->status_board(), me_);

  DirectoryEntry* directory = arena_->directory();
  DirectoryEntry& mine = directory[me_];
  mine.pe = me_;
  mine.layout = layout_;
  mine.layout.heap_bytes = environment_.symmetric_size > 0 ? wanted_heap : layout_.heap_bytes;
  mine.program = statics.fingerprint;
  mine.is_checked = memory_checker() != MemoryChecker::none;
  mine.tuning = tuning_.empty() ? 0 : std::hash<std::string>()(tuning_);
  mine.plans = hash_of_plans(environment_);
  sched_getaffinity(0, sizeof mine.cpus, &mine.cpus);
  mine.heap_alignment = alignment_of(arena_->base() + layout_.heap(me_));
  mine.present.store(1, std::memory_order_release);
  meet("attach to the shared memory of the node");

  check_heap_sizes(directory, n_pes_, me_);
  check_alike(directory, n_pes_, me_);
  if (is_any_checked(directory, n_pes_)) gap_ = kRedZone;
  heap_alignment_ = directory[0].heap_alignment;
  heap_of_pe_.reserve(layout_.n_pes);
  statics_of_pe_.reserve(layout_.n_pes);
  for (int i = 0; i < n_pes_; ++i) {
    heap_alignment_ = std::min(heap_alignment_, directory[i].heap_alignment);
    heap_of_pe_.push_back(arena_->base() + layout_.heap(i));
    statics_of_pe_.push_back(arena_->base() + layout_.statics(i));
  }
  heap_segment_ = {reinterpret_cast<std::uintptr_t>(heap_of_pe_[static_cast<std::size_t>(me_)]),
                   layout_.heap_bytes, heap_of_pe_.data()};
  if (run_one_program(directory, n_pes_)) {
    move_to_shared_memory(statics, arena_->file(), layout_.statics(me_),
                          statics_of_pe_[static_cast<std::size_t>(me_)]);
    statics_of_pe_[static_cast<std::size_t>(me_)] = reinterpret_cast<std::byte*>(statics.begin);
    statics_segment_ = {statics.begin, statics.bytes(), statics_of_pe_.data()};
  } else {
    debug("the PEs run different programs, so their static data is not symmetric");
  }
  more_pes_than_cores_ = share_cores(directory, n_pes_);
  meet("share the static data");
  end_offer();
  arena_->close_file();
  connect_device();

  const unsigned polls = environment_.spin.value_or(more_pes_than_cores_ ? 1 : kPolls);
  wait_policy = {
      .polls = polls, .timeout_seconds = environment_.timeout, .timeout_name = "MESHMEM_TIMEOUT"};
}

void Runtime::connect_device() {
  DirectoryEntry* directory = arena_->directory();
  const NodePeers peers{
      .me = me_,
      .n = n_pes_,
      .offer = [directory](int pe) -> DeviceOffer& { return directory[pe].device; },
      .meet = [this](const char* step) { meet(step); }};
  if (!device_memory_.choose(environment_, peers)) return;
  device_transfer().open(device_memory_.device());
  device_memory_.open(device_transfer().stream());
  show_waits_of_kernels({.sync = device_memory_.sync(),
                         .state = device_state_,
                         .team_in = [this](int slot) -> const Team* {
                           return is_active() ? teams_->find(handle_of(slot)) : nullptr;
                         }});
  if constexpr (kDevicesAreProcessors) {
    // All heaps in one entry, so that copies from there and to there take their turn on a stream.
    register_host_heaps(arena_->base(), layout_.total());
  } else {
    registered_heap_of_pe_ = map_host_heaps(heap_of_pe_, layout_.heap_bytes, environment_, peers);
  }
}

void Runtime::meet(const char* where) {
  const std::uint64_t target = ++meetings_ * static_cast<std::uint64_t>(n_pes_);
  std::atomic<std::uint64_t>& arrivals = arena_->header().arrivals;
  arrivals.fetch_add(1, std::memory_order_acq_rel);
  wait_until_ready([&] { return arrivals.load(std::memory_order_acquire) >= target; },
                   [&] {
                     const std::uint64_t come = std::min(arrivals.load(), target);
                     return fmt::format("{} of {} PEs to {}", target - come, n_pes_, where);
                   });
}

void Runtime::open() {
  address_map = {.n_pes = 0, .my_pe = me_, .heap = heap_segment_, .statics = statics_segment_};
  watch_blocks(environment_.check ? &heap_ : nullptr, &device_heap_);
  heap_.open(heap_of_pe_[static_cast<std::size_t>(me_)], layout_.heap_bytes, heap_alignment_, gap_,
             kBelowHeap);
  // Sequence numbers go on where the teams of an earlier round stopped.
  for (int i = 0; i < n_pes_; ++i)
    first_sequence_ = std::max(first_sequence_, arena_->directory()[i].highest_sequence);
  teams_.emplace(
      address_map,
      [this](int world_pe, int slot) {
        return reinterpret_cast<TeamArea*>(arena_->base() + layout_.region(world_pe)) + slot;
      },
      more_pes_than_cores_, first_sequence_);

  active_sets_ = reinterpret_cast<ActiveSetList*>(arena_->base() + layout_.region(0) +
                                                  sizeof(TeamArea) * kMaxTeams);
  std::vector<int> everyone(static_cast<std::size_t>(n_pes_));
  for (int i = 0; i < n_pes_; ++i) everyone[static_cast<std::size_t>(i)] = i;
  if (device_memory_.is_open()) open_device();
  world_ = &add_team(everyone, kWorldSlot, first_sequence_, {});
  add_team(everyone, kSharedSlot, first_sequence_, {});
  device_state_.publish();
  address_map.n_pes = direct_map.n_pes = static_cast<unsigned>(n_pes_);
  meet("start");
  spread_over_cores();
}

void Runtime::spread_over_cores() {
  meshmem::spread_over_cores(arena_->directory(), n_pes_, me_, environment_.spread,
                             [this] { meet("tell on which cores they run"); });
}

void Runtime::open_device() {
  const Slab& slab = device_memory_.data();
  device_heap_.open(slab.base, slab.bytes, device_memory_.heap_alignment(), gap_,
                    kDevicesAreProcessors ? std::optional<std::size_t>(0) : std::nullopt);
  device_segments().add({.base = reinterpret_cast<std::uintptr_t>(slab.base),
                         .bytes = slab.bytes,
                         .copies = slab.copies,
                         .route_of = device_memory_.route_of(),
                         .ranges = {},
                         .all_for_kernels = device_memory_.all_reach_all()});
  const HostHeaps host_heaps{reinterpret_cast<const void*>(heap_segment_.base), layout_.heap_bytes,
                             kDevicesAreProcessors ? heap_of_pe_ : registered_heap_of_pe_};
  device_state_.open(device_memory_, me_, host_heaps, environment_.device_first_epoch);
}

Team& Runtime::add_team(std::vector<int> pes, int slot, std::uint64_t start_sequence,
                        const shmem_team_config_t& config) {
  Team& team = teams_->add(std::move(pes), slot, start_sequence, config);
  device_state_.add_team(team.for_kernels());
  return team;
}

// By a thread of its own, since no call of HIP waits for all streams and no longer than for a while.
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

Team* Runtime::active_set_team(const ActiveSet& set, bool& is_new) {
  is_new = false;
  const int slot = active_sets_->slot_of(set);
  if (slot < 0) return nullptr;
  if (Team* team = teams_->find(handle_of(slot))) return team;
  const std::lock_guard lock(active_sets_mutex_);
  if (Team* team = teams_->find(handle_of(slot))) return team;
  is_new = true;
  return &add_team(set.pes(), slot, first_sequence_, {});
}

void Runtime::close() {
  if (has_devices()) await_streams("shmem_finalize");
  meet("finalize");
  device_state_.close();
  for (const DeviceSegment& segment : device_segments().all()) device_memory_.unmap(segment);
  device_segments().clear();
  contexts_.remove_all();
  arena_->directory()[me_].highest_sequence = teams_->highest_sequence();
  teams_.reset();
  address_map.n_pes = 0;
  watch_blocks(nullptr, nullptr);
  forget_stream_uses();
  // Pages that a GPU's driver has pinned stay what the GPU sees.
  if (registered_heap_of_pe_.empty()) heap_.give_back();
  heap_.close();
  device_heap_.close();
  meet("finalize");
  set_phase(PePhase::finalized);
}

}  // namespace meshmem
