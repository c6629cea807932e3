// SPDX-License-Identifier: Apache-2.0
//
// Chooses the members of the predefined teams by the nodes of the PEs.
// Invariant: the handles of the public headers name these slots.
#include "core/predefined_teams.hpp"

#include <map>
#include <numeric>
#include <utility>

#include "core/team.hpp"
#include "meshmem/compat/other_names.h"

namespace meshmem {
namespace {

constexpr int kWorldSlot = 0;
constexpr int kSharedSlot = 1;
static_assert(MESHMEM_COMPAT_TEAM_SAME_NUMBER == kSameNumberSlot + 1);

// Of PEs in order those that have as many PEs of their node before them as PE `me`.
std::vector<int> pes_with_number_of(int me, const std::vector<int>& pes, const Nodes& nodes) {
  std::map<int, int> on_node;
  std::vector<int> numbers;
  for (const int pe : pes) numbers.push_back(on_node[nodes.node_of(pe)]++);
  std::vector<int> found;
  for (const int pe : pes)
    if (numbers[static_cast<std::size_t>(pe)] == numbers[static_cast<std::size_t>(me)])
      found.push_back(pe);
  return found;
}

}  // namespace

std::vector<PredefinedTeam> predefined_teams(const Nodes& nodes, int n_pes, int me, NamesOf names) {
  std::vector<int> everyone(static_cast<std::size_t>(n_pes));
  std::iota(everyone.begin(), everyone.end(), 0);
  std::vector<PredefinedTeam> teams{{kWorldSlot, everyone}};
  if (names == NamesOf::nvshmem)
    teams.push_back({kSameNumberSlot, pes_with_number_of(me, everyone, nodes)});
  std::erase_if(everyone, [&](int pe) { return !nodes.is_near(pe); });
  teams.push_back({kSharedSlot, std::move(everyone)});
  return teams;
}

}  // namespace meshmem
