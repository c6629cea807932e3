// SPDX-License-Identifier: Apache-2.0
//
// Frames for the pieces of programs that the documents show. documents.py puts the pieces in place
// of the comments @declarations and @statements, and runs the program with two PEs.
// Invariant: a frame begins with the document that the piece is in and words that it holds. A
// program ends with 0 only if the piece did what the page says.

//// docs/experts.md: moe::plan
#include <hip/hip_runtime.h>

#include <meshmem/moe.hpp>
#include <vector>

namespace moe = meshmem::moe;
// @declarations
int main() {
  shmem_init();
  const int n = 2, hidden = 32;
  shmemx_moe_shape_t shape = {};
  shape.type = SHMEMX_MOE_FLOAT;
  shape.hidden = hidden;
  shape.top_k = 1;
  shape.experts = 2;
  shape.max_tokens = n;
  shmemx_moe_t moe_of_world;
  if (shmemx_moe_create(SHMEM_TEAM_WORLD, &shape, &moe_of_world) != 0) return 1;
  shmemx_moe_view_t view;
  shmemx_moe_view(moe_of_world, &view);
  const std::vector<int> chosen = {1, 0};
  const std::vector<float> halves(n, 0.5f);
  std::vector<float> numbers(n * hidden), found(n * hidden);
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i);
  int* indices;
  float *weights, *tokens, *sums;
  if (hipMalloc(&indices, n * sizeof(int)) != hipSuccess ||
      hipMalloc(&weights, n * sizeof(float)) != hipSuccess ||
      hipMalloc(&tokens, n * hidden * sizeof(float)) != hipSuccess ||
      hipMalloc(&sums, n * hidden * sizeof(float)) != hipSuccess ||
      hipMemcpy(indices, chosen.data(), n * sizeof(int), hipMemcpyHostToDevice) != hipSuccess ||
      hipMemcpy(weights, halves.data(), n * sizeof(float), hipMemcpyHostToDevice) != hipSuccess ||
      hipMemcpy(tokens, numbers.data(), n * hidden * sizeof(float), hipMemcpyHostToDevice) !=
          hipSuccess)
    return 1;
  // @statements
  hipLaunchKernelGGL(layer, dim3(1), dim3(64), 0, 0, view, indices, weights, tokens, n, sums);
  if (hipMemcpy(found.data(), sums, n * hidden * sizeof(float), hipMemcpyDeviceToHost) !=
          hipSuccess ||
      found != numbers)
    return 1;
  shmemx_moe_destroy(moe_of_world);
  shmem_finalize();
  return 0;
}

//// docs/gpu.md: shmemx_float_sum_reduce_grid
#include <hip/hip_runtime.h>
#include <shmemx.h>

#include <vector>

// @declarations
int main() {
  shmem_init();
  size_t n = 5000;
  float* sum =
      static_cast<float*>(shmem_malloc_with_hints(n * sizeof(float), SHMEMX_MALLOC_DEVICE));
  float* mine =
      static_cast<float*>(shmem_malloc_with_hints(n * sizeof(float), SHMEMX_MALLOC_DEVICE));
  hipStream_t stream;
  if (hipStreamCreate(&stream) != hipSuccess) return 1;
  // @statements
  std::vector<float> found(n);
  if (hipStreamSynchronize(stream) != hipSuccess) return 1;
  if (hipMemcpy(found.data(), sum, n * sizeof(float), hipMemcpyDeviceToHost) != hipSuccess)
    return 1;
  for (size_t i = 0; i < n; ++i)
    if (found[i] != static_cast<float>(i) * static_cast<float>(shmem_n_pes())) return 1;
  shmem_finalize();
  return 0;
}

//// docs/gpu.md: shmemx_team_take_any_memory
#include <hip/hip_runtime.h>
#include <shmemx.h>

#include <vector>

