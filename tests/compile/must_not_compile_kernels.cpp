// SPDX-License-Identifier: Apache-2.0
//
// Features that HIP on CPUs lacks, or has in another form: the compiler refuses them, and never
// ignores them.
// must_not_compile.py compiles this file once a case, as C++17, and looks for the message that the
// line above the case gives as
//     case NAME | message   (a regular expression; none: it compiles)
// Each case that is refused differs from a line of the case `control` in the misuse alone.
#include <hip/hip_cooperative_groups.h>
#include <hip/hip_runtime.h>

__global__ void store(int* to, int value) { *to = value; }
__constant__ int constants[4];

// case control
#ifdef case_control
__device__ int variable;
__managed__ int everywhere;
__global__ void work(int* to) {
  __shared__ int fixed[32];
  HIP_DYNAMIC_SHARED(int, sized)
  fixed[threadIdx.x] = sized[threadIdx.x] = __shfl(constants[0], 1);
  __syncwarp();
  __syncwarp(~0ull);
  fixed[0] += __shfl_sync(~0ull, 1, 0);
  cooperative_groups::tiled_partition<16>(cooperative_groups::this_thread_block()).sync();
  cooperative_groups::this_grid().sync();
  if (__ballot(1)) atomicAdd(to, fixed[0] + variable + everywhere);
  __syncthreads();
}
void control(int* memory, hipStream_t stream) {
  hipLaunchKernelGGL(store, dim3(1), dim3(1), 0, stream, memory, 1);
  hipLaunchKernelGGL(work, dim3(1), dim3(1), 16, nullptr, memory);
  int value = 1;
  void* arguments[] = {&memory, &value};
  (void)hipLaunchKernel(store, dim3(1), dim3(1), arguments, 0, stream);
  (void)hipMalloc(&memory, 8);
  (void)hipHostMalloc(&memory, 8, hipHostMallocMapped);
  (void)hipMemcpyToSymbol(HIP_SYMBOL(constants), &value, sizeof(value));
}
#endif

// A C++ compiler accepts neither of these; meshmem-launches rewrites both.
// case chevrons | expected
#ifdef case_chevrons
void launch(int* memory) { store<<<1, 1>>>(memory, 1); }
#endif

// case extern_shared | conflicting specifiers|cannot combine with previous
#ifdef case_extern_shared
__global__ void work() { extern __shared__ int sized[]; }
#endif

// case texture | does not name a type|no template named
#ifdef case_texture
texture<float, 2> image;
#endif

// case texture_object | hipTextureObject_t
#ifdef case_texture_object
__global__ void work(hipTextureObject_t image) { (void)image; }
#endif

// case groups_of_several_devices | this_multi_grid
#ifdef case_groups_of_several_devices
__global__ void work() { cooperative_groups::this_multi_grid().sync(); }
#endif

// case tile_larger_than_a_wave | at most that of a wave
#ifdef case_tile_larger_than_a_wave
__global__ void work() {
  cooperative_groups::tiled_partition<128>(cooperative_groups::this_thread_block()).sync();
}
#endif

// case mask_without_each_lane | has no bit for each lane
#ifdef case_mask_without_each_lane
__global__ void work(int* to) { *to = __shfl_sync(static_cast<short>(-1), 1, 0); }
#endif

// case wide_shuffle | moves up to 8 bytes
#ifdef case_wide_shuffle
__global__ void work(long double* to) { *to = __shfl(*to, 0); }
#endif

// case atomic_on_a_short | no matching function
#ifdef case_atomic_on_a_short
__global__ void work(short* to) { atomicAdd(to, 1); }
#endif

// case atomic_min_of_reals | no matching function
#ifdef case_atomic_min_of_reals
__global__ void work(float* to) { atomicMin(to, 1.0f); }
#endif

// case atomic_increment_of_64_bits | atomicInc
#ifdef case_atomic_increment_of_64_bits
__global__ void work(unsigned long long* to) { atomicInc(to, 7); }
#endif

// case argument_is_missing | takes another number of arguments
#ifdef case_argument_is_missing
void launch(int* memory) { hipLaunchKernelGGL(store, dim3(1), dim3(1), 0, nullptr, memory); }
#endif

// case argument_of_another_type | no match
#ifdef case_argument_of_another_type
void launch(long* memory) { hipLaunchKernelGGL(store, dim3(1), dim3(1), 0, nullptr, memory, 1); }
#endif

// case host_callback | hipStreamAddCallback
#ifdef case_host_callback
void add(hipStream_t stream) { (void)hipStreamAddCallback(stream, nullptr, nullptr, 0); }
#endif

// case stream_of_a_thread | hipStreamPerThread
#ifdef case_stream_of_a_thread
void wait() { (void)hipStreamSynchronize(hipStreamPerThread); }
#endif

// case pool_of_memory | hipMemPool_t
#ifdef case_pool_of_memory
void take(hipMemPool_t* pool) { (void)hipDeviceGetDefaultMemPool(pool, 0); }
#endif

// case placed_host_memory | hipHostMallocNumaUser
#ifdef case_placed_host_memory
void take(int** memory) { (void)hipHostMalloc(memory, 8, hipHostMallocNumaUser); }
#endif

// case event_between_processes | hipIpcEventHandle_t
#ifdef case_event_between_processes
void share(hipIpcEventHandle_t* handle, hipEvent_t event) {
  (void)hipIpcGetEventHandle(handle, event);
}
#endif

// case graph_of_kernels_by_hand | hipKernelNodeParams
#ifdef case_graph_of_kernels_by_hand
hipKernelNodeParams parameters;
#endif

// case module_by_name | hipModule_t
#ifdef case_module_by_name
void load(hipModule_t* module) { (void)hipModuleLoad(module, "kernels.co"); }
#endif
