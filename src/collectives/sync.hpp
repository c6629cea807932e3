// SPDX-License-Identifier: Apache-2.0
//
// Meeting of all PEs of a team, or of its members on this node. Remote updates are not completed
// here: barrier_all does a quiet first.
// Invariant: what a member wrote before it entered can be read by all who have left. Called by the
// API, alltoallv and library/.
#ifndef MESHMEM_COLLECTIVES_SYNC_HPP_
#define MESHMEM_COLLECTIVES_SYNC_HPP_

#include "collectives/between_nodes.hpp"
#include "core/team.hpp"

namespace meshmem {

void sync(NodeTeam& team);

// The three ways within a node, for tests and measurements; sync() chooses.
//   flat           every PE writes its own line and reads all others: one cache-line transfer
//                  deep, n wide
//   dissemination  log2 n rounds: for many PEs, each with a core
//   counting       one counter and one release word: for many PEs that share cores, each of which
//                  then runs only twice
void sync_flat(NodeTeam& team);
void sync_dissemination(NodeTeam& team);
void sync_counting(NodeTeam& team);

inline void sync(Team& team) {
  if (team.is_on_one_node()) [[likely]]
    return sync(team.node);
  between_nodes::sync(team);
}

}  // namespace meshmem

#endif  // MESHMEM_COLLECTIVES_SYNC_HPP_
