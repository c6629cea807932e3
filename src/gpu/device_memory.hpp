// SPDX-License-Identifier: Apache-2.0
//
// The device that this PE uses, and the two slabs of its memory that all PEs of the node map.
// *data* is the device heap, and in *sync* kernels of different PEs wait for each other. Called by
// start-up.
// Invariant: if a PE fails, all PEs learn of it before any takes the next step, so all end, with
// that PE's line. Host code touches a slab only through HostStores, where start-up has seen that
// stores arrive.
#ifndef MESHMEM_GPU_DEVICE_MEMORY_HPP_
#define MESHMEM_GPU_DEVICE_MEMORY_HPP_

#include <hip/hip_runtime_api.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/settings/environment.hpp"
#include "gpu/device_segments.hpp"
#include "gpu/host_stores.hpp"
#include "gpu/shared_range.hpp"

// The steps of start-up, all of them collective:
//   choose   every PE says which device it has; either all PEs use devices, or no PE does
//   open     allocate -> exchange one handle a slab -> map -> check a word through every mapping
//            -> find the data slabs that the processor may store to
//            where devices are processors: one file for the slabs of all PEs, which each maps once
//
// The slabs are kept until the process ends, as the arena is. So addresses that kernels and
// captured graphs hold stay valid. Also, drivers have lost memory over mappings that come and go.

namespace meshmem {

// The data that a PE tells the others of its node, step by step.
struct DeviceOffer {
  std::atomic<int> failed_step{0};  // as agree() counts them
  bool present = false;
  bool uncached = false;
  bool reaches_all = false;
  bool host_heaps_mapped = false;
  char bus_id[32] = "";            // of the device; the same in all processes
  std::size_t free_bytes = 0;      // before any slab was allocated
  std::size_t heap_wish = 0;       // SIZE_MAX: none
  std::size_t heap_alignment = 0;  // of the data slab, where the PE maps it itself
  SharedRange data;
  SharedRange sync;
  char ticket[128] = "";  // of the file, where all slabs are in one
};

// The PEs that share the arena, by their index there.
struct NodePeers {
  int me = 0;
  int n = 0;
  std::function<int(int index)> pe_of;  // the world PE, for messages
  std::function<DeviceOffer&(int index)> offer;
  std::function<void(const char* step)> meet;
};

struct Slab {
  std::byte* base = nullptr;
  std::size_t bytes = 0;
  std::vector<std::byte*> copies;  // by index
};

class DeviceMemory {
 public:
  // Collective. Returns false if no PE uses a device, since one has none or should have none.
  // `pes_before`: the number of PEs of other nodes on this machine, which take their devices first.
  bool choose(const Environment& environment, const NodePeers& peers, int pes_before);
  // Called after choose() returned true, if the PEs of another node use no device.
  void do_without() { device_ = -1; }
  // The heap's bytes that the user asks for, or SIZE_MAX; and the most bytes that it can have on
  // this node.
  std::size_t heap_wish() const { return peers_.offer(0).heap_wish; }
  std::size_t most_heap_bytes() const;
  // Collective, with a heap of `heap_bytes`. The stream is of the chosen device.
  void open(hipStream_t stream, std::size_t heap_bytes);

  bool is_open() const { return sync_.base != nullptr; }
  int device() const { return device_; }
  std::string architecture() const;  // of the device, as in sm_90, gfx90a, cpu; empty without one
  const Slab& data() const { return data_; }
  const Slab& sync() const { return sync_; }
  std::size_t heap_alignment() const;                    // the least of all PEs' data slabs
  bool all_reach_all() const { return all_reach_all_; }  // kernels reach all PEs' slabs
  // Whether PEs of this node share a device. On a GPU their kernels then take turns, each for
  // milliseconds, unless MPS runs.
  bool pes_share_devices() const { return pes_share_devices_; }
  const std::vector<DeviceRoute>& routes() const { return route_of_; }  // by index
  int n_peers() const { return peers_.n; }                              // this PE included
  int my_index() const { return peers_.me; }
  int world_pe_of(int index) const { return peers_.pe_of(index); }

  // Maps the range that the PE with this index has shared, for the device of the route to it.
  hipError_t map(const SharedRange& range, int index, std::byte** out);
  // Unmaps what map() has mapped of the segment.
  void unmap(const DeviceSegment& segment);

 private:
  DeviceOffer& mine() const { return peers_.offer(peers_.me); }
  void agree(const std::optional<std::string>& failure, const char* step);
  std::optional<std::string> differing_wish() const;
  std::size_t markers_offset() const;
  std::size_t sync_bytes() const;
  std::optional<std::string> allocate(Slab& slab, std::size_t bytes, SharedRange& range);
  void allocate_slabs();
  bool all_uncached() const;
  int local_number_of(const char* bus_id);
  std::optional<std::string> map_slab(Slab& slab, SharedRange DeviceOffer::*range);
  bool leave_to_copies(int pe);
  void find_routes();
  void map_slabs();
  void agree_on_reach(const std::optional<std::string>& failure);
  // Where devices are processors, in place of allocate_slabs() and map_slabs().
  void share_slabs();
  std::optional<std::string> offer_file_for(std::size_t bytes, int* file);
  std::optional<std::string> place_slabs(int file, std::size_t heap, std::size_t sync);
  void verify(hipStream_t stream);
  void find_host_stores(hipStream_t stream);
  std::optional<std::string> check_word(int pe, int which, std::uint64_t found) const;
  std::optional<std::string> read_next(const Slab& slab, int which) const;
  std::optional<std::string> read_all(const Slab& slab, int which, hipStream_t stream) const;

  NodePeers peers_;
  int steps_ = 0;
  OpenRanges ranges_;
  int device_ = -1;
  bool uncached_ = true;
  bool may_store_ = true;  // MESHMEM_LARGE_BAR
  bool all_reach_all_ = false;
  bool pes_share_devices_ = false;
  std::size_t heap_bytes_ = 0;
  std::vector<std::string> bus_ids_;   // of this process's devices, while it opens
  std::vector<DeviceRoute> route_of_;  // by index
  Slab data_;
  Slab sync_;
};

// ---- The host heaps for kernels (host_heap_access.cpp)
// Invariant: either the kernels of all PEs reach all host heaps, or no kernel reaches any. So a
// kernel can do the same on every PE.

// Collective. Registers the heaps with the device's driver, which pins their pages. Returns where
// this PE's kernels find the host heap of each PE; empty if they reach none.
std::vector<std::byte*> map_host_heaps(const std::vector<std::byte*>& heaps, std::size_t bytes,
                                       const Environment& environment, const NodePeers& peers);
// Where devices are processors: registers all host heaps as one range, so that copies from and to
// them take their turn on a stream.
void register_host_heaps(void* base, std::size_t bytes);

}  // namespace meshmem

#endif  // MESHMEM_GPU_DEVICE_MEMORY_HPP_