int main() {
  shmem_init();
  const size_t n = 5000;
  std::vector<float> numbers(n);
  for (size_t i = 0; i < n; ++i) numbers[i] = static_cast<float>(i);
  const float* const values = numbers.data();
  const shmem_team_t team = SHMEM_TEAM_WORLD;
  hipStream_t stream;
  if (hipStreamCreate(&stream) != hipSuccess) return 1;
  // @statements
  std::vector<float> found(n);
  if (hipStreamSynchronize(stream) != hipSuccess) return 1;
  if (hipMemcpy(found.data(), data, n * sizeof(float), hipMemcpyDeviceToHost) != hipSuccess)
    return 1;
  for (size_t i = 0; i < n; ++i)
    if (found[i] != numbers[i] * static_cast<float>(shmem_n_pes())) return 1;
  shmem_finalize();
  return 0;
}

//// docs/gpu.md: shmemx_put_packets_block
#include <hip/hip_runtime.h>
#include <shmemx.h>

__global__ void talk(void* packets, char* question, char* reply, char* answer, size_t n) {
  const int me = shmem_my_pe();
  for (size_t i = threadIdx.x; i < n; i += blockDim.x) {
    question[i] = 'q';
    reply[i] = 'r';
  }
  for (uint32_t tag = 1; tag <= 20; ++tag) {
    __syncthreads();
    // @statements
  }
}

int main() {
  shmem_init();
  const size_t n = 100;
  auto* words = static_cast<char*>(shmem_malloc_with_hints(3 * n, SHMEMX_MALLOC_DEVICE));
  void* packets = shmem_malloc_with_hints(SHMEMX_PACKETS_SIZE(n), SHMEMX_MALLOC_DEVICE);
  if (hipMemset(packets, 0, SHMEMX_PACKETS_SIZE(n)) != hipSuccess) return 1;
  if (hipDeviceSynchronize() != hipSuccess) return 1;
  shmem_barrier_all();
  hipLaunchKernelGGL(talk, dim3(1), dim3(64), 0, 0, packets, words, words + n, words + 2 * n, n);
  char answer[n];
  if (hipMemcpy(answer, words + 2 * n, n, hipMemcpyDeviceToHost) != hipSuccess) return 1;
  for (char letter : answer)
    if (letter != (shmem_my_pe() == 0 ? 'r' : 'q')) return 1;
  shmem_barrier_all();
  shmem_finalize();
  return 0;
}

//// docs/gpu.md: hipStreamBeginCapture
#include <hip/hip_runtime.h>
#include <shmemx.h>

constexpr size_t kN = 200;

__global__ void gradient(float* mine, size_t n) {
  for (size_t i = threadIdx.x; i < n; i += blockDim.x) mine[i] = shmem_my_pe() + 1;
}
__global__ void step(float* model, const float* sum, size_t n) {
  for (size_t i = threadIdx.x; i < n; i += blockDim.x) model[i] += sum[i];
}

float* zeros() {
  void* memory = shmem_malloc_with_hints(kN * sizeof(float), SHMEMX_MALLOC_DEVICE);
  if (hipMemset(memory, 0, kN * sizeof(float)) != hipSuccess) shmem_global_exit(1);
  return static_cast<float*>(memory);
}

int main() {
  shmem_init();
  float *mine = zeros(), *sum = zeros(), *model = zeros();
  hipStream_t stream;
  hipGraph_t graph;
  hipGraphExec_t steps;
  if (hipStreamCreate(&stream) != hipSuccess) return 1;
  // @statements
  float found[kN];
  if (hipStreamSynchronize(stream) != hipSuccess) return 1;
  if (hipMemcpy(found, model, sizeof found, hipMemcpyDeviceToHost) != hipSuccess) return 1;
  const int n = shmem_n_pes();
  for (float value : found)
    if (value != static_cast<float>(100 * (n * (n + 1) / 2))) return 1;
  shmem_finalize();
  return 0;
}

//// docs/fused_collectives.md: meshmem::AllReduceNorm
// @declarations
#include <hip/hip_runtime.h>
#include <shmemx.h>
#include <stdio.h>

#include <vector>

