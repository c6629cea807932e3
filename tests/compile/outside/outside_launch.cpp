// SPDX-License-Identifier: Apache-2.0
//
// A program whose kernel is launched by another source.
#include <shmem.h>

#include <cstdio>

bool device_takes(long value);

int main() {
  shmem_init();
  const bool right = device_takes(100 + shmem_my_pe());
  shmem_barrier_all();
  if (shmem_my_pe() == 0 && right) std::printf("%d PEs by <<<>>>\n", shmem_n_pes());
  shmem_finalize();
  return right ? 0 : 1;
}
