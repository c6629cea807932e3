// SPDX-License-Identifier: Apache-2.0
//
// Start-up and end.
//   connect  launcher, arena, the same settings?, copies of segments, static data, devices
//   open     heaps, teams, WORLD and SHARED, the address map, what kernels know
// Invariant: a failure of one PE ends the job; no PE waits for one that has gone. Only this file
// knows the order of steps.
#include "core/runtime.hpp"

#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <numeric>

#include "base/error.hpp"
#include "base/file_handover.hpp"
#include "base/memory_checker.hpp"
#include "base/own_status.hpp"
#include "base/schedule_fuzzing.hpp"
#include "base/thread.hpp"
#include "base/wait.hpp"
#include "bootstrap/job.hpp"
#include "bootstrap/launcher_variables.hpp"
#include "core/core_file.hpp"
#include "core/kernel_waits.hpp"
#include "core/same_settings.hpp"
#include "core/spread.hpp"
#include "core/tuning_file.hpp"
#include "gpu/device_target.hpp"
#include "gpu/device_transfer.hpp"
#include "gpu/hip_error.hpp"
#include "gpu/host_heap_access.hpp"
#include "gpu/stream_uses.hpp"
#include "memory/room.hpp"
#include "memory/static_data.hpp"
#include "transport/arena_transport.hpp"

