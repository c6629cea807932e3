// SPDX-License-Identifier: Apache-2.0
//
// The memory that the host writes for kernels to read: the tables of DeviceState, and the states of
// modules.
// Invariant: it is there when the call returns, and no kernel of the program has been waited for.
#ifndef MESHMEM_GPU_KERNEL_MEMORY_HPP_
#define MESHMEM_GPU_KERNEL_MEMORY_HPP_

#include <cstddef>

namespace meshmem {

// Programs make thousands of teams: where device memory is host memory, a stream is a detour.
void write_for_kernels(void* dest, const void* source, std::size_t bytes);
void clear_for_kernels(void* memory, std::size_t bytes);

}  // namespace meshmem

#endif  // MESHMEM_GPU_KERNEL_MEMORY_HPP_
