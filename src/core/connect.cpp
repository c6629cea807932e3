// SPDX-License-Identifier: Apache-2.0
//
// The steps that a Runtime takes once a process: the launcher, the arena of the node, the other
// nodes, static data, the transport, devices.
// Invariant: only connect() knows the order of these steps. A failure of one PE ends the job; no PE
// waits for one that has gone.
#include <unistd.h>

#include <cstdlib>
#include <numeric>
#include <utility>

#include "base/error.hpp"
#include "base/hooks/memory_checker.hpp"
#include "base/machine/file_handover.hpp"
#include "base/machine/machine.hpp"
#include "base/status/job_record.hpp"
#include "base/status/own_status.hpp"
#include "base/waiting/schedule_fuzzing.hpp"
#include "base/waiting/wait.hpp"
#include "bootstrap/job.hpp"
#include "core/card_exchange.hpp"
#include "core/core_file.hpp"
#include "core/kernel_faults.hpp"
#include "core/kernel_waits.hpp"
#include "core/runtime.hpp"
#include "core/same_settings.hpp"
#include "core/spread.hpp"
#include "gpu/device_target.hpp"
#include "gpu/device_transfer.hpp"
#include "gpu/host_heap_access.hpp"
#include "gpu/staged_access.hpp"
#include "memory/static_data.hpp"
#include "transport/arena_transport.hpp"

