// SPDX-License-Identifier: Apache-2.0
//
// Teams: translation, configuration, pointers, destruction. Splits are in team_splits_test.cpp. S
// and a number in a test's name is the rule of docs/rules.md that it proves.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <numeric>
#include <vector>

#include "symmetric_array.hpp"
#include "team_lists.hpp"

namespace meshmem {
namespace {

TEST(TeamWorld, HoldsAllPes) {
  expect_numbering(SHMEM_TEAM_WORLD, all_pes());
  EXPECT_EQ(shmem_team_my_pe(SHMEM_TEAM_WORLD), shmem_my_pe());
  EXPECT_EQ(shmem_team_n_pes(SHMEM_TEAM_WORLD), shmem_n_pes());
}

// `oshrun --fake-nodes` puts PEs in a row on each node. If the number of PEs is no multiple of that
// of the nodes, the first nodes have one PE more.
Pes pes_of_my_fake_node(int nodes) {
  int first = 0;
  for (int node = 0;; ++node) {
    const int size = n_pes() / nodes + (node < n_pes() % nodes ? 1 : 0);
    if (my_pe() < first + size) {
      Pes pes(static_cast<size_t>(size));
      std::iota(pes.begin(), pes.end(), first);
      return pes;
    }
    first += size;
  }
}

using HostName = std::array<char, 64>;

// Collective over all PEs: they compare the names of their machines.
Pes pes_of_my_host() {
  SymmetricArray<HostName> mine(1), all(static_cast<size_t>(n_pes()));
  mine[0] = {};
  gethostname(mine[0].data(), mine[0].size() - 1);
  shmem_fcollectmem(SHMEM_TEAM_WORLD, all, mine, sizeof(HostName));
  Pes pes;
  for (int pe = 0; pe < n_pes(); ++pe) {
    if (all[static_cast<size_t>(pe)] == mine[0]) pes.push_back(pe);
  }
  return pes;
}

// The PEs of a machine can load and store each other's heap.
TEST(TeamShared, HoldsThePesThatShareMemory) {
  const char* const fake_nodes = std::getenv("MESHMEM_OSHRUN_FAKE_NODES");
  const Pes near = fake_nodes ? pes_of_my_fake_node(std::atoi(fake_nodes)) : pes_of_my_host();
  SymmetricArray<int> heap(1);
  for (int i = 0; i < shmem_team_n_pes(SHMEM_TEAM_SHARED); ++i) {
    EXPECT_NE(shmem_team_ptr(SHMEM_TEAM_SHARED, heap, i), nullptr);
  }
  expect_team(SHMEM_TEAM_SHARED, near);
  for (int pe = 0; pe < n_pes(); ++pe)
    EXPECT_EQ(shmem_ptr(heap, pe) != nullptr, position(near, pe) >= 0);
}

TEST(TeamInvalid, S22_EveryCallSaysSo) {
  EXPECT_EQ(shmem_team_my_pe(SHMEM_TEAM_INVALID), -1);
  EXPECT_EQ(shmem_team_n_pes(SHMEM_TEAM_INVALID), -1);
  EXPECT_EQ(shmem_team_translate_pe(SHMEM_TEAM_INVALID, 0, SHMEM_TEAM_WORLD), -1);
  EXPECT_EQ(shmem_team_translate_pe(SHMEM_TEAM_WORLD, 0, SHMEM_TEAM_INVALID), -1);
  shmem_team_config_t config = {123};
  EXPECT_NE(shmem_team_get_config(SHMEM_TEAM_INVALID, SHMEM_TEAM_NUM_CONTEXTS, &config), 0);
  EXPECT_EQ(config.num_contexts, 123);
  shmem_team_t x = SHMEM_TEAM_WORLD, y = SHMEM_TEAM_WORLD;
  EXPECT_NE(split(SHMEM_TEAM_INVALID, 0, 1, 1, &x), 0);
  EXPECT_EQ(x, SHMEM_TEAM_INVALID);
  x = SHMEM_TEAM_WORLD;
  EXPECT_NE(shmem_team_split_2d(SHMEM_TEAM_INVALID, 1, nullptr, 0, &x, nullptr, 0, &y), 0);
  EXPECT_EQ(x, SHMEM_TEAM_INVALID);
  EXPECT_EQ(y, SHMEM_TEAM_INVALID);
  shmem_ctx_t ctx = SHMEM_CTX_DEFAULT;
  EXPECT_NE(shmem_team_create_ctx(SHMEM_TEAM_INVALID, 0, &ctx), 0);
  EXPECT_EQ(ctx, SHMEM_CTX_INVALID);
  shmem_team_destroy(SHMEM_TEAM_INVALID);
}

TEST(TeamTranslate, S22_PesOutsideAreMinusOne) {
  EXPECT_EQ(shmem_team_translate_pe(SHMEM_TEAM_WORLD, n_pes(), SHMEM_TEAM_SHARED), -1);
  EXPECT_EQ(shmem_team_translate_pe(SHMEM_TEAM_WORLD, -1, SHMEM_TEAM_SHARED), -1);
}

TEST(TeamConfig, S26_OnlyMaskedFieldsCount) {
  const shmem_team_config_t wish = {3};
  shmem_team_t team = SHMEM_TEAM_INVALID;
  EXPECT_EQ(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, n_pes(), &wish,
                                     SHMEM_TEAM_NUM_CONTEXTS, &team),
            0);
  shmem_team_config_t config = {-5};
  EXPECT_EQ(shmem_team_get_config(team, SHMEM_TEAM_NUM_CONTEXTS, &config), 0);
  EXPECT_EQ(config.num_contexts, 3);
  EXPECT_EQ(shmem_team_get_config(team, 0, nullptr), 0);
  config.num_contexts = -5;
  EXPECT_EQ(shmem_team_get_config(team, 0, &config), 0);
  EXPECT_EQ(config.num_contexts, -5) << "a field that is not in the mask was written";
  EXPECT_EQ(shmem_team_get_config(SHMEM_TEAM_WORLD, 0, nullptr), 0);
  shmem_team_destroy(team);
}

TEST(TeamDestroy, S27_DestroysItsContextsToo) {
  const shmem_team_config_t config = {4};
  for (int round = 0; round < 50; ++round) {
    shmem_team_t team = SHMEM_TEAM_INVALID;
    EXPECT_EQ(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, n_pes(), &config,
                                       SHMEM_TEAM_NUM_CONTEXTS, &team),
              0);
    shmem_ctx_t ctx = SHMEM_CTX_INVALID;
    for (int i = 0; i < 4; ++i) EXPECT_EQ(shmem_team_create_ctx(team, 0, &ctx), 0);
    shmem_team_destroy(team);  // this destroys the contexts too
  }
}

