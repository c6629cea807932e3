// SPDX-License-Identifier: Apache-2.0
//
// Typical kernels that put and get in blocks of 1,024 threads, where each thread has 64 registers:
// a loop, a meeting of all blocks by counters, a quiet. ptx.py compiles and never runs them.
// Invariant: kernels named planted_ need more than 64 registers.
#include <hip/hip_runtime.h>
#include <shmem.h>
#include <shmemx.h>

namespace {

__device__ void meet(volatile unsigned* counters, unsigned round) {
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    if (atomicAdd(const_cast<unsigned*>(counters), 1u) == gridDim.x * round - 1) counters[1] += 1;
    while (counters[1] != round) {
    }
  }
  __syncthreads();
}

template <typename Move>
__device__ void move_in_rounds(volatile unsigned* counters, size_t n, int rounds,
                               const Move& move) {
  const size_t mine = n / gridDim.x;
  for (int round = 0; round < rounds; ++round) {
    move(blockIdx.x * mine, mine);
    meet(counters, static_cast<unsigned>(round) + 1);
  }
  if (threadIdx.x == 0) shmem_quiet();
  meet(counters, static_cast<unsigned>(rounds) + 1);
}

}  // namespace

extern "C" __global__ void put_by_blocks(double* data, volatile unsigned* counters, size_t n,
                                         int pe, int rounds) {
  move_in_rounds(counters, n, rounds, [=](size_t at, size_t mine) {
    shmemx_double_put_nbi_block(data + at, data + at, mine, pe);
  });
}
extern "C" __global__ void put_by_waves(double* data, volatile unsigned* counters, size_t n, int pe,
                                        int rounds) {
  move_in_rounds(counters, n, rounds, [=](size_t at, size_t mine) {
    const size_t share = mine / (blockDim.x / warpSize);
    const size_t first = at + threadIdx.x / warpSize * share;
    shmemx_double_put_nbi_wave(data + first, data + first, share, pe);
  });
}
extern "C" __global__ void put_by_threads(double* data, volatile unsigned* counters, size_t n,
                                          int pe, int rounds) {
  move_in_rounds(counters, n, rounds, [=](size_t at, size_t mine) {
    const size_t share = mine / blockDim.x, first = at + threadIdx.x * share;
    shmem_double_put_nbi(data + first, data + first, share, pe);
  });
}
extern "C" __global__ void get_by_blocks(double* data, volatile unsigned* counters, size_t n,
                                         int pe, int rounds) {
  move_in_rounds(counters, n, rounds, [=](size_t at, size_t mine) {
    shmemx_double_get_nbi_block(data + at, data + at, mine, pe);
  });
}

extern "C" __global__ void planted_put(double* data, const double* source, int pe) {
  double kept[40];
#pragma unroll
  for (int i = 0; i < 40; ++i) kept[i] = source[i * blockDim.x + threadIdx.x];
  shmemx_double_put_block(data, source, 1024, pe);
#pragma unroll
  for (int i = 0; i < 40; ++i) data[i * blockDim.x + threadIdx.x] = kept[i];
}
