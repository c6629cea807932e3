// SPDX-License-Identifier: Apache-2.0
//
// Numbering and names of a node's members. Called when teams are made and when a wait says what it
// waits for.
#include "core/node_team.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

namespace meshmem {

NodeTeam make_node_team(std::vector<int> pes, int my_world_pe, const AddressMap& map) {
  NodeTeam team;
  team.n = static_cast<int>(pes.size());
  team.map = &map;
  team.pes = std::move(pes);
  const auto found = std::find(team.pes.begin(), team.pes.end(), my_world_pe);
  team.me = found != team.pes.end() ? static_cast<int>(found - team.pes.begin()) : -1;
  return team;
}

std::string team_text(int slot, int n) {
  slot %= kMaxTeams;  // what kernels call on a team is said to be on that team
  const auto named = [&](std::string_view name) {
    return fmt::format("{}, {} PE{}", name, n, n == 1 ? "" : "s");
  };
  if (slot == 0) return named("SHMEM_TEAM_WORLD");
  if (slot == 1) return named("SHMEM_TEAM_SHARED");
  if (slot >= kFirstActiveSetSlot) return named("an active set");
  return named(fmt::format("team {}", slot + 1));
}

std::string NodeTeam::call_text() const {
  return fmt::format("{} ({}{})", routine, team_text(slot, n), is_whole ? "" : " on this machine");
}

}  // namespace meshmem