// A PE destroys the team as soon as its own part of the sum is done. Others may still be in the
// sum.
TEST(TeamDestroy, S27_IsSafeRightAfterACollective) {
  static long sums[2], mine;
  for (long round = 0; round < 30; ++round) {
    shmem_team_t team = SHMEM_TEAM_INVALID;
    EXPECT_EQ(split(SHMEM_TEAM_WORLD, 0, 1, n_pes(), &team), 0);
    mine = round + my_pe();
    EXPECT_EQ(shmem_long_sum_reduce(team, &sums[round % 2], &mine, 1), 0);
    EXPECT_EQ(sums[round % 2], round * n_pes() + n_pes() * (n_pes() - 1) / 2);
    shmem_team_destroy(team);
  }
}

TEST(TeamPtr, S21_CountsInTheTeamsNumbers) {
  static int global;
  SymmetricArray<int> heap(1);
  heap[0] = 100 + my_pe();
  global = 200 + my_pe();
  shmem_team_t reversed = SHMEM_TEAM_INVALID;
  EXPECT_EQ(split(SHMEM_TEAM_WORLD, n_pes() - 1, -1, n_pes(), &reversed), 0);
  shmem_barrier_all();
  for (int i = 0; i < n_pes(); ++i) {
    const int pe = n_pes() - 1 - i;
    EXPECT_EQ(shmem_team_ptr(reversed, heap, i), shmem_ptr(heap, pe));
    EXPECT_EQ(shmem_team_ptr(SHMEM_TEAM_WORLD, heap, i), shmem_ptr(heap, i));
    auto* value = static_cast<int*>(shmem_team_ptr(reversed, heap, i));
    if (value) {
      EXPECT_EQ(*value, 100 + pe);
    }
    value = static_cast<int*>(shmem_team_ptr(reversed, &global, i));
    if (value) {
      EXPECT_EQ(*value, 200 + pe);
    }
  }
  EXPECT_EQ(shmem_team_ptr(SHMEM_TEAM_INVALID, heap, 0), nullptr);
  shmem_team_destroy(reversed);
}

