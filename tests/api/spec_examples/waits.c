/* SPDX-License-Identifier: Apache-2.0
 *
 * Waiting for one, any, some or all of many words, and testing them. Every PE sends every PE a
 * block
 * and raises its flag there; the receivers take the blocks in whatever order they see them. */
#include <sched.h>
#include <shmem.h>
#include <stdint.h>
#include <stdlib.h>

#include "examples.h"

enum { kBlock = 50 };

struct Exchange {
  int *blocks, *flags; /* symmetric: a block and a flag for each PE */
  int* taken;          /* a status array: what need not be looked at any more */
  size_t* indices;
  long sum;
  int n;
};

static struct Exchange start_exchange(void) {
  struct Exchange all;
  const int me = shmem_my_pe();
  const size_t n = (size_t)shmem_n_pes();
  int block[kBlock];
  all.n = (int)n;
  all.sum = 0;
  all.blocks = shmem_malloc(n * kBlock * sizeof(int));
  all.flags = shmem_calloc(n, sizeof(int));
  all.taken = calloc(n, sizeof(int));
  all.indices = calloc(n, sizeof(size_t));
  for (int i = 0; i < kBlock; ++i) block[i] = me * kBlock + i;
  for (int pe = 0; pe < all.n; ++pe) shmem_put_nbi(&all.blocks[me * kBlock], block, kBlock, pe);
  shmem_fence();
  for (int pe = 0; pe < all.n; ++pe) shmem_atomic_set(&all.flags[me], 1 + me % 2, pe);
  shmem_quiet(); /* the block is this function's own */
  return all;
}

static void take(struct Exchange* all, size_t from) {
  for (int i = 0; i < kBlock; ++i) all->sum += all->blocks[from * kBlock + (size_t)i];
  ++all->taken[from];
}

/* All numbers from 0 on, each once. */
static int end_exchange(struct Exchange* all) {
  const long last = (long)all->n * kBlock - 1;
  int wrong = all->sum != last * (last + 1) / 2;
  for (int pe = 0; pe < all->n; ++pe) wrong += all->taken[pe] != 1;
  free(all->indices);
  free(all->taken);
  shmem_free(all->flags);
  shmem_free(all->blocks);
  return wrong;
}

static int wait_for_all(void) {
  struct Exchange all = start_exchange();
  shmem_wait_until_all(all.flags, (size_t)all.n, NULL, SHMEM_CMP_NE, 0);
  for (int pe = 0; pe < all.n; ++pe) take(&all, (size_t)pe);
  return end_exchange(&all);
}

static int wait_for_any(void) {
  struct Exchange all = start_exchange();
  for (int i = 0; i < all.n; ++i)
    take(&all, shmem_wait_until_any(all.flags, (size_t)all.n, all.taken, SHMEM_CMP_NE, 0));
  return end_exchange(&all);
}

static int wait_for_any_of_unlike_values(void) {
  struct Exchange all = start_exchange();
  int* expected = malloc((size_t)all.n * sizeof(int));
  for (int pe = 0; pe < all.n; ++pe) expected[pe] = 1 + pe % 2;
  for (int i = 0; i < all.n; ++i)
    take(&all,
         shmem_wait_until_any_vector(all.flags, (size_t)all.n, all.taken, SHMEM_CMP_EQ, expected));
  free(expected);
  return end_exchange(&all);
}

/* The empty set, once all are taken, ends the loop. */
static int wait_for_some(void) {
  struct Exchange all = start_exchange();
  size_t found;
  while ((found = shmem_wait_until_some(all.flags, (size_t)all.n, all.indices, all.taken,
                                        SHMEM_CMP_NE, 0)) > 0)
    for (size_t i = 0; i < found; ++i) take(&all, all.indices[i]);
  return end_exchange(&all);
}

static int test_for_any(void) {
  struct Exchange all = start_exchange();
  for (int taken = 0; taken < all.n;) {
    const size_t found = shmem_test_any(all.flags, (size_t)all.n, all.taken, SHMEM_CMP_GE, 1);
    if (found == SIZE_MAX) {
      sched_yield(); /* here a program would compute */
      continue;
    }
    take(&all, found);
    ++taken;
  }
  return end_exchange(&all);
}

static int test_for_some(void) {
  struct Exchange all = start_exchange();
  for (size_t taken = 0; taken < (size_t)all.n;) {
    const size_t found =
        shmem_test_some(all.flags, (size_t)all.n, all.indices, all.taken, SHMEM_CMP_NE, 0);
    for (size_t i = 0; i < found; ++i) take(&all, all.indices[i]);
    if (found == 0) sched_yield();
    taken += found;
  }
  return end_exchange(&all);
}

/* A wait for any made of single tests: PE 0 learns of one PE that has come. */
static int wait_by_tests(void) {
  const int me = shmem_my_pe(), n = shmem_n_pes();
  long* arrivals = shmem_calloc((size_t)n, sizeof *arrivals);
  int wrong = 0;
  shmem_atomic_set(&arrivals[me], 7L + me, 0);
  if (me == 0) {
    int who = n - 1;
    while (!shmem_test(&arrivals[who], SHMEM_CMP_NE, 0L)) {
      who = (who + 1) % n;
      sched_yield();
    }
    wrong = arrivals[who] != 7 + who;
  }
  shmem_free(arrivals);
  return wrong;
}

const struct SpecExample wait_examples[] = {
    {"wait_for_all", wait_for_all},
    {"wait_for_any", wait_for_any},
    {"wait_for_any_of_unlike_values", wait_for_any_of_unlike_values},
    {"wait_for_some", wait_for_some},
    {"test_for_any", test_for_any},
    {"test_for_some", test_for_some},
    {"wait_by_tests", wait_by_tests},
    {0, 0}};
