// SPDX-License-Identifier: Apache-2.0
//
// Chooses devices, takes their memory, and fills the tables by which kernels find the memory of all
// PEs. Invariant: all nodes agree on each size before memory of this size is taken. Tables for
// kernels are by world PE, tables of the node by index.
#include "core/devices.hpp"

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "base/error.hpp"
#include "base/machine/thread.hpp"
#include "base/waiting/wait.hpp"
#include "gpu/device_target.hpp"
#include "gpu/device_transfer.hpp"
#include "gpu/hip_error.hpp"
#include "gpu/staged_access.hpp"

namespace meshmem {

bool Devices::connect(const Environment& environment, JobConnection& job) {
  environment_ = &environment;
  job_ = &job;
  if (!choose()) return false;
  device_transfer().open(memory_.device());
  staged_access().open(memory_.device(), &memory_.routes());
  memory_.open(device_transfer().stream(), agree_on_heap_bytes());
  if (job.nodes().has_several())
    debug("device memory of PEs of other machines is reached through pinned memory of the host");
  find_routes();
  heap_alignment_ = ~job.greatest_of_nodes(~memory_.heap_alignment(), "map their device memory");
  map_host_heaps_for_kernels();
  return true;
}

// All PEs of all nodes use devices, or none does.
bool Devices::choose() {
  const bool all_here = memory_.choose(*environment_, node_peers(), job_->core_share().pes_before);
  if (job_->greatest_of_nodes(all_here ? 0 : 1, "choose devices") == 0) return true;
  if (all_here) debug("there is no device memory: PEs of another machine have no device");
  memory_.do_without();
  return false;
}

// Returns the size that all nodes can take. Ends the job unless all PEs have asked for the same
// size.
std::size_t Devices::agree_on_heap_bytes() {
  const std::uint64_t wish = memory_.heap_wish();
  const std::uint64_t greatest =
      job_->greatest_of_nodes(wish, "tell the size of their device heap");
  const std::uint64_t least = ~job_->greatest_of_nodes(~wish, "tell the size of their device heap");
  if (least != greatest) {
    if (wish == least && job_->memory().is_first())
      fatal("MESHMEM_DEVICE_HEAP_SIZE is not the same on all machines; give all PEs the same");
    wait_until_ready([] { return false; },
                     [] { return std::string("PEs with another device heap to end the job"); });
  }
  return ~job_->greatest_of_nodes(~memory_.most_heap_bytes(), "take device memory");
}

void Devices::map_host_heaps_for_kernels() {
  NodeMemory& host = job_->memory();
  if constexpr (kDevicesAreProcessors) {
    // All heaps are registered as one range, so that copies from and to them take their turn on a
    // stream.
    register_host_heaps(host.arena().base(), host.layout().total());
  } else {
    std::vector<std::byte*> heaps;
    for (int index = 0; index < host.n(); ++index)
      heaps.push_back(host.base_of(index, RemoteSegment::heap));
    registered_heaps_ =
        map_host_heaps(heaps, job_->facts().heap_bytes(), *environment_, node_peers());
  }
}

NodePeers Devices::node_peers() {
  NodeMemory& host = job_->memory();
  DirectoryEntry* directory = host.directory();
  return {.me = host.index(),
          .n = host.n(),
          .pe_of = [&host](int index) { return host.pes()[static_cast<std::size_t>(index)]; },
          .offer = [directory](int index) -> DeviceOffer& { return directory[index].device; },
          .meet = [&host](const char* step) { host.meet(step); }};
}

void Devices::find_routes() {
  routes_.resize(static_cast<std::size_t>(job_->n_pes()));
  for (std::size_t index = 0; index < pes().size(); ++index)
    routes_[static_cast<std::size_t>(pes()[index])] = memory_.routes()[index];
}

void Devices::open() {
  const Slab& slab = memory_.data();
  heap_.open(slab.base, slab.bytes, heap_alignment_, job_->gap(),
             kDevicesAreProcessors ? std::optional<std::size_t>(0) : std::nullopt);
  DeviceSegment heap;
  heap.base = reinterpret_cast<std::uintptr_t>(slab.base);
  heap.bytes = slab.bytes;
  if (job_->nodes().has_several()) heap.mapped = slab.copies;
  heap.all_for_kernels = memory_.all_reach_all();
  heap.copies = by_world_pe(slab.copies);
  heap.route_of = routes_.data();
  const Segment& host_heap = job_->heap();
  // With 0 bytes no address is in a host heap.
  const bool kernels_reach_host = kDevicesAreProcessors || have_pinned_host_heaps();
  const KernelReach reach{.me = job_->me(),
                          .routes = routes_,
                          .data = heap.copies,
                          .sync = by_world_pe(memory_.sync().copies),
                          .heaps = host_heaps_for_kernels(),
                          .heap = reinterpret_cast<const void*>(host_heap.base),
                          .heap_bytes = kernels_reach_host ? host_heap.bytes : 0};
  state_.open(memory_, reach, environment_->device_first_epoch);
  device_segments().add(std::move(heap));
}

std::vector<std::byte*> Devices::by_world_pe(const std::vector<std::byte*>& by_index) const {
  std::vector<std::byte*> copies(static_cast<std::size_t>(job_->n_pes()), nullptr);
  for (std::size_t index = 0; index < by_index.size(); ++index) {
    const int pe = pes()[index];
    if (job_->nodes().is_near(pe)) copies[static_cast<std::size_t>(pe)] = by_index[index];
  }
  return copies;
}

void Devices::find_copies_of(DeviceSegment& segment) const {
  segment.copies = by_world_pe(segment.mapped);
  segment.route_of = routes_.data();
}

std::vector<std::byte*> Devices::host_heaps_for_kernels() const {
  if constexpr (!kDevicesAreProcessors) return by_world_pe(registered_heaps_);
  std::vector<std::byte*> heaps;
  for (std::byte* heap : job_->heap_of_pe()) heaps.push_back(is_mapped(heap) ? heap : nullptr);
  return heaps;
}

// HIP has no call that waits for all streams with a timeout, so a helper thread waits.
void Devices::await_streams(const char* routine) const {
  std::atomic<bool> is_over{false};
  std::thread waiter = start_thread("that waits for the streams", [&] {
    wait_for_device(memory_.device(), routine);
    is_over.store(true, std::memory_order_release);
  });
  wait_until_ready([&] { return is_over.load(std::memory_order_acquire); },
                   [&] {
                     return fmt::format("the work on the streams of device {} to end, in {}",
                                        memory_.device(), routine);
                   });
  waiter.join();
}

void Devices::close() {
  state_.close();
  for (const DeviceSegment& segment : device_segments().all()) memory_.unmap(segment);
  device_segments().clear();
}

}  // namespace meshmem
