// SPDX-License-Identifier: Apache-2.0
//
// The list of symmetric memory that unfinished work on streams uses, so that MESHMEM_CHECK finds a
// block that is freed too early.
// Invariant: the list is empty without the check, and never has work that a graph has captured.
// Filled by core/memory_of_call.hpp, asked by the routines that free memory.
#ifndef MESHMEM_GPU_UNFINISHED_USES_HPP_
#define MESHMEM_GPU_UNFINISHED_USES_HPP_

#include <cstddef>
#include <vector>

#include "gpu/hip_error.hpp"

namespace meshmem {

struct UsedRange {
  const void* address;
  std::size_t bytes;
};

// Remembers that the work on the stream so far uses the ranges.
void keep_unfinished_use(const char* routine, hipStream_t stream, int device,
                         std::vector<UsedRange> ranges);
// The routine whose unfinished work on a stream uses some of the bytes; nullptr if there is none.
const char* unfinished_user_of(const void* address, std::size_t bytes);
void forget_unfinished_uses();

}  // namespace meshmem

#endif  // MESHMEM_GPU_UNFINISHED_USES_HPP_
