/* SPDX-License-Identifier: Apache-2.0
 *
 * Collectives of the world, and of teams in turn. */
#include <shmem.h>
#include <stdlib.h>

#include "examples.h"

/* A PE that passes a token on sees, after the barrier, the one it was passed. */
static int barrier_after_puts(void) {
  static int token;
  const int me = shmem_my_pe(), n = shmem_n_pes();
  token = -1;
  shmem_barrier_all();
  shmem_p(&token, 10 * me, (me + 1) % n);
  shmem_barrier_all();
  return token != 10 * ((me + n - 1) % n);
}

static int broadcast_from_the_last(void) {
  static long source[5], dest[5];
  const int last = shmem_n_pes() - 1;
  for (int i = 0; i < 5; ++i) source[i] = 50 * shmem_my_pe() + i, dest[i] = -1;
  shmem_sync_all();
  int wrong = shmem_broadcast(SHMEM_TEAM_WORLD, dest, source, 5, last) != 0;
  for (int i = 0; i < 5; ++i) wrong += dest[i] != 50 * last + i;
  return wrong;
}

/* PE k brings k + 1 numbers, so that the whole counts up from 0. */
static int collect_a_triangle(void) {
  const int me = shmem_my_pe(), n = shmem_n_pes();
  const int total = n * (n + 1) / 2;
  int* source = shmem_malloc((size_t)n * sizeof *source);
  int* dest = shmem_malloc((size_t)total * sizeof *dest);
  for (int i = 0; i <= me; ++i) source[i] = me * (me + 1) / 2 + i;
  shmem_sync_all();
  int wrong = shmem_collect(SHMEM_TEAM_WORLD, dest, source, (size_t)me + 1) != 0;
  for (int i = 0; i < total; ++i) wrong += dest[i] != i;
  shmem_free(dest);
  shmem_free(source);
  return wrong;
}

/* Blocks change places, dense and with gaps. */
static int transpose(void) {
  enum { kCount = 3, kTo = 2, kFrom = 4 };
  const int me = shmem_my_pe(), n = shmem_n_pes();
  const size_t blocks = (size_t)n * kCount;
  int64_t* source = shmem_malloc(blocks * kFrom * sizeof *source);
  int64_t* dest = shmem_malloc(blocks * kTo * sizeof *dest);
  for (size_t i = 0; i < blocks * kFrom; ++i) source[i] = -1;
  for (size_t i = 0; i < blocks; ++i) source[i * kFrom] = 1000 * me + (int64_t)i;
  for (size_t i = 0; i < blocks * kTo; ++i) dest[i] = -7;
  shmem_sync_all();
  int wrong = shmem_alltoalls(SHMEM_TEAM_WORLD, dest, source, kTo, kFrom, kCount) != 0;
  for (int pe = 0; pe < n; ++pe)
    for (int i = 0; i < kCount; ++i) {
      const int64_t* at = &dest[(pe * kCount + i) * kTo];
      wrong += (at[0] != 1000 * pe + me * kCount + i) + (at[1] != -7);
    }
  for (size_t i = 0; i < blocks; ++i) source[i] = 1000 * me + (int64_t)i;
  shmem_sync_all();
  wrong += shmem_alltoall(SHMEM_TEAM_WORLD, dest, source, kCount) != 0;
  for (int pe = 0; pe < n; ++pe)
    for (int i = 0; i < kCount; ++i) wrong += dest[pe * kCount + i] != 1000 * pe + me * kCount + i;
  shmem_free(dest);
  shmem_free(source);
  return wrong;
}

