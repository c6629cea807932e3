// SPDX-License-Identifier: Apache-2.0
//
// The same as mistakes.c, in kernels: `right`, `past_end` or `trap`. Its threads meet, so that each
// of them is a fiber. Run by test_tools.py.
#include <hip/hip_runtime.h>
#include <shmemx.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__device__ void store(long* to, long value) { *to = value; }

__global__ void tell_neighbour(long* inbox, int past) {
  __shared__ long from;
  if (threadIdx.x == 0) from = 100 + shmem_my_pe();
  __syncthreads();
  if (past >= 2) __builtin_trap();
  shmem_long_p(inbox + threadIdx.x, from, (shmem_my_pe() + 1) % shmem_n_pes());
  if (past == 1) store(inbox + blockDim.x, 1);
  __syncthreads();
}

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "right";
  constexpr unsigned kThreads = 8;
  shmem_init();
  long* inbox = (long*)shmem_malloc_with_hints(kThreads * sizeof(long), SHMEMX_MALLOC_DEVICE);
  const bool mine = shmem_my_pe() == 0;
  const int past = mine && !strcmp(what, "past_end") ? 1 : mine && !strcmp(what, "trap") ? 2 : 0;
  hipLaunchKernelGGL(tell_neighbour, dim3(2), dim3(kThreads), 0, 0, inbox, past);
  (void)hipDeviceSynchronize();
  shmem_barrier_all();
  const long wanted = 100 + (shmem_my_pe() + shmem_n_pes() - 1) % shmem_n_pes();
  if (shmem_long_g(inbox, shmem_my_pe()) != wanted) exit(3);
  shmem_free(inbox);
  shmem_finalize();
  printf("PE ended\n");
  return 0;
}
