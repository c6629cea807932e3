// SPDX-License-Identifier: Apache-2.0
//
// Numbering of a team's PEs.
// Invariant: what there is for each PE of each team stays small: there may be thousands of teams.
// Called when teams are made and PE numbers translated.
#include "core/team.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

namespace meshmem {

Team make_team(std::vector<int> pes, int my_world_pe, const AddressMap& map) {
  Team team;
  team.n = static_cast<int>(pes.size());
  team.map = &map;
  team.pes = std::move(pes);
  team.me = team.find_world_pe(my_world_pe);
  return team;
}

std::string Team::text() const {
  const auto named = [&](std::string_view name) {
    return fmt::format("{}, {} PE{}", name, n, n == 1 ? "" : "s");
  };
  if (slot == 0) return named("SHMEM_TEAM_WORLD");
  if (slot == 1) return named("SHMEM_TEAM_SHARED");
  if (slot >= kFirstActiveSetSlot) return named("an active set");
  return named(fmt::format("team {}", slot + 1));
}

std::string Team::call_text() const { return fmt::format("{} ({})", routine, text()); }

int Team::find_world_pe(int world_pe) const {
  const auto found = std::find(pes.begin(), pes.end(), world_pe);
  return found != pes.end() ? static_cast<int>(found - pes.begin()) : -1;
}

}  // namespace meshmem
