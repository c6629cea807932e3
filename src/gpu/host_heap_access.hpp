// SPDX-License-Identifier: Apache-2.0
//
// Lets kernels reach the host heaps: registers them with the device's driver, which pins their
// pages.
// Invariant: either the kernels of all PEs reach all host heaps, or no kernel reaches any. So a
// kernel can do the same on every PE. Called by start-up.
#ifndef MESHMEM_GPU_HOST_HEAP_ACCESS_HPP_
#define MESHMEM_GPU_HOST_HEAP_ACCESS_HPP_

#include <cstddef>
#include <vector>

#include "gpu/device_memory.hpp"

namespace meshmem {

// Collective. Returns where this PE's kernels find the host heap of each PE; empty if they reach
// none.
std::vector<std::byte*> map_host_heaps(const std::vector<std::byte*>& heaps, std::size_t bytes,
                                       const Environment& environment, const NodePeers& peers);

// Where devices are processors: registers all host heaps as one range, so that copies from and to
// them take their turn on a stream.
void register_host_heaps(void* base, std::size_t bytes);

}  // namespace meshmem

#endif  // MESHMEM_GPU_HOST_HEAP_ACCESS_HPP_