namespace meshmem {
namespace {

// Before a PE that has a core for itself yields: some tens of microseconds.
constexpr unsigned kPolls = 4000;
static_assert(device::kTeamSlots == kMaxTeams);
constexpr int kWorldSlot = 0;
constexpr int kSharedSlot = 1;

// A PE that exits without shmem_finalize must look like the failure that it is, and a child of
// fork is not the PE.
void disconnect_at_exit() {
  static const pid_t connected_process = getpid();
  std::atexit([] {
    if (getpid() == connected_process && !runtime().is_active()) disconnect_from_launcher();
  });
}

}  // namespace

Runtime& runtime() {
  static Runtime& instance = *new Runtime;
  return instance;
}

std::optional<std::string> Runtime::enter() {
  const std::lock_guard lock(mutex_);
  if (depth_ == 0) {
    if (!memory_.is_open()) {
      if (auto error = read_settings()) return error;
      connect();
    }
    if (environment_.heap == HeapKind::device && !device_memory_.is_open())
      return "MESHMEM_HEAP=device, but there is no device memory (SHMEM_DEBUG=1 says why)";
    set_phase(PePhase::starting);
    open();
    set_phase(PePhase::running);
    malloc_trim(0);  // start-up has freed much: a PE among many should be small
  }
  depth_.fetch_add(1, std::memory_order_release);
  return std::nullopt;
}

std::optional<std::string> Runtime::read_settings() {
  if (auto error = refuse_foreign_environment()) return error;
  if (auto error =
          parse_environment(environment_, [](const char* name) { return std::getenv(name); }))
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
}

void Runtime::connect() {
  join_job();
  const StaticData statics = find_static_data();
  open_memory(statics.bytes());
  fill_directory_entry(statics.fingerprint);
  memory_.meet("attach to the shared memory of the node");
  find_nodes();
  find_copies_of_segments();
  share_statics(statics);
  more_pes_than_cores_ = share_cores(memory_.directory(), memory_.n());
  memory_.meet("share the static data");
  end_offer();
  memory_.arena().close_file();
  connect_transport();
  if (!nodes_.has_several()) connect_device();
  wait_policy = {.polls = environment_.spin.value_or(more_pes_than_cores_ ? 1 : kPolls),
                 .timeout_seconds = environment_.timeout,
                 .timeout_name = "MESHMEM_TIMEOUT"};
}

// Who this PE is and who the others are. From here on a mistake ends the job, not this PE only.
void Runtime::join_job() {
  open_launcher_board();
  wait_policy = {.polls = 1,
                 .timeout_seconds = environment_.start_timeout,
                 .timeout_name = "MESHMEM_START_TIMEOUT"};
  const Job& job = connect_to_launcher(environment_.start_timeout);
  if (environment_.abort == AbortBy::core) end_by_core_files(heap_);
  n_pes_ = job.n_pes;
  me_ = job.pe;
  if (environment_.fuzz_seed) start_schedule_fuzzing(*environment_.fuzz_seed, me_);
  const int far_pes = n_pes_ - static_cast<int>(job.node_pes.size());
  if (far_pes != 0 && !job.has_fake_nodes) {
    fatal(
        "{} of the {} PEs are on other machines; this version of meshmem runs on one machine only",
        far_pes, n_pes_);
  }
  disconnect_at_exit();
}

void Runtime::open_memory(std::size_t static_bytes) {
  std::vector<int> everyone(static_cast<std::size_t>(n_pes_));
  std::iota(everyone.begin(), everyone.end(), 0);
  memory_.open({.pes = everyone,
                .me = me_,
                .exchange = Among::job,
                .has_inboxes = joined_job().has_fake_nodes,
                .has_wire_addresses = false,
                .static_bytes = static_bytes,
                .heap_bytes = heap_bytes(environment_, n_pes_),
                .start_timeout = environment_.start_timeout});
}

void Runtime::fill_directory_entry(std::uint64_t program) {
  DirectoryEntry& mine = memory_.mine();
  mine.pe = me_;
  mine.program = program;
  mine.node = joined_job().node_pes.front();
  tell_settings(mine, memory_.layout(), environment_, tuning_);
  sched_getaffinity(0, sizeof mine.cpus, &mine.cpus);
  mine.heap_alignment = alignment_of(memory_.base_of(memory_.index(), RemoteSegment::heap));
  mine.present.store(1, std::memory_order_release);
}

// From the directory, where all PEs are. They are on several nodes if the launcher says so.
void Runtime::find_nodes() {
  const DirectoryEntry* directory = memory_.directory();
  require_same_settings(directory, memory_.n(), memory_.index());
  facts_ = facts_of_node(directory, memory_.layout());
  if (facts_.is_checked) gap_ = kRedZone;
  if (joined_job().has_fake_nodes) nodes_ = fake_nodes(directory, n_pes_, me_);
}

void Runtime::find_copies_of_segments() {
  heap_of_pe_.assign(static_cast<std::size_t>(n_pes_), kFar);
  statics_of_pe_.assign(static_cast<std::size_t>(n_pes_), kFar);
  for (const int pe : memory_.pes()) {
    if (!nodes_.is_near(pe)) continue;
    const int index = memory_.index_of(pe);
    const auto place = static_cast<std::size_t>(pe);
    heap_of_pe_[place] = memory_.base_of(index, RemoteSegment::heap);
    statics_of_pe_[place] = memory_.base_of(index, RemoteSegment::statics);
  }
  heap_segment_ = {reinterpret_cast<std::uintptr_t>(heap_of_pe_[static_cast<std::size_t>(me_)]),
                   facts_.heap_bytes(), heap_of_pe_.data()};
}

void Runtime::share_statics(const StaticData& statics) {
  if (facts_.program == 0) {
    debug("the PEs run different programs, so their static data is not symmetric");
    return;
  }
  std::byte*& mine = statics_of_pe_[static_cast<std::size_t>(me_)];
  move_to_shared_memory(statics, memory_.arena().file(), memory_.layout().statics(memory_.index()),
                        mine);
  mine = reinterpret_cast<std::byte*>(statics.begin);
  statics_segment_ = {statics.begin, statics.bytes(), statics_of_pe_.data()};
}

// Far PEs of fake nodes are reached by this machine's memory.
void Runtime::connect_transport() {
  if (!nodes_.has_several()) return;
  debug("PEs are on several nodes: device memory is not shared between them");
  const ArenaTransport::Mapping mapping{
      .address_of =
          [this](const RemotePlace& place) {
            return memory_.base_of(memory_.index_of(place.pe), place.segment) + place.offset;
          },
      .inbox_of = [this](int pe) { return memory_.inbox_of(pe); }};
  use_transport(std::make_unique<ArenaTransport>(me_, mapping));
}

void Runtime::connect_device() {
  const NodePeers peers = node_peers();
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
    register_host_heaps(memory_.arena().base(), memory_.layout().total());
  } else {
    registered_heap_of_pe_ = map_host_heaps(heap_of_pe_, facts_.heap_bytes(), environment_, peers);
  }
}

NodePeers Runtime::node_peers() {
  DirectoryEntry* directory = memory_.directory();
  return {.me = me_,
          .n = n_pes_,
          .offer = [directory](int pe) -> DeviceOffer& { return directory[pe].device; },
          .meet = [this](const char* step) { memory_.meet(step); }};
}

