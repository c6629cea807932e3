// SPDX-License-Identifier: Apache-2.0
//
// Meeting of all PEs of a team. Remote updates are not completed here: barrier_all does a quiet
// before.
// Invariant: what a member wrote before it entered can be read by all who have left. Called by the
// API, by memory allocation, by the splits of teams and by start-up's end.
#ifndef MESHMEM_COLLECTIVES_SYNC_HPP_
#define MESHMEM_COLLECTIVES_SYNC_HPP_

#include "collectives/between_nodes.hpp"
#include "collectives/node/barrier.hpp"
#include "core/team.hpp"

namespace meshmem {

inline void sync(Team& team) {
  if (team.is_on_one_node()) [[likely]]
    return sync(team.node);
  between_nodes::sync(team);
}

}  // namespace meshmem

#endif  // MESHMEM_COLLECTIVES_SYNC_HPP_
