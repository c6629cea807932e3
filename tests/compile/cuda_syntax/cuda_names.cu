// SPDX-License-Identifier: Apache-2.0
// A program with only CUDA's and NVSHMEM's names; cuda_syntax.sh compiles and runs it.
#include <cooperative_groups.h>
#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <nvml.h>
#include <nvshmem.h>
#include <nvshmemx.h>

#define CHECK(call)                                                                       \
  do {                                                                                    \
    const cudaError_t error = (call);                                                     \
    if (error != cudaSuccess) {                                                           \
      fprintf(stderr, "line %d: %s: %s\n", __LINE__, #call, cudaGetErrorString(error));   \
      exit(1);                                                                            \
    }                                                                                     \
  } while (0)
#define EXPECT(condition)                                                \
  do {                                                                   \
    if (!(condition)) {                                                  \
      fprintf(stderr, "line %d: %s is false\n", __LINE__, #condition);   \
      exit(1);                                                           \
    }                                                                    \
  } while (0)

namespace cg = cooperative_groups;

struct __align__(16) Four {
  float x[4];
};

__global__ void put_to_next(int* to, const int* from, int n) {
  const int next = (nvshmem_my_pe() + 1) % nvshmem_n_pes();
  nvshmemx_int_put_block(to, from, n, next);
  __syncthreads();
  if (threadIdx.x == 0) nvshmem_quiet();
}
__global__ void count_in_rounds(unsigned* up, unsigned* down) {
  atomicInc(up, 9);
  atomicDec(down, 9);
}
__global__ void shorten(half* to, __nv_bfloat16* too, const float* from) {
  to[threadIdx.x] = __float2half(__ldg(from + threadIdx.x));
  too[threadIdx.x] = __float2bfloat16(2 * __ldg(from + threadIdx.x));
}
__global__ void sum_of_wave(int* to) {
  const auto wave = cg::tiled_partition<32>(cg::this_thread_block());
  int sum = threadIdx.x;
  for (int lane = wave.size() / 2; lane > 0; lane /= 2) sum += __shfl_down_sync(0xffffffffu, sum, lane);
  if (threadIdx.x == 0) *to = sum;
}

void try_devices() {
  cudaDeviceProp properties;
  int value = 0, n_devices = 0;
  CHECK(cudaGetDeviceCount(&n_devices));
  CHECK(cudaSetDevice(nvshmem_team_my_pe(NVSHMEMX_TEAM_NODE) % n_devices));
  CHECK(cudaGetDeviceProperties(&properties, 0));
  CHECK(cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, 0));
  EXPECT(value == properties.multiProcessorCount);
  EXPECT(cudaRuntimeGetVersion(&value) == cudaSuccess && value == CUDART_VERSION);
  EXPECT(cuDriverGetVersion(&value) == CUDA_SUCCESS && value == CUDART_VERSION);
  cudaPointerAttributes attributes;
  CHECK(cudaPointerGetAttributes(&attributes, &value));
  EXPECT(attributes.type == cudaMemoryTypeUnregistered && attributes.hostPointer == &value);
  CHECK(cudaGetLastError());
  CUdevice device = -1;
  CUcontext context = nullptr;
  const char* text = nullptr;
  EXPECT(cuInit(0) == CUDA_SUCCESS && cuDeviceGet(&device, 0) == CUDA_SUCCESS);
  EXPECT(cuDeviceGet(&device, n_devices) == CUDA_ERROR_INVALID_DEVICE);
  EXPECT(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 0) == CUDA_SUCCESS);
  EXPECT(value == warpSize);
  EXPECT(cuCtxGetCurrent(&context) == CUDA_SUCCESS && cuCtxSetCurrent(context) == CUDA_SUCCESS);
  CUmodule module = nullptr;
  const CUresult refused = cuModuleLoad(&module, "kernels.cubin");
  EXPECT(refused == CUDA_ERROR_NOT_SUPPORTED && cuGetErrorString(refused, &text) == CUDA_SUCCESS);
  EXPECT(strcmp(text, "operation not supported") == 0);
  nvmlReturn_t (*initialize)() = nullptr;
  EXPECT(initialize == nullptr && NVML_SUCCESS == 0);
}