namespace meshmem {
namespace {

// Before a PE that has a core for itself yields: some tens of microseconds.
constexpr unsigned kPolls = 4000;

Runtime* to_abandon = nullptr;  // at the process's end

// A process that ends without shmem_finalize must not have threads that still work, nor look like a
// success. A child of fork has no threads and is no PE. Registered when the library is loaded, so
// that it comes after the destructors of the program's global variables, which may finalize.
[[maybe_unused]] const int abandons_at_exit = on_exit(
    [](int status, void*) {
      if (to_abandon == nullptr || is_child_of_pe()) return;
      to_abandon->abandon();
      if (status == 0 && to_abandon->is_active()) to_abandon->end_unfinished();
    },
    nullptr);

// A PE that exits without shmem_finalize must look like the failure that it is, and a child of
// fork is not the PE.
void disconnect_at_exit() {
  std::atexit([] {
    if (!is_child_of_pe()) runtime().disconnect();
  });
}

}  // namespace

void Runtime::connect() {
  join_job();
  const StaticData statics = find_static_data();
  open_memory(statics.bytes());
  fill_directory_entry(statics.fingerprint);
  memory_.meet("attach to the shared memory of the node");
  find_nodes();
  find_copies_of_segments();
  share_statics(statics);
  more_pes_than_cores_ = share_cores(memory_.directory(), memory_.n(), core_share_);
  connect_transport();
  meet("share the static data");
  end_offer();
  memory_.arena().close_file();
  connect_device();
  wait_policy.polls = environment_.spin.value_or(more_pes_than_cores_ ? 1 : kPolls);
  wait_policy.timeout_seconds = environment_.timeout;
  wait_policy.timeout_name = "MESHMEM_TIMEOUT";
}

// Finds out who this PE is and who the others are. From here on a mistake ends the job, not this PE
// only.
void Runtime::join_job() {
  open_launcher_board();
  wait_policy = {.polls = 1,
                 .timeout_seconds = environment_.start_timeout,
                 .timeout_name = "MESHMEM_START_TIMEOUT"};
  const Job& job = connect_to_launcher(environment_.start_timeout);
  if (environment_.abort == AbortBy::core) end_by_core_files(heap_);
  explain_kernel_faults();
  n_pes_ = job.n_pes;
  me_ = job.pe;
  if (me_ == 0) note_for_oshrun(JobNote::begun);
  wait_policy.longest_nap_us =
      longest_nap_us_for(static_cast<std::size_t>(pes_of_machine()), allowed_cpus().size());
  if (environment_.fuzz_seed) start_schedule_fuzzing(*environment_.fuzz_seed, me_);
  choose_network(n_pes_ - static_cast<int>(job.node_pes.size()));
  disconnect_at_exit();
  to_abandon = this;
}

// Fake nodes do without, as one arena serves them all, unless they are asked to be as real ones.
void Runtime::choose_network(int far_pes) {
  const bool is_real = !joined_job().has_fake_nodes;
  uses_network_ = far_pes != 0 && (is_real || environment_.network == NetworkKind::tcp ||
                                   environment_.network == NetworkKind::ucx);
  if (uses_network_ && environment_.network == NetworkKind::none) {
    if (me_ != 0) leave_word_to_others();
    fatal(
        "{} of the {} PEs are on other machines, which MESHMEM_NETWORK=none does not reach; unset "
        "it, or start all PEs on one machine",
        far_pes, n_pes_);
  }
}

int Runtime::pes_of_machine() const {
  const Job& job = joined_job();
  return job.has_fake_nodes ? job.n_pes : static_cast<int>(job.node_pes.size());
}

void Runtime::open_memory(std::size_t static_bytes) {
  std::vector<int> pes = joined_job().node_pes;
  if (!uses_network_) {
    pes.resize(static_cast<std::size_t>(n_pes_));
    std::iota(pes.begin(), pes.end(), 0);
  }
  memory_.open({.pes = std::move(pes),
                .me = me_,
                .exchange = uses_network_ ? Among::node : Among::job,
                .has_inboxes = joined_job().has_fake_nodes && !uses_network_,
                .has_wire_addresses = uses_network_,
                .static_bytes = static_bytes,
                .heap_bytes = heap_bytes(environment_, pes_of_machine()),
                .start_timeout = environment_.start_timeout});
  if (uses_network_) {
    network_.open_wire(environment_, joined_job().has_fake_nodes, memory_.is_first());
    memory_.tell_wire_address(network_.wire_address());
  }
}

void Runtime::fill_directory_entry(std::uint64_t program) {
  DirectoryEntry& mine = memory_.mine();
  mine.pe = me_;
  mine.program = program;
  mine.node = joined_job().node_pes.front();
  tell_settings(mine, memory_.layout(), environment_, tuning_);
  if (uses_network_) mine.settings.wire = static_cast<std::uint64_t>(network_.wire_kind());
  sched_getaffinity(0, sizeof mine.cpus, &mine.cpus);
  mine.heap_alignment = alignment_of(memory_.base_of(memory_.index(), RemoteSegment::heap));
  mine.present.store(1, std::memory_order_release);
}

// All are of this machine.
int Runtime::fewest_cores_of_fake_nodes() {
  constexpr std::uint64_t kThisMachine = 1;
  std::vector<int> pes(static_cast<std::size_t>(std::max(nodes_.n(), 1)));
  for (int pe = 0; pe < n_pes_; ++pe) ++pes[static_cast<std::size_t>(nodes_.node_of(pe))];
  FewestCores fewest;
  for (const int of_node : pes)
    fewest.add(kThisMachine, count_cores(memory_.directory(), memory_.n()), of_node);
  return fewest.count();
}

// All PEs are in the arena's directory, or each node has its own and they exchange cards.
void Runtime::find_nodes() {
  const DirectoryEntry* directory = memory_.directory();
  if (uses_network_) exchange_cards(memory_, environment_.start_timeout);
  require_same_settings(directory, memory_.n(), memory_.index());
  if (uses_network_) {
    nodes_ = Nodes(n_pes_, me_, memory_.index());
    std::vector<MachineAddresses> others;
    facts_ = read_cards(memory_, nodes_, core_share_, others);
    network_.admit_only(others, environment_.start_timeout);
  } else {
    facts_ = facts_of_node(directory, memory_.layout());
    core_share_.pes = pes_of_machine();
    if (joined_job().has_fake_nodes) nodes_ = fake_nodes(directory, n_pes_, me_);
    core_share_.fewest_cores = fewest_cores_of_fake_nodes();
  }
  if (facts_.is_checked) gap_ = kRedZone;
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
  if (uses_network_) return network_.connect(me_, memory_, nodes_, facts_);
  const ArenaTransport::Mapping mapping{
      .address_of =
          [this](const RemotePlace& place) {
            const int index = memory_.index_of(place.pe);
            if (place.segment == RemoteSegment::device)
              return find_in_device_memory(index, place.offset, 0);
            return memory_.base_of(index, place.segment) + place.offset;
          },
      .inbox_of = [this](int pe) { return memory_.inbox_of(pe); },
      .device = &staged_access()};
  use_transport(std::make_unique<ArenaTransport>(me_, mapping));
}

void Runtime::connect_device() {
  if (!choose_device()) return;
  device_transfer().open(device_memory_.device());
  staged_access().open(device_memory_.device());
  device_memory_.open(device_transfer().stream(), device_heap_bytes());
  if (nodes_.has_several())
    debug("device memory of PEs of other machines is reached through pinned memory of the host");
  find_device_routes();
  device_heap_alignment_ =
      ~greatest_of_nodes(~device_memory_.heap_alignment(), "map their device memory");
  show_waits_of_kernels({.sync = device_memory_.sync(),
                         .state = device_state_,
                         .team_in = [this](int slot) -> const Team* {
                           return is_active() ? teams_->find(handle_of(slot)) : nullptr;
                         }});
  map_host_heaps_for_kernels();
}

// All PEs of all nodes use devices, or none does.
bool Runtime::choose_device() {
  const bool all_here = device_memory_.choose(environment_, node_peers(), core_share_.pes_before);
  if (greatest_of_nodes(all_here ? 0 : 1, "choose devices") == 0) return true;
  if (all_here) debug("there is no device memory: PEs of another machine have no device");
  device_memory_.do_without();
  return false;
}

// Of all nodes, which have to wish for the same.
std::size_t Runtime::device_heap_bytes() {
  const std::uint64_t wish = device_memory_.heap_wish();
  const std::uint64_t greatest = greatest_of_nodes(wish, "tell the size of their device heap");
  const std::uint64_t least = ~greatest_of_nodes(~wish, "tell the size of their device heap");
  if (least != greatest) {
    if (wish == least && memory_.is_first())
      fatal("MESHMEM_DEVICE_HEAP_SIZE is not the same on all machines; give all PEs the same");
    wait_until_ready([] { return false; },
                     [] { return std::string("PEs with another device heap to end the job"); });
  }
  return ~greatest_of_nodes(~device_memory_.most_heap_bytes(), "take device memory");
}

void Runtime::map_host_heaps_for_kernels() {
  if constexpr (kDevicesAreProcessors) {
    // All heaps in one entry, so that copies from there and to there take their turn on a stream.
    register_host_heaps(memory_.arena().base(), memory_.layout().total());
  } else {
    std::vector<std::byte*> heaps;
    for (int index = 0; index < memory_.n(); ++index)
      heaps.push_back(memory_.base_of(index, RemoteSegment::heap));
    registered_heaps_ = map_host_heaps(heaps, facts_.heap_bytes(), environment_, node_peers());
  }
}

NodePeers Runtime::node_peers() {
  DirectoryEntry* directory = memory_.directory();
  return {.me = memory_.index(),
          .n = memory_.n(),
          .pe_of = [this](int index) { return memory_.pes()[static_cast<std::size_t>(index)]; },
          .offer = [directory](int index) -> DeviceOffer& { return directory[index].device; },
          .meet = [this](const char* step) { memory_.meet(step); }};
}

std::uint64_t Runtime::greatest_of_nodes(std::uint64_t number, const char* where) {
  if (!network_.is_connected()) return number;
  std::atomic<std::uint64_t>& agreed = memory_.arena().header().agreed;
  if (memory_.is_first()) agreed.store(network_.meet(number, where), std::memory_order_relaxed);
  memory_.meet(where);
  number = agreed.load(std::memory_order_relaxed);
  memory_.meet(where);  // nobody looks at it any more
  return number;
}

}  // namespace meshmem
