/* SPDX-License-Identifier: Apache-2.0
 *
 * Teams by strides and by dimensions, their numbers, and contexts made from them. */
#include <shmem.h>

#include "examples.h"

/* Every second PE: its numbers are halves of the world's. */
static int every_second(void) {
  shmem_team_t even = SHMEM_TEAM_WORLD;
  const int me = shmem_my_pe(), size = (shmem_n_pes() + 1) / 2;
  int wrong = shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 2, size, NULL, 0, &even) != 0;
  wrong += (even == SHMEM_TEAM_INVALID) != (me % 2 == 1);
  if (even != SHMEM_TEAM_INVALID) {
    wrong += shmem_team_my_pe(even) != me / 2;
    wrong += shmem_team_n_pes(even) != size;
    wrong += shmem_team_translate_pe(even, me / 2, SHMEM_TEAM_WORLD) != me;
    wrong += shmem_team_translate_pe(SHMEM_TEAM_WORLD, 1, even) != -1;
  }
  shmem_team_destroy(even);
  return wrong;
}

/* The divisor of n nearest to its root from below. */
static int near_root(int n, int power) {
  int best = 1;
  for (int d = 1; d <= n; ++d) {
    const int volume = power == 2 ? d * d : d * d * d;
    if (n % d == 0 && volume <= n) best = d;
  }
  return best;
}

/* A grid of three dimensions from two splits; a line of it along each axis is used at once, and the
 * plane between is not needed any more. */
static int grid(void) {
  static int sum, one = 1;
  const int n = shmem_n_pes(), x_size = near_root(n, 3), y_size = near_root(n / x_size, 2);
  shmem_team_t x, plane, y, z;
  int wrong = shmem_team_split_2d(SHMEM_TEAM_WORLD, x_size, NULL, 0, &x, NULL, 0, &plane) != 0;
  wrong += shmem_team_split_2d(plane, y_size, NULL, 0, &y, NULL, 0, &z) != 0;
  shmem_team_destroy(plane);
  const int sizes[] = {x_size, y_size, n / x_size / y_size};
  const shmem_team_t axes[] = {x, y, z};
  int place = 0, unit = 1;
  for (int axis = 0; axis < 3; ++axis) {
    wrong += shmem_team_n_pes(axes[axis]) != sizes[axis];
    wrong += shmem_sum_reduce(axes[axis], &sum, &one, 1) != 0;
    wrong += sum != sizes[axis];
    place += unit * shmem_team_my_pe(axes[axis]);
    unit *= sizes[axis];
    shmem_team_destroy(axes[axis]);
  }
  return wrong + (place != shmem_my_pe());
}

/* Two overlapping teams, a context of each: numbers go around both rings, and what the PEs of both
 * have got is added up on PE 0. */
static int rings_of_two_teams(void) {
  enum { kTeams = 2 };
  static int got[kTeams], total;
  const int strides[kTeams] = {2, 3}, n = shmem_n_pes();
  const shmem_team_config_t config = {.num_contexts = 1};
  shmem_team_t teams[kTeams];
  shmem_ctx_t contexts[kTeams];
  int wrong = 0;
  total = 0;
  for (int t = 0; t < kTeams; ++t) {
    const int size = (n + strides[t] - 1) / strides[t];
    wrong += shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, strides[t], size, &config,
                                      SHMEM_TEAM_NUM_CONTEXTS, &teams[t]) != 0;
    const int failed = shmem_team_create_ctx(teams[t], 0, &contexts[t]) != 0;
    wrong += failed != (teams[t] == SHMEM_TEAM_INVALID);
    wrong += failed != (contexts[t] == SHMEM_CTX_INVALID);
  }
  shmem_barrier_all();
  for (int t = 0; t < kTeams; ++t) {
    if (contexts[t] == SHMEM_CTX_INVALID) continue;
    const int me = shmem_team_my_pe(teams[t]);
    shmem_put(contexts[t], &got[t], &me, 1, (me + 1) % shmem_team_n_pes(teams[t]));
    shmem_ctx_quiet(contexts[t]);
  }
  shmem_team_sync(SHMEM_TEAM_WORLD);
  if (teams[0] != SHMEM_TEAM_INVALID && teams[1] != SHMEM_TEAM_INVALID)
    shmem_atomic_add(contexts[0], &total, got[0] + got[1], 0);
  shmem_ctx_quiet(contexts[0]);
  shmem_team_sync(SHMEM_TEAM_WORLD);
  int expected = 0;
  for (int pe = 0; pe < n; pe += 6)
    for (int t = 0; t < kTeams; ++t) {
      const int size = (n + strides[t] - 1) / strides[t];
      expected += (pe / strides[t] + size - 1) % size;
    }
  if (shmem_my_pe() == 0) wrong += total != expected;
  for (int t = 0; t < kTeams; ++t) {
    shmem_ctx_destroy(contexts[t]);
    shmem_team_destroy(teams[t]);
  }
  return wrong;
}

const struct SpecExample team_examples[] = {{"every_second", every_second},
                                            {"grid", grid},
                                            {"rings_of_two_teams", rings_of_two_teams},
                                            {0, 0}};
