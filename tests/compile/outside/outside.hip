// SPDX-License-Identifier: Apache-2.0
//
// A program with a kernel that uses an installed meshmem: the kernel puts to the next PE and waits
// for the put of the PE before. install.sh runs it where the library is for the cpu target.
#include <hip/hip_runtime.h>
#include <shmem.h>
#include <shmemx.h>

#include <cstdio>

__global__ void pass_on(long* from_left, uint64_t* arrived) {
  const int me = shmem_my_pe(), n = shmem_n_pes();
  const long mine = 100 + me;
  shmem_put_signal(from_left, &mine, 1, arrived, 1, SHMEM_SIGNAL_SET, (me + 1) % n);
  shmem_signal_wait_until(arrived, SHMEM_CMP_EQ, 1);
}

int main() {
  shmem_init();
  const int me = shmem_my_pe(), n = shmem_n_pes();
  auto* from_left = static_cast<long*>(shmem_malloc_with_hints(sizeof(long), SHMEMX_MALLOC_DEVICE));
  auto* arrived = static_cast<uint64_t*>(
      shmem_malloc_with_hints(sizeof(uint64_t), SHMEMX_MALLOC_DEVICE | SHMEM_MALLOC_SIGNAL_REMOTE));
  if (!from_left || !arrived || hipMemset(arrived, 0, sizeof(uint64_t)) != hipSuccess ||
      hipDeviceSynchronize() != hipSuccess)
    shmem_global_exit(2);
  shmem_barrier_all();
  hipLaunchKernelGGL(pass_on, dim3(1), dim3(1), 0, 0, from_left, arrived);
  long found = 0;
  const bool copied = hipMemcpy(&found, from_left, sizeof found, hipMemcpyDefault) == hipSuccess;
  const bool right = copied && found == 100 + (me + n - 1) % n;
  shmem_barrier_all();
  if (me == 0 && right) std::printf("%d PEs in HIP\n", n);
  shmem_free(arrived);
  shmem_free(from_left);
  shmem_finalize();
  return right ? 0 : 1;
}
