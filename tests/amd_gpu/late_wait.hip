// SPDX-License-Identifier: Apache-2.0
//
// A kernel with checks that waits twice for the host, 4 s each time ("released"), or for ever.
// Nothing but a limit of waits in kernels ends the latter.
#include <hip/hip_runtime.h>
#include <shmem.h>
#include <shmemx.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

__global__ void wait_twice(long* flag) {
  for (long value = 1; value <= 2; ++value) shmem_long_wait_until(flag, SHMEM_CMP_EQ, value);
}

int main(int argc, char** argv) {
  shmem_init();
  auto* const flag =
      static_cast<long*>(shmem_malloc_with_hints(sizeof(long), SHMEMX_MALLOC_DEVICE));
  shmem_long_p(flag, 0, shmem_my_pe());
  shmem_barrier_all();
  hipLaunchKernelGGL(wait_twice, dim3(1), dim3(1), 0, nullptr, flag);
  for (long value = 1; argc > 1 && std::strcmp(argv[1], "released") == 0 && value <= 2; ++value) {
    sleep(4);
    shmem_long_p(flag, value, shmem_my_pe());
    shmem_quiet();
  }
  std::printf("launched\n");
  std::fflush(stdout);
  const bool succeeded = hipDeviceSynchronize() == hipSuccess;
  shmem_finalize();
  return succeeded ? 0 : 1;
}