void Runtime::open() {
  address_map = {.n_pes = 0, .my_pe = me_, .heap = heap_segment_, .statics = statics_segment_};
  open_host_heap();
  open_teams();
  if (device_memory_.is_open()) open_device();
  add_predefined_teams();
  device_state_.publish();
  address_map.n_pes = direct_map.n_pes = static_cast<unsigned>(n_pes_);
  memory_.meet("start");
  spread_over_cores();
}

void Runtime::open_host_heap() {
  watch_blocks(environment_.check ? &heap_ : nullptr, &device_heap_);
  heap_.open(heap_of_pe_[static_cast<std::size_t>(me_)], facts_.heap_bytes(), facts_.heap_alignment,
             gap_, kBelowHeap);
}

void Runtime::open_teams() {
  // Sequence numbers go on where the teams of an earlier round stopped.
  for (int i = 0; i < memory_.n(); ++i)
    first_sequence_ = std::max(first_sequence_, memory_.directory()[i].highest_sequence);
  teams_.emplace(
      address_map, [this](int world_pe, int slot) { return memory_.team_area(world_pe, slot); },
      [this](int world_pe) { return nodes_.node_of(world_pe); }, more_pes_than_cores_,
      first_sequence_);
}

void Runtime::add_predefined_teams() {
  std::vector<int> everyone(static_cast<std::size_t>(n_pes_));
  std::iota(everyone.begin(), everyone.end(), 0);
  world_ = &add_team(everyone, kWorldSlot, first_sequence_, {});
  std::erase_if(everyone, [this](int pe) { return !nodes_.is_near(pe); });
  add_team(everyone, kSharedSlot, first_sequence_, {});
}

void Runtime::spread_over_cores() {
  meshmem::spread_over_cores(memory_.directory(), memory_.n(), memory_.index(), environment_.spread,
                             [this] { memory_.meet("tell on which cores they run"); });
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
  device_state_.open(device_memory_, me_, host_heaps_for_kernels(),
                     environment_.device_first_epoch);
}

HostHeaps Runtime::host_heaps_for_kernels() const {
  return {reinterpret_cast<const void*>(heap_segment_.base), facts_.heap_bytes(),
          kDevicesAreProcessors ? heap_of_pe_ : registered_heap_of_pe_};
}

Team& Runtime::add_team(std::vector<int> pes, int slot, std::uint64_t start_sequence,
                        const shmem_team_config_t& config) {
  Team& team = teams_->add(std::move(pes), slot, start_sequence, config);
  device_state_.add_team(team.for_kernels());
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

int Runtime::slot_of_active_set(const ActiveSet& set) {
  if (nodes_.is_near(0)) return memory_.active_sets()->slot_of(set);
  return slot_of(set, [](std::size_t place, std::uint64_t name) {
    const RemotePlace there{0, RemoteSegment::control, NodeMemory::place_of_active_set(place)};
    return transport()->atomic(there, {device::AtomicOp::compare_swap, sizeof name, name, 0, true});
  });
}

Team* Runtime::active_set_team(const ActiveSet& set, bool& is_new) {
  is_new = false;
  const int slot = slot_of_active_set(set);
  if (slot < 0) return nullptr;
  if (Team* team = teams_->find(handle_of(slot))) return team;
  const std::lock_guard lock(active_sets_mutex_);
  if (Team* team = teams_->find(handle_of(slot))) return team;
  is_new = true;
  return &add_team(set.pes(), slot, first_sequence_, {});
}

void Runtime::close() {
  if (has_devices()) await_streams("shmem_finalize");
  memory_.meet("finalize");
  device_state_.close();
  close_device_segments();
  contexts_.remove_all();
  memory_.mine().highest_sequence = teams_->highest_sequence();
  teams_.reset();
  address_map.n_pes = 0;
  watch_blocks(nullptr, nullptr);
  forget_stream_uses();
  // Pages that a GPU's driver has pinned stay what the GPU sees.
  if (registered_heap_of_pe_.empty()) heap_.give_back();
  heap_.close();
  device_heap_.close();
  memory_.meet("finalize");
  set_phase(PePhase::finalized);
}

void Runtime::close_device_segments() {
  for (const DeviceSegment& segment : device_segments().all()) device_memory_.unmap(segment);
  device_segments().clear();
}

}  // namespace meshmem
