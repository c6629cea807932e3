// SPDX-License-Identifier: Apache-2.0
//
// A C++17 program that uses an installed meshmem: a put to the next PE, and a sum over all of them.
// install.sh runs it.
#include <shmem.h>

#include <iostream>

namespace {
long from_left = -1;
long one = 1, sum = 0;
}  // namespace

int main() {
  shmem_init();
  const int me = shmem_my_pe(), n = shmem_n_pes();
  shmem_put(&from_left, &one, 1, (me + 1) % n);
  shmem_barrier_all();
  const bool right =
      shmem_sum_reduce(SHMEM_TEAM_WORLD, &sum, &one, 1) == 0 && sum == n && from_left == 1;
  if (me == 0) std::cout << sum << " PEs in C++\n";
  shmem_finalize();
  return right ? 0 : 1;
}
