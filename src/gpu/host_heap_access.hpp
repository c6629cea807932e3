// SPDX-License-Identifier: Apache-2.0
//
// The host heaps as kernels see them: registered with the device's driver, which pins their pages.
// Invariant: kernels of all PEs reach all host heaps or none does; what a kernel can do does not
// depend on the PE. Called by start-up.
#ifndef MESHMEM_GPU_HOST_HEAP_ACCESS_HPP_
#define MESHMEM_GPU_HOST_HEAP_ACCESS_HPP_

#include <cstddef>
#include <vector>

#include "gpu/device_memory.hpp"

namespace meshmem {

// Collective. Where the kernels of this PE find the host heap of each PE; empty if they do not.
std::vector<std::byte*> map_host_heaps(const std::vector<std::byte*>& heaps, std::size_t bytes,
                                       const Environment& environment, const NodePeers& peers);

// All of them in one entry, where devices are processors: copies from there and to there take their
// turn on a stream.
void register_host_heaps(void* base, std::size_t bytes);

}  // namespace meshmem

#endif  // MESHMEM_GPU_HOST_HEAP_ACCESS_HPP_
