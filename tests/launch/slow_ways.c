/* SPDX-License-Identifier: Apache-2.0
 *
 * A program that takes slow ways: each of three times, on every PE. With an argument nothing but a
 * sum in the host heap.
 */
#include <shmemx.h>

static long on_host[4];

int main(int argc, char** argv) {
  (void)argv;
  shmem_init();
  const int me = shmem_my_pe();
  long* heap = shmem_malloc(4 * sizeof(long));
  long* device = shmem_malloc_with_hints(4 * sizeof(long), SHMEMX_MALLOC_DEVICE);
  for (int i = 0; i < 3; ++i) {
    if (argc > 1) {
      shmem_long_sum_reduce(SHMEM_TEAM_WORLD, heap, heap, 4);
      continue;
    }
    shmem_long_fcollect(SHMEM_TEAM_WORLD, device, on_host, 1);
    shmem_long_p(device, 1, me);
    shmem_quiet();
    shmem_long_wait_until(device, SHMEM_CMP_EQ, 1);
    shmem_barrier_all();
  }
  shmem_finalize();
  return 0;
}