int main() {
  shmem_init();
  const size_t rows = 3, hidden = 64, count = rows * hidden;
  const std::vector<unsigned short> ones(count, 0x3f80);  // of bfloat16
  std::vector<unsigned short> found(count);
  unsigned short *x, *residual, *weight, *y, *new_residual;
  const size_t bytes = count * sizeof ones[0];
  for (unsigned short** array : {&x, &residual, &weight, &y, &new_residual}) {
    if (hipMalloc(array, bytes) != hipSuccess) return 1;
    if (hipMemcpy(*array, ones.data(), bytes, hipMemcpyHostToDevice) != hipSuccess) return 1;
  }
  hipStream_t stream;
  if (hipStreamCreate(&stream) != hipSuccess) return 1;
  {
    // @statements
    if (!done) return 1;
    if (hipStreamSynchronize(stream) != hipSuccess) return 1;
  }
  if (hipMemcpy(found.data(), y, bytes, hipMemcpyDeviceToHost) != hipSuccess || found != ones)
    return 1;
  shmem_finalize();
  return 0;
}

//// docs/fused_collectives.md: meshmem::Quantized
// @declarations
#include <hip/hip_runtime.h>
#include <shmemx.h>
#include <stdio.h>

#include <vector>

int main() {
  shmem_init();
  const size_t count = 3000;
  const std::vector<unsigned short> ones(count, 0x3f80), twos(count, 0x4000);  // of bfloat16
  std::vector<unsigned short> found(count);
  unsigned short* gradients;
  const size_t bytes = count * sizeof ones[0];
  if (hipMalloc(&gradients, bytes) != hipSuccess) return 1;
  if (hipMemcpy(gradients, ones.data(), bytes, hipMemcpyHostToDevice) != hipSuccess) return 1;
  hipStream_t stream;
  if (hipStreamCreate(&stream) != hipSuccess) return 1;
  {
    // @statements
    if (!done) return 1;
    if (hipStreamSynchronize(stream) != hipSuccess) return 1;
  }
  if (hipMemcpy(found.data(), gradients, bytes, hipMemcpyDeviceToHost) != hipSuccess) return 1;
  if (found != twos) return 1;
  shmem_finalize();
  return 0;
}

//// docs/fused_collectives.md: meshmem::ReduceScatterTiles
#include <hip/hip_runtime.h>
#include <stdio.h>

#include <meshmem/overlap.hpp>
#include <vector>

struct Product {
  float* partial;
  size_t columns;
};
__device__ void multiply(const Product& product, meshmem::Rows rows) {
  const size_t first = rows.first * product.columns, count = rows.count * product.columns;
  for (size_t i = first + threadIdx.x; i < first + count; i += blockDim.x)
    product.partial[i] = static_cast<float>(i);
}
// @declarations
int main() {
  shmem_init();
  const size_t rows = 10, columns = 12, bytes = rows * columns * sizeof(float);
  const unsigned blocks = 3;
  float *partial, *result;
  if (hipMalloc(&partial, bytes) != hipSuccess || hipMalloc(&result, bytes / 2) != hipSuccess)
    return 1;
  hipStream_t stream;
  if (hipStreamCreate(&stream) != hipSuccess) return 1;
  const Product product{partial, columns};
  {
    // @statements
    if (!begun) return 1;
    if (hipStreamSynchronize(stream) != hipSuccess) return 1;
  }
  std::vector<float> found(rows * columns / 2);
  if (hipMemcpy(found.data(), result, bytes / 2, hipMemcpyDeviceToHost) != hipSuccess) return 1;
  const size_t first = static_cast<size_t>(shmem_my_pe()) * found.size();
  for (size_t i = 0; i < found.size(); ++i)
    if (found[i] != 2 * static_cast<float>(first + i)) return 1;
  shmem_finalize();
  return 0;
}

//// docs/fused_collectives.md: meshmem::AllGatherTiles
#include <hip/hip_runtime.h>

#include <meshmem/overlap.hpp>
#include <vector>

