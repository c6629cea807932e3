// SPDX-License-Identifier: Apache-2.0
//
// The host heaps as kernels see them: registered with the device's driver, which pins their pages.
// Invariant: kernels of all PEs reach all host heaps or none does; what a kernel can do does not
// depend on the PE. Called by start-up.
#ifndef MESHMEM_MEMORY_HOST_HEAP_ACCESS_HPP_
#define MESHMEM_MEMORY_HOST_HEAP_ACCESS_HPP_

#include <cstddef>
#include <vector>

#include "memory/device_memory.hpp"

namespace meshmem {

// Collective. Where the kernels of this PE find the host heap of each PE; empty if they do not.
std::vector<std::byte*> map_host_heaps(const std::vector<std::byte*>& heaps, std::size_t bytes,
                                       const Environment& environment, const NodePeers& peers);

}  // namespace meshmem

#endif  // MESHMEM_MEMORY_HOST_HEAP_ACCESS_HPP_
