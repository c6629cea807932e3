// SPDX-License-Identifier: Apache-2.0
//
// A C11 program that uses an installed meshmem: a put to the next PE, and a sum over all of them.
// install.sh runs it.
#include <shmem.h>
#include <stdio.h>

static long from_left = -1;
static long one = 1, sum = 0;

int main(void) {
  shmem_init();
  int me = shmem_my_pe(), n = shmem_n_pes();
  shmem_p(&from_left, (long)me, (me + 1) % n);
  shmem_barrier_all();
  int right = shmem_sum_reduce(SHMEM_TEAM_WORLD, &sum, &one, 1) == 0 && sum == n &&
              from_left == (me + n - 1) % n;
  if (me == 0) printf("%ld PEs in C\n", sum);
  shmem_finalize();
  return !right;
}