void try_kernels() {
  unsigned* counts = nullptr;
  float* numbers = nullptr;
  half* halves = nullptr;
  __nv_bfloat16* others = nullptr;
  int* sum = nullptr;
  CHECK(cudaMalloc(&counts, 2 * sizeof(unsigned)));
  CHECK(cudaMemset(counts, 0, 2 * sizeof(unsigned)));
  count_in_rounds<<<1, 25>>>(counts, counts + 1);
  unsigned seen[2];
  CHECK(cudaMemcpy(seen, counts, sizeof seen, cudaMemcpyDeviceToHost));
  EXPECT(seen[0] == 25 % 10 && seen[1] == 9 - 24 % 10);
  CHECK(cudaMallocManaged(&numbers, 4 * sizeof(float)));
  CHECK(cudaMallocHost((void**)&halves, 4 * sizeof(half)));
  CHECK(cudaHostAlloc((void**)&others, 4 * sizeof(half), cudaHostAllocMapped));
  for (int i = 0; i < 4; ++i) numbers[i] = 1.5f * i;
  shorten<<<1, 4>>>(halves, others, numbers);
  CHECK(cudaMalloc((void**)&sum, sizeof(int)));
  void* arguments[] = {&sum};
  CHECK(cudaLaunchKernel((const void*)sum_of_wave, dim3(1), dim3(32), arguments));
  CHECK(cudaLaunchCooperativeKernel((void*)sum_of_wave, dim3(1), dim3(32), arguments));
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaGetLastError());
  EXPECT(__half2float(halves[3]) == 4.5f && __bfloat162float(others[3]) == 9);
  int total = 0;
  CHECK(cudaMemcpy(&total, sum, sizeof total, cudaMemcpyDefault));
  EXPECT(total == 31 * 32 / 2 && sizeof(Four) == 16);
  CHECK(cudaFree(counts));
  CHECK(cudaFree(numbers));
  CHECK(cudaFree(sum));
  CHECK(cudaFreeHost(halves));
  CHECK(cudaFreeHost(others));
}

// The short floats of CUDA's headers are those that routines take.
void try_short_floats() {
  auto* const numbers = static_cast<__nv_bfloat16*>(nvshmem_calloc(2, sizeof(__nv_bfloat16)));
  EXPECT(nvshmemx_bfloat16_broadcast_on_stream(NVSHMEM_TEAM_WORLD, numbers + 1, numbers, 1, 0, 0) == 0);
  CHECK(cudaDeviceSynchronize());
  nvshmem_free(numbers);
}

void try_graphs_of_puts() {
  constexpr int kMany = 1000;
  const int before = (nvshmem_my_pe() + nvshmem_n_pes() - 1) % nvshmem_n_pes();
  int* const from = (int*)nvshmem_malloc(2 * kMany * sizeof(int));
  int* to = from + kMany;
  int host[kMany];
  for (int i = 0; i < kMany; ++i) host[i] = 1000 * nvshmem_my_pe() + i;
  CHECK(cudaMemcpy(from, host, sizeof host, cudaMemcpyHostToDevice));
  cudaStream_t stream;
  cudaEvent_t start, stop;
  cudaGraph_t graph;
  cudaGraphExec_t executable;
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  CHECK(cudaEventCreate(&start));
  CHECK(cudaEventCreateWithFlags(&stop, cudaEventDefault));
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  put_to_next<<<1, 64, 0, stream>>>(to, from, kMany);
  nvshmemx_barrier_all_on_stream(stream);
  CHECK(cudaStreamEndCapture(stream, &graph));
  CHECK(cudaGraphInstantiate(&executable, graph, 0));
  CHECK(cudaEventRecord(start, stream));
  CHECK(cudaGraphLaunch(executable, stream));
  CHECK(cudaEventRecord(stop, stream));
  CHECK(cudaEventSynchronize(stop));
  float milliseconds = -1;
  CHECK(cudaEventElapsedTime(&milliseconds, start, stop));
  EXPECT(milliseconds >= 0);
  CHECK(cudaMemcpyAsync(host, to, sizeof host, cudaMemcpyDeviceToHost, stream));
  CHECK(cudaStreamSynchronize(stream));
  for (int i = 0; i < kMany; ++i) EXPECT(host[i] == 1000 * before + i);
  int pe = nvshmem_my_pe(), n = kMany;
  void* arguments[] = {&to, (void*)&from, &n};
  EXPECT(nvshmemx_collective_launch((const void*)put_to_next, dim3(1), dim3(64), arguments, 0, stream) == 0);
  nvshmemx_barrier_all_on_stream(stream);
  CHECK(cudaStreamSynchronize(stream));
  EXPECT(pe < nvshmem_n_pes());
  CHECK(cudaGraphExecDestroy(executable));
  CHECK(cudaGraphDestroy(graph));
  CHECK(cudaEventDestroy(start));
  CHECK(cudaEventDestroy(stop));
  CHECK(cudaStreamDestroy(stream));
  nvshmem_free(from);
}

int main() {
  nvshmem_init();
  try_devices();
  try_kernels();
  try_short_floats();
  try_graphs_of_puts();
  nvshmem_finalize();
  return 0;
}
