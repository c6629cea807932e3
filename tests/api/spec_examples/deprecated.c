/* SPDX-License-Identifier: Apache-2.0
 *
 * The specification's examples of deprecated routines, also from earlier versions of it: active
 * sets, and atomics and waits by their old names. start_pes is in old_program.c. */
#include <shmem.h>

#include "examples.h"

enum { kWords = 6 };

static long sync_words[2][SHMEM_COLLECT_SYNC_SIZE];
static long reduce_words[SHMEM_REDUCE_SYNC_SIZE];

static void start_words(void) {
  for (int i = 0; i < SHMEM_COLLECT_SYNC_SIZE; ++i)
    sync_words[0][i] = sync_words[1][i] = SHMEM_SYNC_VALUE;
  for (int i = 0; i < SHMEM_REDUCE_SYNC_SIZE; ++i) reduce_words[i] = SHMEM_SYNC_VALUE;
  shmem_barrier_all();
}

/* Each PE with an even number puts it to the next such PE. The barrier of these PEs completes the
 * puts. */
static int barrier_of_even(void) {
  static int word;
  static long words[SHMEM_BARRIER_SYNC_SIZE];
  const int me = shmem_my_pe(), even = (shmem_n_pes() + 1) / 2;
  for (int i = 0; i < SHMEM_BARRIER_SYNC_SIZE; ++i) words[i] = SHMEM_SYNC_VALUE;
  word = -1;
  shmem_barrier_all();
  if (me % 2 == 0) {
    shmem_p(&word, me, me / 2 + 1 == even ? 0 : me + 2);
    shmem_barrier(0, 1, even, words);
  }
  return word != (me % 2 == 1 ? -1 : me == 0 ? 2 * (even - 1) : me - 2);
}

/* A broadcast does not change the root's dest. Each broadcast uses the array of sync words that the
 * one before it did not use. */
static int broadcasts_in_turn(void) {
  static long source[kWords], dest[kWords];
  const int me = shmem_my_pe(), n = shmem_n_pes();
  int wrong = 0;
  start_words();
  for (int root = 0; root < n; ++root) {
    for (int i = 0; i < kWords; ++i) source[i] = 100 * me + i, dest[i] = -1;
    shmem_barrier_all();
    shmem_broadcast64(dest, source, kWords, root, 0, 0, n, sync_words[root % 2]);
    for (int i = 0; i < kWords; ++i) wrong += dest[i] != (me == root ? -1 : 100 * root + i);
    shmem_barrier_all();
  }
  return wrong;
}

/* fcollect joins blocks of two elements each, collect blocks of me + 1 elements. */
static int collects(void) {
  const int me = shmem_my_pe(), n = shmem_n_pes();
  int *source = shmem_malloc((size_t)(n + 1) * sizeof(int)),
      *dest = shmem_malloc((size_t)(n * (n + 3)) * sizeof(int));
  int wrong = 0, at = 0;
  start_words();
  for (int i = 0; i <= n; ++i) source[i] = 1000 * me + i;
  shmem_barrier_all();
  shmem_fcollect32(dest, source, 2, 0, 0, n, sync_words[0]);
  for (int i = 0; i < 2 * n; ++i) wrong += dest[i] != 1000 * (i / 2) + i % 2;
  shmem_barrier_all();
  shmem_collect32(dest, source, (size_t)me + 1, 0, 0, n, sync_words[1]);
  for (int pe = 0; pe < n; ++pe)
    for (int i = 0; i <= pe; ++i) wrong += dest[at++] != 1000 * pe + i;
  shmem_free(dest);
  shmem_free(source);
  return wrong;
}

/* Each PE sends a block to each PE. */
static int exchange_of_blocks(void) {
  static long words[SHMEM_ALLTOALL_SYNC_SIZE];
  const int me = shmem_my_pe(), n = shmem_n_pes();
  uint32_t *source = shmem_malloc((size_t)n * 4), *dest = shmem_malloc((size_t)n * 4);
  int wrong = 0;
  for (int i = 0; i < SHMEM_ALLTOALL_SYNC_SIZE; ++i) words[i] = SHMEM_SYNC_VALUE;
  for (int pe = 0; pe < n; ++pe) source[pe] = (uint32_t)(100 * me + pe);
  shmem_barrier_all();
  shmem_alltoall32(dest, source, 1, 0, 0, n, words);
  for (int pe = 0; pe < n; ++pe) wrong += dest[pe] != (uint32_t)(100 * pe + me);
  shmem_free(dest);
  shmem_free(source);
  return wrong;
}

/* A sum and a maximum over the PEs with even numbers. The dests of the other PEs do not change. */
static int reductions_of_a_set(void) {
  enum { kWork = 2 > SHMEM_REDUCE_MIN_WRKDATA_SIZE ? 2 : SHMEM_REDUCE_MIN_WRKDATA_SIZE };
  static long source[2], sum[2], most[2], work[kWork];
  const int me = shmem_my_pe(), even = (shmem_n_pes() + 1) / 2;
  start_words();
  source[0] = me, source[1] = -me;
  for (int i = 0; i < 2; ++i) sum[i] = most[i] = -5;
  shmem_barrier_all();
  if (me % 2 == 0) {
    shmem_long_sum_to_all(sum, source, 2, 0, 1, even, work, reduce_words);
    shmem_barrier(0, 1, even, sync_words[0]);
    shmem_long_max_to_all(most, source, 2, 0, 1, even, work, reduce_words);
  }
  const long all = me % 2 == 0 ? (long)even * (even - 1) : -5,
             top = me % 2 == 0 ? 2L * (even - 1) : -5;
  return (sum[0] != all) + (sum[1] != (me % 2 == 0 ? -all : -5)) + (most[0] != top) +
         (most[1] != (me % 2 == 0 ? 0 : -5));
}

/* On PE 0 each PE adds to a count, draws a ticket, and tries to become the holder. Then it sets a
 * word of the next PE, and waits for its own to change. */
static int old_names(void) {
  static long count, drawn, holder, news;
  const int me = shmem_my_pe(), n = shmem_n_pes();
  count = drawn = news = 0;
  holder = -1;
  shmem_barrier_all();
  shmem_inc(&count, 0);
  shmem_add(&count, 10L, 0);
  const long mine = shmem_finc(&drawn, 0), after = shmem_fadd(&drawn, 0L, 0);
  int wrong = (mine < 0) + (mine >= n) + (after <= mine) + (after > n);
  const long found = shmem_cswap(&holder, -1L, (long)me, 0);
  shmem_set(&news, 7L + me, (me + 1) % n);
  shmem_long_wait(&news, 0);
  wrong += news != 7 + (me + n - 1) % n;
  wrong += shmem_swap(&news, 1L, me) != 7 + (me + n - 1) % n;
  shmem_barrier_all();
  wrong += (found == -1) != (shmem_fetch(&holder, 0) == me);
  if (me == 0) wrong += (count != 11L * n) + (drawn != n);
  return wrong;
}

const struct SpecExample deprecated_examples[] = {{"barrier_of_even", barrier_of_even},
                                                  {"broadcasts_in_turn", broadcasts_in_turn},
                                                  {"collects", collects},
                                                  {"exchange_of_blocks", exchange_of_blocks},
                                                  {"reductions_of_a_set", reductions_of_a_set},
                                                  {"old_names", old_names},
                                                  {0, 0}};
