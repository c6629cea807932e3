// SPDX-License-Identifier: Apache-2.0
//
// <hip/hip_runtime.h> on NVIDIA GPUs: the names that kernels and their launches use in HIP, for
// nvcc.
// Invariant: wave operations are of all lanes of a warp, so all of its threads make them together;
// masks are 64-bit as on AMD GPUs. As in hip_runtime_api.h, it is a part of HIP.
// Included by device/target.hpp and by programs that are built for cuda.
#ifndef MESHMEM_HIP_ON_CUDA_HIP_RUNTIME_H_
#define MESHMEM_HIP_ON_CUDA_HIP_RUNTIME_H_

#ifndef __CUDACC__
#error "meshmem: kernels for NVIDIA GPUs are compiled by nvcc; host code includes hip_runtime_api.h"
#endif

// CUDA's headers of short floats come first: they define functions whose names are macros below.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "hip_runtime_api.h"

// ---- Launching

#define HIP_KERNEL_NAME(...) __VA_ARGS__
#define HIP_DYNAMIC_SHARED(type, name) extern __shared__ type name[];
// A statement, as HIP's is.
#define hipLaunchKernelGGL(kernel, grid, block, shared_bytes, stream, ...) \
  do {                                                                     \
    kernel<<<(grid), (block), (shared_bytes), (stream)>>>(__VA_ARGS__);    \
  } while (0)

// ---- HIP's older names of a thread's place

#define hipThreadIdx_x threadIdx.x
#define hipThreadIdx_y threadIdx.y
#define hipThreadIdx_z threadIdx.z
#define hipBlockIdx_x blockIdx.x
#define hipBlockIdx_y blockIdx.y
#define hipBlockIdx_z blockIdx.z
#define hipBlockDim_x blockDim.x
#define hipBlockDim_y blockDim.y
#define hipBlockDim_z blockDim.z
#define hipGridDim_x gridDim.x
#define hipGridDim_y gridDim.y
#define hipGridDim_z gridDim.z

// ---- Constants of a module

#define HIP_SYMBOL(name) name

template <typename T>
hipError_t hipMemcpyToSymbol(const T& symbol, const void* source, std::size_t bytes,
                             std::size_t offset = 0, hipMemcpyKind kind = hipMemcpyHostToDevice) {
  return hip_on_cuda::finish(cudaMemcpyToSymbol(symbol, source, bytes, offset, kind));
}
template <typename T>
hipError_t hipGetSymbolAddress(void** address, const T& symbol) {
  return hip_on_cuda::to_hip(cudaGetSymbolAddress(address, symbol));
}
template <typename T>
hipError_t hipMemcpyFromSymbol(void* dest, const T& symbol, std::size_t bytes,
                               std::size_t offset = 0, hipMemcpyKind kind = hipMemcpyDeviceToHost) {
  return hip_on_cuda::to_hip(cudaMemcpyFromSymbol(dest, symbol, bytes, offset, kind));
}

// ---- Waves. CUDA declares functions of these names too, but newer GPUs lack them.

namespace hip_on_cuda {
constexpr unsigned kAllLanes = 0xffffffffu;

#define MESHMEM_HIP_SHUFFLE(name, Argument)                                    \
  template <typename T>                                                        \
  __device__ inline T name(T value, Argument argument, int width = warpSize) { \
    return __##name##_sync(kAllLanes, value, argument, width);                 \
  }
MESHMEM_HIP_SHUFFLE(shfl, int)
MESHMEM_HIP_SHUFFLE(shfl_xor, int)
MESHMEM_HIP_SHUFFLE(shfl_up, unsigned)
MESHMEM_HIP_SHUFFLE(shfl_down, unsigned)
#undef MESHMEM_HIP_SHUFFLE
__device__ inline unsigned long long ballot(int predicate) {
  return __ballot_sync(kAllLanes, predicate);
}
__device__ inline int any(int predicate) { return __any_sync(kAllLanes, predicate); }
__device__ inline int all(int predicate) { return __all_sync(kAllLanes, predicate); }
}  // namespace hip_on_cuda

#define __shfl(...) hip_on_cuda::shfl(__VA_ARGS__)
#define __shfl_xor(...) hip_on_cuda::shfl_xor(__VA_ARGS__)
#define __shfl_up(...) hip_on_cuda::shfl_up(__VA_ARGS__)
#define __shfl_down(...) hip_on_cuda::shfl_down(__VA_ARGS__)
#define __ballot(predicate) hip_on_cuda::ballot(predicate)
#define __any(predicate) hip_on_cuda::any(predicate)
#define __all(predicate) hip_on_cuda::all(predicate)

// ---- Time, in nanoseconds, the same on all multiprocessors

__device__ inline long long wall_clock64() {
  long long now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

// ---- Atomics on types for which CUDA has none. In two's complement they are the unsigned ones.

namespace hip_on_cuda {
__device__ inline unsigned long long* as_unsigned(long long* at) {
  return reinterpret_cast<unsigned long long*>(at);
}
}  // namespace hip_on_cuda

#define MESHMEM_HIP_SIGNED_ATOMIC(name)                                              \
  __device__ inline long long name(long long* at, long long value) {                 \
    return static_cast<long long>(                                                   \
        name(hip_on_cuda::as_unsigned(at), static_cast<unsigned long long>(value))); \
  }
__device__ inline unsigned long long atomicSub(unsigned long long* at, unsigned long long value) {
  return atomicAdd(at, 0 - value);
}
__device__ inline unsigned long long atomicSub_system(unsigned long long* at,
                                                      unsigned long long value) {
  return atomicAdd_system(at, 0 - value);
}
MESHMEM_HIP_SIGNED_ATOMIC(atomicAdd)
MESHMEM_HIP_SIGNED_ATOMIC(atomicAdd_system)
MESHMEM_HIP_SIGNED_ATOMIC(atomicSub)
MESHMEM_HIP_SIGNED_ATOMIC(atomicSub_system)
MESHMEM_HIP_SIGNED_ATOMIC(atomicExch)
MESHMEM_HIP_SIGNED_ATOMIC(atomicExch_system)
#undef MESHMEM_HIP_SIGNED_ATOMIC
__device__ inline long long atomicCAS(long long* at, long long expected, long long desired) {
  return static_cast<long long>(atomicCAS(hip_on_cuda::as_unsigned(at),
                                          static_cast<unsigned long long>(expected),
                                          static_cast<unsigned long long>(desired)));
}
__device__ inline long long atomicCAS_system(long long* at, long long expected, long long desired) {
  return static_cast<long long>(atomicCAS_system(hip_on_cuda::as_unsigned(at),
                                                 static_cast<unsigned long long>(expected),
                                                 static_cast<unsigned long long>(desired)));
}

#endif  // MESHMEM_HIP_ON_CUDA_HIP_RUNTIME_H_