struct Product {
  const float* a;
  float* c;
  size_t columns;
};
__device__ void multiply(const Product& product, meshmem::Rows rows) {
  const size_t first = rows.first * product.columns, count = rows.count * product.columns;
  for (size_t i = first + threadIdx.x; i < first + count; i += blockDim.x)
    product.c[i] = 2 * product.a[i];
}
// @declarations
int main() {
  shmem_init();
  const size_t rows = 10, columns = 12, count = rows * columns;
  std::vector<float> brought(count / 2), found(count);
  const size_t first = static_cast<size_t>(shmem_my_pe()) * brought.size();
  for (size_t i = 0; i < brought.size(); ++i) brought[i] = static_cast<float>(first + i);
  float *mine, *c;
  const size_t bytes = count * sizeof(float);
  if (hipMalloc(&mine, bytes / 2) != hipSuccess || hipMalloc(&c, bytes) != hipSuccess) return 1;
  if (hipMemcpy(mine, brought.data(), bytes / 2, hipMemcpyHostToDevice) != hipSuccess) return 1;
  {
    meshmem::Overlap overlap(SHMEM_TEAM_WORLD, bytes);
    meshmem::AllGatherTiles<float> tiles{};
    if (!overlap.all_gather<float>(mine, {rows, columns}, nullptr, &tiles)) return 1;
    hipLaunchKernelGGL(gather_and_product, dim3(tiles.kBlocks + 3), dim3(64), 0, 0, tiles,
                       Product{tiles.gathered(), c, columns});
    if (hipDeviceSynchronize() != hipSuccess) return 1;
  }
  if (hipMemcpy(found.data(), c, bytes, hipMemcpyDeviceToHost) != hipSuccess) return 1;
  for (size_t i = 0; i < count; ++i)
    if (found[i] != 2 * static_cast<float>(i)) return 1;
  shmem_finalize();
  return 0;
}

//// docs/gpu.md: meshmem::AllReduce
// @declarations
#include <hip/hip_runtime.h>
#include <shmemx.h>
#include <stdio.h>

#include <vector>

int main() {
  shmem_init();
  const size_t count = 3000;
  const std::vector<unsigned short> ones(count, 0x3f80);  // of bfloat16
  std::vector<unsigned short> found(count);
  void *send, *recv;
  const size_t bytes = count * sizeof ones[0];
  if (hipMalloc(&send, bytes) != hipSuccess || hipMalloc(&recv, bytes) != hipSuccess) return 1;
  if (hipMemcpy(send, ones.data(), bytes, hipMemcpyHostToDevice) != hipSuccess) return 1;
  hipStream_t stream;
  if (hipStreamCreate(&stream) != hipSuccess) return 1;
  {
    // @statements
    if (!done) return 1;
    if (hipStreamSynchronize(stream) != hipSuccess) return 1;
  }
  if (hipMemcpy(found.data(), recv, bytes, hipMemcpyDeviceToHost) != hipSuccess || found != ones)
    return 1;
  shmem_finalize();
  return 0;
}

//// docs/memory_model.md: shmemx_fence_block
#include <hip/hip_runtime.h>
#include <shmemx.h>

constexpr size_t kN = 500;

__global__ void send(float* dest, float* source, uint64_t* sig) {
  const size_t n = kN;
  const int pe = (shmem_my_pe() + 1) % shmem_n_pes();
  for (size_t i = threadIdx.x; i < n; i += blockDim.x) source[i] = 7;
  __syncthreads();
  // @statements
}
__global__ void receive(float* dest, uint64_t* sig, int* wrong) {
  shmemx_signal_wait_until_block(sig, SHMEM_CMP_EQ, 1);
  for (size_t i = threadIdx.x; i < kN; i += blockDim.x)
    if (dest[i] != 7) *wrong = 1;
}

void* zeros(size_t bytes) {
  void* memory = shmem_malloc_with_hints(bytes, SHMEMX_MALLOC_DEVICE);
  if (hipMemset(memory, 0, bytes) != hipSuccess) shmem_global_exit(1);
  return memory;
}

int main() {
  shmem_init();
  auto* dest = static_cast<float*>(zeros(kN * sizeof(float)));
  auto* source = static_cast<float*>(zeros(kN * sizeof(float)));
  auto* sig = static_cast<uint64_t*>(zeros(sizeof(uint64_t)));
  auto* wrong = static_cast<int*>(zeros(sizeof(int)));
  shmem_barrier_all();
  hipLaunchKernelGGL(send, dim3(1), dim3(64), 0, 0, dest, source, sig);
  hipLaunchKernelGGL(receive, dim3(1), dim3(64), 0, 0, dest, sig, wrong);
  int result = 1;
  if (hipMemcpy(&result, wrong, sizeof result, hipMemcpyDeviceToHost) != hipSuccess) return 1;
  shmem_barrier_all();
  shmem_finalize();
  return result;
}