// A hundred teams exist at the same time. If a split fails, it fails on all PEs. Once the teams are
// destroyed, as many can be made again.
TEST(Team, S23_ManyLiveSideBySide) {
  for (int attempt = 0; attempt < 2; ++attempt) {
    std::vector<shmem_team_t> teams;
    for (int i = 0; i < 100; ++i) {
      shmem_team_t team = SHMEM_TEAM_INVALID;
      const int status = split(SHMEM_TEAM_WORLD, 0, 1, n_pes(), &team);
      EXPECT_EQ(status == 0, team != SHMEM_TEAM_INVALID);
      if (status != 0) break;
      teams.push_back(team);
    }
    EXPECT_GE(teams.size(), 30u);
    static long many[3];
    many[0] = many[1] = static_cast<long>(teams.size());
    shmem_long_max_reduce(SHMEM_TEAM_WORLD, &many[2], &many[0], 1);
    EXPECT_EQ(many[2], many[0]) << "a split failed on some PEs only";
    for (shmem_team_t team : teams) expect_usable(team, all_pes());
    for (shmem_team_t team : teams) shmem_team_destroy(team);
  }
}

// Makes and destroys far more teams than can exist at the same time. Each PE makes its own, of
// itself alone, which takes little time.
TEST(TeamDestroy, S27_GivesBackWhatTheTeamHad) {
  shmem_team_t alone = SHMEM_TEAM_INVALID, column = SHMEM_TEAM_INVALID;
  EXPECT_EQ(shmem_team_split_2d(SHMEM_TEAM_WORLD, 1, nullptr, 0, &alone, nullptr, 0, &column), 0);
  int failures = 0;
  for (int round = 0; round < 10000 && failures == 0; ++round) {
    shmem_team_t team = SHMEM_TEAM_INVALID;
    failures += split(alone, 0, 1, 1, &team) != 0;
    shmem_team_destroy(team);
  }
  EXPECT_EQ(failures, 0);
  shmem_team_destroy(column);
  shmem_team_destroy(alone);
}

// By S29 atomics on one word are atomic if they all use contexts of WORLD's teams, or all of
// SHARED's. Here all use contexts of SHARED.
TEST(TeamShared, S29_AtomicsOfItsContextsAreAtomic) {
  SymmetricArray<long> sum(1);
  sum[0] = 0;
  shmem_ctx_t ctx = SHMEM_CTX_INVALID;
  EXPECT_EQ(shmem_team_create_ctx(SHMEM_TEAM_SHARED, 0, &ctx), 0);
  shmem_barrier_all();
  for (int i = 0; i < 200; ++i) shmem_ctx_long_atomic_inc(ctx, sum, 0);
  shmem_ctx_quiet(ctx);
  shmem_barrier_all();
  const int first = shmem_team_translate_pe(SHMEM_TEAM_SHARED, 0, SHMEM_TEAM_WORLD);
  EXPECT_EQ(shmem_long_g(sum, first), 200 * shmem_team_n_pes(SHMEM_TEAM_SHARED));
  shmem_ctx_destroy(ctx);
  shmem_barrier_all();
}

}  // namespace
}  // namespace meshmem
