// SPDX-License-Identifier: Apache-2.0
//
// The teams that every program has from shmem_init on, and which PEs are in them.
// Invariant: all PEs name the same teams in the same order, WORLD first. Called by the Runtime,
// which makes them.
#ifndef MESHMEM_CORE_PREDEFINED_TEAMS_HPP_
#define MESHMEM_CORE_PREDEFINED_TEAMS_HPP_

#include <vector>

#include "base/settings/environment.hpp"
#include "core/nodes.hpp"

namespace meshmem {

struct PredefinedTeam {
  int slot;
  std::vector<int> pes;  // of the world, this PE among them
};

// WORLD and SHARED; for programs of NVSHMEM also the PEs that have this PE's number on their node.
std::vector<PredefinedTeam> predefined_teams(const Nodes& nodes, int n_pes, int me, NamesOf names);

}  // namespace meshmem

#endif  // MESHMEM_CORE_PREDEFINED_TEAMS_HPP_
