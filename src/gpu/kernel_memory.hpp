// SPDX-License-Identifier: Apache-2.0
//
// How the host writes memory that kernels read: the tables of DeviceState, and the states of
// modules.
// Invariant: the data is written when the call returns. No call waits for the program's kernels.
#ifndef MESHMEM_GPU_KERNEL_MEMORY_HPP_
#define MESHMEM_GPU_KERNEL_MEMORY_HPP_

#include <cstddef>

namespace meshmem {

// Where device memory is host memory, both write directly and use no stream: programs may make
// thousands of teams.
void write_for_kernels(void* dest, const void* source, std::size_t bytes);
void clear_for_kernels(void* memory, std::size_t bytes);

}  // namespace meshmem

#endif  // MESHMEM_GPU_KERNEL_MEMORY_HPP_
