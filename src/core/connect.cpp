// SPDX-License-Identifier: Apache-2.0
//
// The steps that a Runtime takes once a process: it connects to the job, then to devices.
// Invariant: only connect() knows the order of these steps.
#include <unistd.h>

#include <cstdlib>

#include "base/error.hpp"
#include "base/waiting/wait.hpp"
#include "bootstrap/job.hpp"
#include "core/core_file.hpp"
#include "core/kernel_faults.hpp"
#include "core/kernel_waits.hpp"
#include "core/runtime.hpp"
#include "gpu/device_target.hpp"
#include "gpu/device_transfer.hpp"
#include "gpu/host_heap_access.hpp"
#include "gpu/staged_access.hpp"

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
  job_.join(environment_);
  if (environment_.abort == AbortBy::core) end_by_core_files(heap_);
  explain_kernel_faults();
  disconnect_at_exit();
  to_abandon = this;
  job_.connect(environment_, tuning_);
  connect_device();
  wait_policy.polls = environment_.spin.value_or(job_.has_more_pes_than_cores() ? 1 : kPolls);
  wait_policy.timeout_seconds = environment_.timeout;
  wait_policy.timeout_name = "MESHMEM_TIMEOUT";
}

void Runtime::connect_device() {
  if (!choose_device()) return;
  device_transfer().open(device_memory_.device());
  staged_access().open(device_memory_.device());
  device_memory_.open(device_transfer().stream(), device_heap_bytes());
  if (job_.nodes().has_several())
    debug("device memory of PEs of other machines is reached through pinned memory of the host");
  find_device_routes();
  device_heap_alignment_ =
      ~job_.greatest_of_nodes(~device_memory_.heap_alignment(), "map their device memory");
  show_waits_of_kernels({.sync = device_memory_.sync(),
                         .state = device_state_,
                         .team_in = [this](int slot) -> const Team* {
                           return is_active() ? teams_->find(handle_of(slot)) : nullptr;
                         }});
  map_host_heaps_for_kernels();
}

// All PEs of all nodes use devices, or none does.
bool Runtime::choose_device() {
  const bool all_here =
      device_memory_.choose(environment_, node_peers(), job_.core_share().pes_before);
  if (job_.greatest_of_nodes(all_here ? 0 : 1, "choose devices") == 0) return true;
  if (all_here) debug("there is no device memory: PEs of another machine have no device");
  device_memory_.do_without();
  return false;
}

// Of all nodes, which have to wish for the same.
std::size_t Runtime::device_heap_bytes() {
  const std::uint64_t wish = device_memory_.heap_wish();
  const std::uint64_t greatest = job_.greatest_of_nodes(wish, "tell the size of their device heap");
  const std::uint64_t least = ~job_.greatest_of_nodes(~wish, "tell the size of their device heap");
  if (least != greatest) {
    if (wish == least && job_.memory().is_first())
      fatal("MESHMEM_DEVICE_HEAP_SIZE is not the same on all machines; give all PEs the same");
    wait_until_ready([] { return false; },
                     [] { return std::string("PEs with another device heap to end the job"); });
  }
  return ~job_.greatest_of_nodes(~device_memory_.most_heap_bytes(), "take device memory");
}

void Runtime::map_host_heaps_for_kernels() {
  if constexpr (kDevicesAreProcessors) {
    // All heaps in one entry, so that copies from there and to there take their turn on a stream.
    register_host_heaps(job_.memory().arena().base(), job_.memory().layout().total());
  } else {
    std::vector<std::byte*> heaps;
    for (int index = 0; index < job_.memory().n(); ++index)
      heaps.push_back(job_.memory().base_of(index, RemoteSegment::heap));
    registered_heaps_ =
        map_host_heaps(heaps, job_.facts().heap_bytes(), environment_, node_peers());
  }
}

NodePeers Runtime::node_peers() {
  DirectoryEntry* directory = job_.memory().directory();
  return {
      .me = job_.memory().index(),
      .n = job_.memory().n(),
      .pe_of = [this](int index) { return job_.memory().pes()[static_cast<std::size_t>(index)]; },
      .offer = [directory](int index) -> DeviceOffer& { return directory[index].device; },
      .meet = [this](const char* step) { job_.memory().meet(step); }};
}

}  // namespace meshmem
