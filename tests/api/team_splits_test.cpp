// SPDX-License-Identifier: Apache-2.0
//
// Splits of teams: split_strided and split_2d, compared with lists of PEs.
#include <shmemx.h>

#include <algorithm>

#include "team_lists.hpp"

namespace meshmem {
namespace {

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

// Lists that no triplet gives, made by their members alone and several times.
TEST(TeamOfPes, IsMadeByItsMembersAlone) {
  for (int left_out = 0; left_out < n_pes(); ++left_out) {
    Pes pes = all_pes();
    if (n_pes() > 1) pes.erase(pes.begin() + left_out);
    std::rotate(pes.begin(), pes.begin() + left_out % static_cast<int>(pes.size()), pes.end());
    if (position(pes, my_pe()) < 0) continue;
    shmem_team_t teams[2];
    for (shmem_team_t& team : teams) {
      team = SHMEM_TEAM_WORLD;
      EXPECT_EQ(shmemx_team_of_pes(pes.data(), static_cast<int>(pes.size()), &team), 0);
      expect_team(team, pes);
    }
    EXPECT_NE(teams[0], teams[1]);
    shmem_team_destroy(teams[0]);
    expect_usable(teams[1], pes);
    shmem_team_destroy(teams[1]);
  }
}

// Two teams at a time, of PEs that come in any order and know only their id and number.
TEST(TeamOfId, PutsEachPeWhereItSays) {
  for (int round = 0; round < 20; ++round) {
    const int half = (n_pes() + 1) / 2;
    const bool is_first = (my_pe() + round) % n_pes() < half;
    Pes pes;
    for (int i = is_first ? 0 : half; i < (is_first ? half : n_pes()); ++i)
      pes.push_back((i + n_pes() * round - round) % n_pes());
    if (round % 2) std::reverse(pes.begin(), pes.end());
    const uint64_t id = (uint64_t{1} << 43) + static_cast<uint64_t>(2 * round + is_first);
    shmem_team_t team = SHMEM_TEAM_WORLD;
    EXPECT_EQ(shmemx_team_of_id(id, static_cast<int>(pes.size()), position(pes, my_pe()), &team),
              0);
    expect_usable(team, pes);
    shmem_team_destroy(team);
  }
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

}  // namespace
}  // namespace meshmem
