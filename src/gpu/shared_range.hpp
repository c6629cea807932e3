// SPDX-License-Identifier: Apache-2.0
//
// A range of device memory as other processes of the node can open it.
// Invariant: the handle is that of the whole allocation, taken at its base, and the range is found
// by its offset. Handles of addresses in the middle have opened the wrong memory on some drivers.
// An allocation that is opened twice is mapped once. Used for the slabs and for registered buffers.
#ifndef MESHMEM_GPU_SHARED_RANGE_HPP_
#define MESHMEM_GPU_SHARED_RANGE_HPP_

#include <hip/hip_runtime_api.h>

#include <cstddef>
#include <list>
#include <mutex>

namespace meshmem {

struct SharedRange {
  hipIpcMemHandle_t handle;
  std::size_t offset;
};

// Fills in the handle and offset by which others open `address`. Returns hipErrorInvalidValue if
// the bytes do not lie within one allocation.
hipError_t share(void* address, std::size_t bytes, SharedRange* out);

// The allocations of other processes that are mapped here for as long as someone uses them. Slabs
// stay open.
class OpenRanges {
 public:
  // Opens a range on the current device. The same allocation of the same PE may be opened again.
  hipError_t open(const SharedRange& range, int pe, std::byte** out);
  void close(const SharedRange& range, int pe);

 private:
  struct Mapping {
    int pe;
    hipIpcMemHandle_t handle;
    std::byte* base;
    int users;
  };
  Mapping* find(const SharedRange& range, int pe);

  std::mutex mutex_;
  std::list<Mapping> mappings_;
};

}  // namespace meshmem

#endif  // MESHMEM_GPU_SHARED_RANGE_HPP_
