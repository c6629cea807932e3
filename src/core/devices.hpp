// SPDX-License-Identifier: Apache-2.0
//
// The device of this PE as the library uses it: its memory, its symmetric heap, and the tables that
// kernels get.
// Invariant: all PEs of the job use devices, or none does. Connected once a process. The heap and
// the tables live from the init that opens the library to the finalize that closes it. Part of the
// Runtime.
#ifndef MESHMEM_CORE_DEVICES_HPP_
#define MESHMEM_CORE_DEVICES_HPP_

#include <cstddef>
#include <vector>

#include "base/settings/environment.hpp"
#include "core/job_connection.hpp"
#include "gpu/device_memory.hpp"
#include "gpu/device_state.hpp"
#include "memory/symmetric_heap.hpp"

namespace meshmem {

class Devices {
 public:
  // Collective, called once a process. Both arguments live for ever. Returns false if no PE uses a
  // device.
  bool connect(const Environment& environment, JobConnection& job);
  bool is_connected() const { return memory_.is_open(); }

  // Called after connect(). The tables for kernels may be filled until state().publish().
  void open();
  // Takes the tables from kernels and unmaps registered buffers. The heap stays open.
  void close();

  DeviceMemory& memory() { return memory_; }
  DeviceState& state() { return state_; }
  // The device heap. Without devices it is not open on any PE.
  SymmetricHeap& heap() { return heap_; }
  // True if the driver of a GPU has pinned the pages of the host heaps. The GPU keeps using these
  // pages, so they must not be returned to the system.
  bool have_pinned_host_heaps() const { return !registered_heaps_.empty(); }
  // The PEs whose device memory can be mapped here, in the order of their indices.
  const std::vector<int>& pes() const { return job_->memory().pes(); }
  // Fills in the segment's copies and routes, by world PE, for near PEs.
  void find_copies_of(DeviceSegment& segment) const;
  // Returns when all work on all streams of the device is done.
  void await_streams(const char* routine) const;

 private:
  bool choose();
  std::size_t agree_on_heap_bytes();
  void map_host_heaps_for_kernels();
  NodePeers node_peers();
  void find_routes();
  std::vector<std::byte*> by_world_pe(const std::vector<std::byte*>& by_index) const;
  std::vector<std::byte*> host_heaps_for_kernels() const;

  const Environment* environment_ = nullptr;
  JobConnection* job_ = nullptr;
  DeviceMemory memory_;
  DeviceState state_;
  SymmetricHeap heap_{"device heap", "MESHMEM_DEVICE_HEAP_SIZE", kMinDeviceAlignment};
  std::vector<DeviceRoute> routes_;  // by world PE
  std::size_t heap_alignment_ = 0;   // of all PEs
  // Where kernels of a GPU find the host heaps, by index; empty if they do not reach all heaps.
  std::vector<std::byte*> registered_heaps_;
};

}  // namespace meshmem

#endif  // MESHMEM_CORE_DEVICES_HPP_
