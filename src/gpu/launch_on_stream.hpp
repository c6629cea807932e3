// SPDX-License-Identifier: Apache-2.0
//
// Copies and kernels that take their place on a stream of the program's.
// Invariant: nothing here waits, allocates or uses a stream of the library, so that a graph can
// capture every call. Called by the routines on streams of core/ and collectives/.
#ifndef MESHMEM_GPU_LAUNCH_ON_STREAM_HPP_
#define MESHMEM_GPU_LAUNCH_ON_STREAM_HPP_

#include <cstddef>

#include "gpu/hip_error.hpp"

namespace meshmem {

bool is_captured(hipStream_t stream);

// Puts a call of the function on the stream, or into the graph that captures it. Returns whether
// that was possible; it never is with ROCm 5.2.
bool try_call_on_stream(hipStream_t stream, void (*function)(void*), void* argument);

// One end of a copy on a stream: its address, and whether kernels reach it.
struct StreamEnd {
  void* address;
  bool for_kernels;
};

// Whether a kernel can do the copy, and in a graph is not slower than a copy engine.
bool suits_kernel(const StreamEnd& to, const StreamEnd& from, std::size_t bytes);

// Does nothing for 0 bytes.
void copy_on_stream(const char* routine, const StreamEnd& to, const StreamEnd& from,
                    std::size_t bytes, int device, hipStream_t stream);

// launch() puts a kernel of `device` on a stream.
template <typename Launch>
void launch_on_stream(int device, const char* routine, const Launch& launch) {
  const OnDevice current(device);
  const hipError_t error = launch();
  if (error == hipErrorInvalidHandle) [[unlikely]]
    fatal("{}: there is no such stream of device {}, which this PE uses", routine, device);
  check(error, "put the kernel of {} on the stream", routine);
}

}  // namespace meshmem

#endif  // MESHMEM_GPU_LAUNCH_ON_STREAM_HPP_
