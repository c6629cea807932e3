// SPDX-License-Identifier: Apache-2.0
//
// Remembers which symmetric memory the unfinished work on streams uses, so that MESHMEM_CHECK finds
// a block that is freed too early.
// Invariant: nothing is kept without the check, nor of captured work, which only a graph runs.
// Called by the routines on streams and by those that free memory.
#ifndef MESHMEM_GPU_STREAM_USES_HPP_
#define MESHMEM_GPU_STREAM_USES_HPP_

#include <cstddef>
#include <vector>

#include "gpu/hip_error.hpp"

namespace meshmem {

struct UsedRange {
  const void* address;
  std::size_t bytes;
};

// Remembers that the work on the stream so far uses the ranges.
void keep_stream_use(const char* routine, hipStream_t stream, int device,
                     std::vector<UsedRange> ranges);
// The routine whose unfinished work on a stream uses some of the bytes; nullptr if there is none.
const char* stream_user_of(const void* address, std::size_t bytes);
void forget_stream_uses();

}  // namespace meshmem

#endif  // MESHMEM_GPU_STREAM_USES_HPP_
