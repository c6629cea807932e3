// SPDX-License-Identifier: Apache-2.0
//
// Which PEs are in the predefined teams: WORLD, SHARED, and for programs of NVSHMEM the team of the
// PEs with the same index on each node. On one node, and on nodes of different sizes.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "core/team_area.hpp"
#include "core/team_table.hpp"
#include "shmem.h"

namespace meshmem {
namespace {

int slot_of(shmem_team_t handle) {
  return static_cast<int>(reinterpret_cast<std::uintptr_t>(handle)) - 1;
}

// PEs 0, 1 and 4 are on one node, 2 and 3 on another, 5 is alone.
Nodes three_nodes(int me, int my_index) {
  Nodes nodes(6, me, my_index);
  for (const std::vector<int>& pes : {std::vector<int>{0, 1, 4}, {2, 3}, {5}}) {
    NodeCard card;
    card.pes = pes;
    card.addresses.resize(pes.size());
    card.host = "node" + std::to_string(nodes.n());
    EXPECT_FALSE(nodes.add(card).has_value());
  }
  return nodes;
}

std::vector<int> pes_of_slot(const std::vector<PredefinedTeam>& teams, int slot) {
  for (const PredefinedTeam& team : teams)
    if (team.slot == slot) return team.pes;
  return {};
}

TEST(PredefinedTeams, HaveTheSlotsOfTheirHandles) {
  const auto teams = predefined_teams(Nodes(), 3, 1, NamesOf::openshmem);
  ASSERT_EQ(teams.size(), 2u);
  EXPECT_EQ(teams[0].slot, slot_of(SHMEM_TEAM_WORLD));
  EXPECT_EQ(teams[1].slot, slot_of(SHMEM_TEAM_SHARED));
}

TEST(PredefinedTeams, AreOfAllPesOnOneNode) {
  for (const int n_pes : {1, 3, 5})
    for (const PredefinedTeam& team : predefined_teams(Nodes(), n_pes, 0, NamesOf::openshmem)) {
      ASSERT_EQ(team.pes.size(), static_cast<std::size_t>(n_pes));
      for (int pe = 0; pe < n_pes; ++pe) EXPECT_EQ(team.pes[static_cast<std::size_t>(pe)], pe);
    }
}

TEST(PredefinedTeams, ShareAnArenaInShared) {
  const auto shared_of = [](int me, int my_index) {
    return pes_of_slot(predefined_teams(three_nodes(me, my_index), 6, me, NamesOf::openshmem),
                       slot_of(SHMEM_TEAM_SHARED));
  };
  EXPECT_EQ(shared_of(4, 2), (std::vector<int>{0, 1, 4}));
  EXPECT_EQ(shared_of(2, 0), (std::vector<int>{2, 3}));
  EXPECT_EQ(shared_of(5, 0), (std::vector<int>{5}));
}

TEST(PredefinedTeams, HaveThePesOfOneNumberForProgramsOfNvshmem) {
  const auto same_number_of = [](int me, int my_index) {
    return pes_of_slot(predefined_teams(three_nodes(me, my_index), 6, me, NamesOf::nvshmem),
                       kSameNumberSlot);
  };
  EXPECT_EQ(same_number_of(0, 0), (std::vector<int>{0, 2, 5}));
  EXPECT_EQ(same_number_of(3, 1), (std::vector<int>{1, 3}));
  EXPECT_EQ(same_number_of(4, 2), (std::vector<int>{4}));
}

}  // namespace
}  // namespace meshmem
