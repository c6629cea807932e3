// SPDX-License-Identifier: Apache-2.0
//
// Which symmetric memory is used by what the program has put on streams and is not over yet, so
// that MESHMEM_CHECK finds the block that is freed too early.
// Invariant: nothing is kept of captured streams, whose work is not put on them, nor without the
// check. Called by the routines on streams and by those that free memory.
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

// Marks the end of what is on the stream now.
void keep_stream_use(const char* routine, hipStream_t stream, int device,
                     std::vector<UsedRange> ranges);
// The routine whose work on a stream still uses some of the bytes; nullptr: there is none.
const char* stream_user_of(const void* address, std::size_t bytes);
void forget_stream_uses();

}  // namespace meshmem

#endif  // MESHMEM_GPU_STREAM_USES_HPP_
