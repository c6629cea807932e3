// SPDX-License-Identifier: Apache-2.0
//
// Every template and macro of hip_on_cuda once, since a compiler looks into those only where they
// are used. Compiled by nvcc of each CUDA that is there (cuda_toolkits.sh), and never run.
#include <hip/hip_cooperative_groups.h>
#include <hip/hip_runtime.h>

#if !defined(hipDeviceMallocUncached) || !defined(HIP_VERSION)
#error "programs ask for them with #ifdef and #if"
#endif
static_assert(HIP_VERSION >= 60000000 && HIP_VERSION_MAJOR == HIP_VERSION / 10000000);

__constant__ int constants[4];
__device__ long long variable;

template <typename T>
__global__ void exchange(T* to) {
  HIP_DYNAMIC_SHARED(int, words)
  words[hipThreadIdx_x] = 1;
  words[hipThreadIdx_y + hipBlockDim_y * hipThreadIdx_z] = hipBlockDim_x + hipBlockDim_z;
  words[hipBlockIdx_x + hipBlockIdx_y + hipBlockIdx_z] = hipGridDim_x + hipGridDim_y + hipGridDim_z;
  __syncthreads();
  const T value =
      __shfl(to[0], 0) + __shfl_xor(to[0], 1) + __shfl_up(to[0], 1, 16) + __shfl_down(to[0], 1);
  if (__any(value > 0) && __all(value > 0)) to[1] = static_cast<T>(__ballot(value > 1)) + words[0];
}

__global__ void exchange(long* to, int value) {
  const auto block = cooperative_groups::this_thread_block();
  const auto tile = cooperative_groups::tiled_partition<8>(block);
  cooperative_groups::this_grid().sync();
  *to = tile.shfl_down(value, 1) + block.thread_rank();
}

__global__ void count(long long* to, unsigned long long* up) {
  atomicAdd(to, 1ll);
  atomicAdd_system(to, 1ll);
  atomicSub(to, 1ll);
  atomicSub_system(to, 1ll);
  atomicSub(up, 1ull);
  atomicSub_system(up, 1ull);
  atomicExch(to, 1ll);
  atomicExch_system(to, 1ll);
  atomicCAS(to, 1ll, 2ll);
  atomicCAS_system(to, 1ll, 2ll);
  *to = wall_clock64() + clock64() + constants[0] + variable;
}

hipError_t launch(hipStream_t stream) {
  long long* to = nullptr;
  unsigned long long* up = nullptr;
  int* host = nullptr;
  void *arguments[] = {&to}, *place = nullptr;
  int values[4] = {}, blocks = 0;
  hipFuncAttributes attributes;
  hipLaunchKernelGGL(HIP_KERNEL_NAME(exchange<int>), dim3(1), dim3(32), 128, stream, values);
  hipLaunchKernelGGL((exchange<int>), 1, 32, 128, stream, values);
  hipLaunchKernelGGL(exchange, 1, 32, 128, stream, values);  // deduced
  hipLaunchKernelGGL(exchange, 1, 1, 0, 0, static_cast<long*>(nullptr), 1);
  hipLaunchKernelGGL(count, 1, 1, 0, 0, to, up);
  const hipError_t errors[] = {
      hipMalloc(&to, 8),
      hipHostMalloc(&host, 8, hipHostMallocPortable),
      hipMallocManaged(&host, 8),
      hipMallocAsync(&host, 8, stream),
      hipMemcpyToSymbol(HIP_SYMBOL(constants), values, sizeof(values)),
      hipMemcpyFromSymbol(values, HIP_SYMBOL(constants), sizeof(values)),
      hipGetSymbolAddress(&place, HIP_SYMBOL(variable)),
      hipLaunchCooperativeKernel(exchange<double>, dim3(1), dim3(1), arguments, 0, stream),
      hipLaunchKernel(reinterpret_cast<const void*>(&exchange<long long>), dim3(1), dim3(1),
                      arguments, 0, stream),
      hipFuncSetAttribute(exchange<float>, hipFuncAttributeMaxDynamicSharedMemorySize, 1024),
      hipFuncGetAttributes(&attributes, reinterpret_cast<const void*>(&count)),
      hipOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, count, 64, 0),
  };
  for (const hipError_t error : errors)
    if (error != hipSuccess) return error;
  return hipGetLastError();
}
