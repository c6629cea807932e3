// SPDX-License-Identifier: Apache-2.0
//
// Teams: split_strided, split_2d, translation, configuration, pointers, and destruction.
// Invariant: every split is compared with a list of PEs that the test makes itself, and each new
// team is used for a collective at once.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <numeric>
#include <vector>

#include "symmetric_array.hpp"

namespace meshmem {
namespace {

using Pes = std::vector<int>;  // PEs of the world, in a team's order

Pes all_pes() {
  Pes pes;
  for (int pe = 0; pe < n_pes(); ++pe) pes.push_back(pe);
  return pes;
}

int position(const Pes& pes, int world_pe) {
  auto found = std::find(pes.begin(), pes.end(), world_pe);
  return found == pes.end() ? -1 : static_cast<int>(found - pes.begin());
}

// What split_strided should give; empty if the triplet is invalid.
Pes strided(const Pes& parent, int start, int stride, int size) {
  Pes pes;
  if (size < 1 || (stride == 0 && size != 1)) return pes;
  for (int i = 0; i < size; ++i) {
    const int pe = start + i * stride;
    if (pe < 0 || pe >= static_cast<int>(parent.size())) return {};
    pes.push_back(parent[static_cast<size_t>(pe)]);
  }
  return pes;
}

int split(shmem_team_t parent, int start, int stride, int size, shmem_team_t* team) {
  return shmem_team_split_strided(parent, start, stride, size, nullptr, 0, team);
}

// Numbers both ways between a team and the world.
void expect_numbering(shmem_team_t team, const Pes& pes) {
  EXPECT_EQ(shmem_team_n_pes(team), static_cast<int>(pes.size()));
  EXPECT_EQ(shmem_team_my_pe(team), position(pes, my_pe()));
  for (int i = 0; i < static_cast<int>(pes.size()); ++i) {
    EXPECT_EQ(shmem_team_translate_pe(team, i, SHMEM_TEAM_WORLD), pes[static_cast<size_t>(i)]);
  }
  for (int pe = 0; pe < n_pes(); ++pe) {
    EXPECT_EQ(shmem_team_translate_pe(SHMEM_TEAM_WORLD, pe, team), position(pes, pe));
  }
}

// A collective shows that the members agree on who they are; called right after the split.
void expect_usable(shmem_team_t team, const Pes& pes) {
  static int all[64];
  static int mine;
  mine = my_pe();
  EXPECT_EQ(shmem_int_fcollect(team, all, &mine, 1), 0);
  EXPECT_EQ(Pes(all, all + pes.size()), pes);
  EXPECT_EQ(shmem_team_sync(team), 0);
}

// The calling PE's team is the one expected: usable for members, invalid for others.
void expect_team(shmem_team_t team, const Pes& pes) {
  if (position(pes, my_pe()) < 0) {
    EXPECT_EQ(team, SHMEM_TEAM_INVALID);
    return;
  }
  ASSERT_NE(team, SHMEM_TEAM_INVALID);
  expect_usable(team, pes);
  expect_numbering(team, pes);
}

TEST(TeamWorld, HoldsAllPes) {
  expect_numbering(SHMEM_TEAM_WORLD, all_pes());
  EXPECT_EQ(shmem_team_my_pe(SHMEM_TEAM_WORLD), shmem_my_pe());
  EXPECT_EQ(shmem_team_n_pes(SHMEM_TEAM_WORLD), shmem_n_pes());
}

// PEs in order on the nodes that `oshrun --fake-nodes` makes, the first ones with one more.
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

// Collective.
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

TEST(TeamSplitStrided, S23_AgreesWithAListForEveryTriplet) {
  const int n = n_pes();
  for (int start = 0; start < n; ++start) {
    for (int stride = -n; stride <= n; ++stride) {
      for (int size = 1; size <= n; ++size) {
        const Pes pes = strided(all_pes(), start, stride, size);
        if (pes.empty() || (size == 1 && stride > 1)) continue;
        SCOPED_TRACE(testing::Message() << start << ", " << stride << ", " << size);
        shmem_team_t team = SHMEM_TEAM_WORLD;
        EXPECT_EQ(split(SHMEM_TEAM_WORLD, start, stride, size, &team), 0);
        expect_team(team, pes);
        shmem_team_destroy(team);
      }
    }
  }
}

TEST(TeamSplitStrided, S23_NonMembersGetInvalidAndZero) {
  shmem_team_t team = SHMEM_TEAM_WORLD;
  EXPECT_EQ(split(SHMEM_TEAM_WORLD, 0, 0, 1, &team), 0);
  EXPECT_EQ(team == SHMEM_TEAM_INVALID, my_pe() != 0);
  shmem_team_destroy(team);
}

TEST(TeamSplitStrided, S23_InvalidTripletsFailOnEveryPe) {
  const int n = n_pes();
  const int triplets[][3] = {{0, 1, n + 1},     {1, 1, n},     {n, 1, 1},       {-1, 1, 1},
                             {0, -1, 2},        {n - 1, 1, 2}, {0, n, 2},       {0, 0, 2},
                             {0, 1, 0},         {0, 1, -1},    {0, 1 << 30, 3}, {n - 1, -1, n + 1},
                             {0, -(1 << 30), 3}};
  for (const auto& [start, stride, size] : triplets) {
    SCOPED_TRACE(testing::Message() << start << ", " << stride << ", " << size);
    shmem_team_t team = SHMEM_TEAM_WORLD;
    EXPECT_NE(split(SHMEM_TEAM_WORLD, start, stride, size, &team), 0);
    EXPECT_EQ(team, SHMEM_TEAM_INVALID);
  }
  expect_usable(SHMEM_TEAM_WORLD, all_pes());
}

// Parents that are themselves strided and reversed: numbers are those of the parent.
TEST(TeamSplitStrided, S23_CountsInTheParentsNumbers) {
  Pes parent_pes = strided(all_pes(), n_pes() - 1, -1, n_pes());
  shmem_team_t parent = SHMEM_TEAM_INVALID;
  EXPECT_EQ(split(SHMEM_TEAM_WORLD, n_pes() - 1, -1, n_pes(), &parent), 0);
  while (parent_pes.size() > 1 && parent != SHMEM_TEAM_INVALID) {
    const int half = (static_cast<int>(parent_pes.size()) + 1) / 2;
    const int stride = parent_pes.size() > 2 ? 2 : 1;
    const Pes pes = strided(parent_pes, 0, stride, half);
    shmem_team_t team = SHMEM_TEAM_WORLD;
    EXPECT_EQ(split(parent, 0, stride, half, &team), 0);
    expect_team(team, pes);
    shmem_team_destroy(parent);  // S25: the child outlives it
    parent = team;
    parent_pes = pes;
  }
  if (parent != SHMEM_TEAM_INVALID) expect_team(parent, parent_pes);
  shmem_team_destroy(parent);
}

TEST(TeamSplit, S25_ParentAndChildAreUsableAtOnce) {
  static long sum, one = 1;
  for (int round = 0; round < 20; ++round) {
    shmem_team_t team = SHMEM_TEAM_INVALID;
    EXPECT_EQ(split(SHMEM_TEAM_WORLD, 0, 1, (n_pes() + 1) / 2, &team), 0);
    if (team != SHMEM_TEAM_INVALID) {
      EXPECT_EQ(shmem_long_sum_reduce(team, &sum, &one, 1), 0);
      EXPECT_EQ(sum, (n_pes() + 1) / 2);
    }
    EXPECT_EQ(shmem_long_sum_reduce(SHMEM_TEAM_WORLD, &sum, &one, 1), 0);
    EXPECT_EQ(sum, n_pes());
    shmem_team_destroy(team);
  }
}

// The PEs of the parent whose x (or y) is that of the caller.
Pes axis(const Pes& parent, int xrange, bool x_axis) {
  const int me = position(parent, my_pe());
  Pes pes;
  for (int pe = 0; pe < static_cast<int>(parent.size()); ++pe) {
    const bool mine = x_axis ? pe / xrange == me / xrange : pe % xrange == me % xrange;
    if (mine) pes.push_back(parent[static_cast<size_t>(pe)]);
  }
  return pes;
}

void check_2d(shmem_team_t parent, const Pes& pes, int xrange) {
  SCOPED_TRACE(testing::Message() << "xrange " << xrange);
  shmem_team_t x = SHMEM_TEAM_INVALID, y = SHMEM_TEAM_INVALID;
  EXPECT_EQ(shmem_team_split_2d(parent, xrange, nullptr, 0, &x, nullptr, 0, &y), 0);
  const int width = std::min(xrange, static_cast<int>(pes.size()));
  expect_team(x, axis(pes, width, true));
  expect_team(y, axis(pes, width, false));
  EXPECT_EQ(shmem_team_my_pe(x), position(pes, my_pe()) % width);
  EXPECT_EQ(shmem_team_my_pe(y), position(pes, my_pe()) / width);
  shmem_team_destroy(x);
  shmem_team_destroy(y);
}

// From one PE a row, over short last rows, to ranges beyond the team.
TEST(TeamSplit2d, S24_AgreesWithAListForEveryRange) {
  for (int xrange = 1; xrange <= n_pes() + 2; ++xrange) {
    check_2d(SHMEM_TEAM_WORLD, all_pes(), xrange);
  }
  check_2d(SHMEM_TEAM_WORLD, all_pes(), 1 << 30);
}

TEST(TeamSplit2d, S24_SplitsReversedTeams) {
  shmem_team_t reversed = SHMEM_TEAM_INVALID;
  EXPECT_EQ(split(SHMEM_TEAM_WORLD, n_pes() - 1, -1, n_pes(), &reversed), 0);
  const Pes pes = strided(all_pes(), n_pes() - 1, -1, n_pes());
  for (int xrange = 1; xrange <= n_pes(); ++xrange) check_2d(reversed, pes, xrange);
  shmem_team_destroy(reversed);
}

TEST(TeamSplit2d, S24_InvalidRangesFailOnEveryPe) {
  for (int xrange : {0, -1, -(1 << 30)}) {
    shmem_team_t x = SHMEM_TEAM_WORLD, y = SHMEM_TEAM_WORLD;
    EXPECT_NE(shmem_team_split_2d(SHMEM_TEAM_WORLD, xrange, nullptr, 0, &x, nullptr, 0, &y), 0);
    EXPECT_EQ(x, SHMEM_TEAM_INVALID);
    EXPECT_EQ(y, SHMEM_TEAM_INVALID);
  }
  expect_usable(SHMEM_TEAM_WORLD, all_pes());
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
    shmem_team_destroy(team);  // the contexts are left to it
  }
}

// Members that use the team up to the last moment, and one that comes late.
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

// Teams live side by side until there are no more; then the split fails on all PEs alike, and
// destroyed ones come back.
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

// Far more teams than can live at once, one after the other; each PE makes its own, which costs
// nothing.
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

// S29: atomics on one word go through one team's context at a time; here that of the shared team.
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
