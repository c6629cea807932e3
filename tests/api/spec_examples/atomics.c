/* SPDX-License-Identifier: Apache-2.0
 *
 * Atomics, and the defined counterparts of the specification's four undefined mixtures. */
#include <shmem.h>

#include "examples.h"

/* Everybody counts on PE 0, by one and by more. */
static int count(void) {
  static long visits, weight;
  visits = weight = 0;
  shmem_barrier_all();
  shmem_atomic_inc(&visits, 0);
  shmem_atomic_add(&weight, 10L + shmem_my_pe(), 0);
  shmem_barrier_all();
  const long n = shmem_n_pes();
  return shmem_my_pe() == 0 ? (visits != n) + (weight != 10 * n + n * (n - 1) / 2)
                            : (visits != 0) + (weight != 0);
}

/* The values before are a row of numbers, each drawn once. */
static int draw_numbers(void) {
  static int next, drawn[64], offset;
  next = offset = 0;
  for (int i = 0; i < 64; ++i) drawn[i] = 0;
  shmem_barrier_all();
  const int mine = shmem_atomic_fetch_inc(&next, 0);
  shmem_atomic_inc(&drawn[mine % 64], 0);
  const int before = shmem_atomic_fetch_add(&offset, 44, shmem_my_pe());
  shmem_barrier_all();
  int wrong = (before != 0) + (offset != 44);
  for (int i = 0; i < 64 && shmem_my_pe() == 0; ++i) wrong += drawn[i] != (i < shmem_n_pes());
  return wrong;
}

/* One PE alone finds the place free. */
static int first_wins(void) {
  static int holder, winners;
  holder = -1;
  winners = 0;
  shmem_barrier_all();
  const int before = shmem_atomic_compare_swap(&holder, -1, shmem_my_pe(), 0);
  if (before == -1) shmem_atomic_inc(&winners, 0);
  shmem_barrier_all();
  const int winner = shmem_atomic_fetch(&holder, 0);
  int wrong = winner < 0 || winner >= shmem_n_pes();
  wrong += (before == -1) != (winner == shmem_my_pe());
  if (shmem_my_pe() == 0) wrong += winners != 1;
  return wrong;
}

/* PEs with odd numbers exchange a word with their right neighbour. */
static int swap_with_neighbour(void) {
  static long word;
  const int me = shmem_my_pe(), n = shmem_n_pes();
  word = 100 + me;
  shmem_barrier_all();
  int wrong = 0;
  if (me % 2 == 1) wrong += shmem_atomic_swap(&word, 200L + me, (me + 1) % n) != 100 + (me + 1) % n;
  shmem_barrier_all();
  const int left = (me + n - 1) % n;
  return wrong + (word != (left % 2 == 1 ? 200 + left : 100 + me));
}

/* Contexts of the same team are one domain; a barrier lies between domains, types, and atomics and
 * plain accesses. */
static int one_domain_at_a_time(void) {
  static uint64_t word;
  static long flags, total;
  static uint64_t near; /* who can add by the context */
  shmem_ctx_t ctx;
  int wrong = shmem_team_create_ctx(SHMEM_TEAM_SHARED, 0, &ctx) != 0;
  near = (uint64_t)shmem_team_n_pes(SHMEM_TEAM_SHARED);
  word = 0;
  flags = 0;
  shmem_barrier_all();
  shmem_atomic_add(&word, (uint64_t)1, 0);
  shmem_barrier_all();
  const int zero = shmem_team_translate_pe(SHMEM_TEAM_WORLD, 0, SHMEM_TEAM_SHARED);
  if (zero >= 0) shmem_atomic_add(ctx, &word, (uint64_t)1, zero);
  shmem_ctx_quiet(ctx);
  shmem_barrier_all();
  if (shmem_my_pe() == 0) {
    wrong += word != (uint64_t)shmem_n_pes() + near;
    ++word;
  }
  shmem_barrier_all();
  shmem_uint32_atomic_or((uint32_t*)&word, 0x80000000u, 0);
  shmem_atomic_inc(&flags, (shmem_my_pe() + 1) % shmem_n_pes());
  shmem_barrier_all();
  shmem_sum_reduce(SHMEM_TEAM_WORLD, &total, &flags, 1);
  wrong += total != shmem_n_pes();
  wrong += shmem_g(&word, 0) != (0x80000000u | ((uint64_t)shmem_n_pes() + shmem_g(&near, 0) + 1));
  shmem_ctx_destroy(ctx);
  return wrong;
}

const struct SpecExample atomic_examples[] = {{"count", count},
                                              {"draw_numbers", draw_numbers},
                                              {"first_wins", first_wins},
                                              {"swap_with_neighbour", swap_with_neighbour},
                                              {"one_domain_at_a_time", one_domain_at_a_time},
                                              {0, 0}};
