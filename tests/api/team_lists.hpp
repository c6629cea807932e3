// SPDX-License-Identifier: Apache-2.0
//
// Lists of PEs of the world that the tests of teams make themselves, to compare teams with.
// Invariant: a team that is compared with its list is used for a collective at once.
#ifndef MESHMEM_TESTS_API_TEAM_LISTS_HPP
#define MESHMEM_TESTS_API_TEAM_LISTS_HPP

#include <algorithm>
#include <vector>

#include "symmetric_array.hpp"

namespace meshmem {

using Pes = std::vector<int>;  // PEs of the world, in a team's order

inline Pes all_pes() {
  Pes pes;
  for (int pe = 0; pe < n_pes(); ++pe) pes.push_back(pe);
  return pes;
}

inline int position(const Pes& pes, int world_pe) {
  auto found = std::find(pes.begin(), pes.end(), world_pe);
  return found == pes.end() ? -1 : static_cast<int>(found - pes.begin());
}

// The PEs that split_strided should give; empty if the triplet is invalid.
inline Pes strided(const Pes& parent, int start, int stride, int size) {
  Pes pes;
  if (size < 1 || (stride == 0 && size != 1)) return pes;
  for (int i = 0; i < size; ++i) {
    const int pe = start + i * stride;
    if (pe < 0 || pe >= static_cast<int>(parent.size())) return {};
    pes.push_back(parent[static_cast<size_t>(pe)]);
  }
  return pes;
}

inline int split(shmem_team_t parent, int start, int stride, int size, shmem_team_t* team) {
  return shmem_team_split_strided(parent, start, stride, size, nullptr, 0, team);
}

// Numbers both ways between a team and the world.
inline void expect_numbering(shmem_team_t team, const Pes& pes) {
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
inline void expect_usable(shmem_team_t team, const Pes& pes) {
  static int all[64];
  static int mine;
  mine = my_pe();
  EXPECT_EQ(shmem_int_fcollect(team, all, &mine, 1), 0);
  EXPECT_EQ(Pes(all, all + pes.size()), pes);
  EXPECT_EQ(shmem_team_sync(team), 0);
}

// The calling PE's team is the one expected: usable for members, invalid for others.
inline void expect_team(shmem_team_t team, const Pes& pes) {
  if (position(pes, my_pe()) < 0) {
    EXPECT_EQ(team, SHMEM_TEAM_INVALID);
    return;
  }
  ASSERT_NE(team, SHMEM_TEAM_INVALID);
  expect_usable(team, pes);
  expect_numbering(team, pes);
}

}  // namespace meshmem

#endif
