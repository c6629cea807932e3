// SPDX-License-Identifier: Apache-2.0
// Declares shared memory whose size the launch gives, as CUDA programs do. Some variables have the
// names of kernels' indices. cuda_syntax.sh compiles and runs it.
#include <memory>

#include "pe_program.hpp"

// The host's, which is initialized together with the reference that the next line becomes.
thread_local auto of_the_host = std::make_unique<int>(7);
extern __shared__ int of_the_file[];
namespace {
extern __shared__ __attribute__((aligned(16))) unsigned char bytes_of_the_file[];
}

// The value of the opposite thread in the block.
__global__ void reverse(int* to) {
  extern __shared__ int values[];
  values[threadIdx.x] = static_cast<int>(threadIdx.x);
  __syncthreads();
  const auto opposite = [=](unsigned thread) { return values[blockDim.x - 1 - thread]; };
  to[blockIdx.x * blockDim.x + threadIdx.x] = opposite(threadIdx.x);
}

template <typename T>
__global__ void reverse_rows(int* to) {
  extern __shared__ __attribute__((aligned(16))) unsigned char memory[];
  T* const values = reinterpret_cast<T*>(memory);
  volatile extern __shared__ T rows[][4];
  values[threadIdx.x] = static_cast<T>(threadIdx.x);
  __syncthreads();
  to[threadIdx.x] = static_cast<int>(rows[threadIdx.x / 4][3 - threadIdx.x % 4]);
}

__device__ int opposite() { return of_the_file[blockDim.x - 1 - threadIdx.x]; }
__global__ void reverse_by_function(int* to) {
  of_the_file[threadIdx.x] = 3 * static_cast<int>(threadIdx.x);
  __syncthreads();
  if (static_cast<void*>(of_the_file) == static_cast<void*>(bytes_of_the_file))
    to[blockIdx.x * blockDim.x + threadIdx.x] = opposite();
}

int main() {
  if (*of_the_host != 7) return 1;
  Program program;
  const dim3 gridDim(2), blockDim(32);
  const unsigned threadIdx = 5, blockIdx = 1;
  const std::size_t bytes = blockDim.x * sizeof(int);
  const int place = static_cast<int>(blockIdx * blockDim.x + threadIdx);

  reverse<<<gridDim, blockDim, bytes>>>(program.values());
  program.expect("an array", place, 26);
  reverse_rows<short><<<1, blockDim, bytes>>>(program.values());
  program.expect("an array of rows", 5, 6);
  for (int round = 0; round < 3; ++round)
    reverse_by_function<<<gridDim, blockDim, bytes>>>(program.values());
  program.expect("an array of the file", place, 78);
  return program.end();
}
