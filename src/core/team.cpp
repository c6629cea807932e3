// SPDX-License-Identifier: Apache-2.0
//
// Numbering of a team's PEs and nodes, and names of teams.
// Invariant: the memory for each PE of each team stays small: there may be thousands of teams.
// Called when teams are made, PE numbers translated, and when a wait says what it waits for.
#include "core/team.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <string_view>
#include <utility>

namespace meshmem {
namespace {

// The nodes of `pes`, in the order in which they come up.
std::vector<Team::Node> nodes_of(const std::vector<int>& pes, const NodeOf& node_of) {
  std::vector<Team::Node> nodes;
  std::map<int, std::size_t> place_of;
  for (std::size_t pe = 0; pe < pes.size(); ++pe) {
    const auto [place, is_new] = place_of.try_emplace(node_of(pes[pe]), nodes.size());
    if (is_new) nodes.emplace_back();
    nodes[place->second].members.push_back(static_cast<int>(pe));
  }
  return nodes;
}

}  // namespace

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
  slot %= kMaxTeams;  // the twin for kernels has the text of its team
  const auto named = [&](std::string_view name) {
    return fmt::format("{}, {} PE{}", name, n, n == 1 ? "" : "s");
  };
  if (slot == 0) return named("SHMEM_TEAM_WORLD");
  if (slot == 1) return named("SHMEM_TEAM_SHARED");
  if (slot >= kFirstActiveSetSlot) return named("a set or list of PEs");
  return named(fmt::format("team {}", slot + 1));
}

std::string NodeTeam::call_text() const {
  return fmt::format("{} ({}{})", routine, team_text(slot, n), is_whole ? "" : " on this machine");
}

Team make_team(std::vector<int> pes, const AddressMap& map, const NodeOf& node_of) {
  const auto is_near = [&](int pe) { return node_of(pe) == node_of(map.my_pe); };
  Team team;
  team.n = static_cast<int>(pes.size());
  if (std::all_of(pes.begin(), pes.end(), is_near)) {
    team.node = make_node_team(std::move(pes), map.my_pe, map);
    team.pes = team.node.pes;
    team.me = team.node.me;
    return team;
  }
  std::vector<int> here;
  std::copy_if(pes.begin(), pes.end(), std::back_inserter(here), is_near);
  team.node = make_node_team(std::move(here), map.my_pe, map);
  team.node.is_whole = false;
  team.nodes = nodes_of(pes, node_of);
  team.all_pes = std::move(pes);
  team.pes = team.all_pes;
  team.me = team.find_world_pe(map.my_pe);
  const auto is_mine = [&](const Team::Node& node) {
    return std::find(node.members.begin(), node.members.end(), team.me) != node.members.end();
  };
  team.my_node = static_cast<int>(std::find_if(team.nodes.begin(), team.nodes.end(), is_mine) -
                                  team.nodes.begin());
  return team;
}

std::string Team::call_text() const { return fmt::format("{} ({})", routine(), text()); }

int Team::find_world_pe(int world_pe) const {
  const auto found = std::find(pes.begin(), pes.end(), world_pe);
  return found != pes.end() ? static_cast<int>(found - pes.begin()) : -1;
}

}  // namespace meshmem
