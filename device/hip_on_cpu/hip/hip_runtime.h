// SPDX-License-Identifier: Apache-2.0
// HIP on ordinary CPUs, for developing and testing device code where there is no GPU.
// Included by kernels' sources; a list below says what it has and lacks.
// Invariant: a block runs on an OS thread of its own, and its threads are fibers there, which
// change at barriers, at operations of the wave and in hip_on_cpu::yield(). A loop that waits for
// another thread of its block must call that.
#pragma once

#include <assert.h>

#include <cstdio>
#include <cstdlib>

#include "hip/hip_runtime_api.h"
#include "hip/hip_vector_types.h"
#include "hip/on_cpu/arithmetic.h"
#include "hip/on_cpu/atomics.h"
#include "hip/on_cpu/launch.h"
#include "hip/on_cpu/thread.h"
#include "hip/on_cpu/wave.h"

// It has:
// - the host API (hip_runtime_api.h)
// - half and bfloat16 (hip_fp16.h, hip_bfloat16.h, hip_bf16.h), each with its conversions alone
// - vectors of numbers (hip_vector_types.h)
// - cooperative groups (hip_cooperative_groups.h, which programs include themselves)
// - __global__ and its relatives; threadIdx, blockIdx, blockDim, gridDim, warpSize
// - __shared__, also dynamic by HIP_DYNAMIC_SHARED; __syncthreads, also with votes
// - __syncwarp, __shfl*, __ballot, __any, __all, each also with a mask (_sync)
// - __match_*_sync, __activemask; atomics (also _system) and __threadfence*
// - min, max, __popc, __mulhi and their relatives, C's mathematics and assert
// - clock64, wall_clock64, printf, abort; hipLaunchKernelGGL
//
// Only with oshhip, which rewrites them before the compiler reads them: kernel<<<...>>>, `extern
// __shared__` arrays, and kernels that are cast to void* for a launch.
//
// Deliberately missing, so that they do not compile: textures, and whatever else meshmem and its
// examples have no use for. Routines for the host alone (HIP's functions, launches, and meshmem's
// own host routines) compile in kernels, since the compiler cannot tell the sides apart. They end
// the kernel with a line that names the call.
//
// Different from a GPU:
// - the host can read device memory (do not)
// - one copy of a __device__ variable serves all devices of a process
// - a `__shared__` variable keeps what the last block on the same OS thread left in it

// An empty attribute, by which oshhip finds the names of kernels.
#define __global__ __attribute__(())
#define __device__
#define __host__
#define __constant__
#define __managed__
#define __launch_bounds__(...)
#define __forceinline__ inline __attribute__((always_inline))
// A block is run by one OS thread from its first thread to its last.
#define __shared__ static thread_local

#define HIP_DYNAMIC_SHARED(type, name) \
  type* const name = static_cast<type*>(::hip_on_cpu::current_thread->block->dynamic_shared);
namespace hip_on_cpu {
// The initial value of `extern __shared__ T name[]`, which oshhip turns into a thread_local
// reference T (&name)[].
struct DynamicShared {
  template <typename Array>
  operator Array&() const {
    return *static_cast<Array*>(dynamic_shared_memory());
  }
};
}  // namespace hip_on_cpu
#define HIP_KERNEL_NAME(...) __VA_ARGS__

inline long long clock64() { return hip_on_cpu::nanoseconds(); }
inline long long wall_clock64() { return hip_on_cpu::nanoseconds(); }
