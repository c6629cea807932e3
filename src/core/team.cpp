// SPDX-License-Identifier: Apache-2.0
//
// Numbering of a team's PEs.
// Invariant: by_world_pe is sorted. Called when teams are made and PE numbers translated.
#include "core/team.hpp"

#include <algorithm>

namespace meshmem {

Team make_team(std::vector<int> pes, int my_world_pe, const AddressMap& map) {
  Team team;
  team.n = static_cast<int>(pes.size());
  team.map = &map;
  team.pes = std::move(pes);
  for (int pe = 0; pe < team.n; ++pe) team.by_world_pe.emplace_back(team.world_pe(pe), pe);
  std::sort(team.by_world_pe.begin(), team.by_world_pe.end());
  team.me = team.find_world_pe(my_world_pe);
  return team;
}

int Team::find_world_pe(int world_pe) const {
  const auto found =
      std::lower_bound(by_world_pe.begin(), by_world_pe.end(), std::pair{world_pe, 0});
  return found != by_world_pe.end() && found->first == world_pe ? found->second : -1;
}

}  // namespace meshmem