/* Which columns hold a number divisible by three anywhere, and how many such numbers there are. */
static int find_by_reductions(void) {
  enum { kColumns = 40 };
  static unsigned char here[kColumns], anywhere[kColumns];
  static int found, found_by_all;
  const int n = shmem_n_pes();
  found = 0;
  for (int i = 0; i < kColumns; ++i) {
    here[i] = (shmem_my_pe() * 5 + i * i) % 3 == 0;
    found += here[i];
  }
  shmem_sync_all();
  int wrong = shmem_or_reduce(SHMEM_TEAM_WORLD, anywhere, here, kColumns) != 0;
  wrong += shmem_sum_reduce(SHMEM_TEAM_WORLD, &found_by_all, &found, 1) != 0;
  int expected_count = 0;
  for (int i = 0; i < kColumns; ++i) {
    int expected = 0;
    for (int pe = 0; pe < n; ++pe) expected += (pe * 5 + i * i) % 3 == 0;
    wrong += anywhere[i] != (expected > 0);
    expected_count += expected;
  }
  return wrong + (found_by_all != expected_count);
}

/* Parts of unlike length are packed one after another on PE `where`: the scan says where each
 * begins. */
static int pack_at(shmem_team_t team, char* dest, const char* part, size_t bytes, int where) {
  static size_t begin;
  begin = bytes;
  shmem_team_sync(team);
  const int result = shmem_sum_exscan(team, &begin, &begin, 1);
  shmem_putmem(dest + begin, part, bytes, where);
  shmem_quiet();
  shmem_team_sync(team);
  return result;
}

static int pack_by_scan(void) {
  const int me = shmem_my_pe(), n = shmem_n_pes();
  const size_t bytes = (size_t)(3 * me + 1);
  char* all = shmem_malloc((size_t)(3 * n + 1) * (size_t)n);
  char* part = malloc(bytes);
  for (size_t i = 0; i < bytes; ++i) part[i] = (char)('a' + me);
  int wrong = pack_at(SHMEM_TEAM_WORLD, all, part, bytes, n - 1);
  if (me == n - 1) {
    const char* at = all;
    for (int pe = 0; pe < n; ++pe)
      for (int i = 0; i < 3 * pe + 1; ++i) wrong += *at++ != (char)('a' + pe);
  }
  free(part);
  shmem_free(all);
  return wrong;
}

/* Makes the team of all multiples of `step` but 0, if there are any. */
static shmem_team_t multiples_of(int step) {
  shmem_team_t team = SHMEM_TEAM_INVALID;
  if (shmem_n_pes() > step)
    shmem_team_split_strided(SHMEM_TEAM_WORLD, step, step, (shmem_n_pes() - 1) / step, NULL, 0,
                             &team);
  return team;
}

/* Two teams that share PEs write a word, one after the other: the second's value stays. */
static int sync_of_two_teams(void) {
  static int word;
  const int me = shmem_my_pe();
  word = 0;
  const shmem_team_t teams[] = {multiples_of(2), multiples_of(3)};
  shmem_barrier_all();
  for (int t = 0; t < 2; ++t) {
    if (teams[t] != SHMEM_TEAM_INVALID) {
      const int next = (shmem_team_my_pe(teams[t]) + 1) % shmem_team_n_pes(teams[t]);
      shmem_p(&word, 2 + t, shmem_team_translate_pe(teams[t], next, SHMEM_TEAM_WORLD));
      shmem_quiet();
      shmem_sync(teams[t]);
    }
    shmem_sync(SHMEM_TEAM_WORLD);
  }
  for (int t = 0; t < 2; ++t) shmem_team_destroy(teams[t]);
  return word != (me == 0 ? 0 : me % 3 == 0 ? 3 : me % 2 == 0 ? 2 : 0);
}

const struct SpecExample collective_examples[] = {
    {"barrier_after_puts", barrier_after_puts},
    {"broadcast_from_the_last", broadcast_from_the_last},
    {"collect_a_triangle", collect_a_triangle},
    {"transpose", transpose},
    {"find_by_reductions", find_by_reductions},
    {"pack_by_scan", pack_by_scan},
    {"sync_of_two_teams", sync_of_two_teams},
    {0, 0}};
