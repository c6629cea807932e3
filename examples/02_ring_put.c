// SPDX-License-Identifier: Apache-2.0
//
// Put: every PE writes into the memory of its right-hand neighbour, and the last one into PE 0's.
// Run it:
//   oshcc 02_ring_put.c -o ring && oshrun -n 4 ./ring
//
// A variable that another PE may write to must be symmetric: it exists on every PE at an address
// that all can name. Global and static variables are, and so is what shmem_malloc returns.

#include <shmem.h>
#include <stdio.h>

enum { kNumbers = 3 };

static long inbox[kNumbers];  // symmetric, as it is static

int main(void) {
  shmem_init();
  int me = shmem_my_pe();
  int n = shmem_n_pes();
  int right = (me + 1) % n;
  int left = (me + n - 1) % n;

  // The source of a put may be any memory. "inbox" names the inbox of PE `right`, not ours.
  long letter[kNumbers] = {10L * me + 1, 10L * me + 2, 10L * me + 3};
  shmem_long_put(inbox, letter, kNumbers, right);

  // A put may return before its data has arrived, and does not tell the target PE. After the
  // barrier all puts are complete, and all PEs know it.
  shmem_barrier_all();

  printf("PE %d of %d: PE %d sent me %ld %ld %ld\n", me, n, left, inbox[0], inbox[1], inbox[2]);

  int arrived = inbox[0] == 10L * left + 1 && inbox[2] == 10L * left + 3;
  shmem_finalize();
  return arrived ? 0 : 1;
}
