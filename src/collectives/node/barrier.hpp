// SPDX-License-Identifier: Apache-2.0
//
// Meeting of all members of a team on this node. Remote updates are not completed here.
// Invariant: what a member wrote before it entered can be read by all who have left. Called by
// sync() and by the steps between nodes.
#ifndef MESHMEM_COLLECTIVES_NODE_BARRIER_HPP_
#define MESHMEM_COLLECTIVES_NODE_BARRIER_HPP_

#include "core/node_team.hpp"

namespace meshmem {

void sync(NodeTeam& team);

// The three ways within a node, for tests and measurements; sync() chooses.
//   flat           every PE writes its own line and reads all others: one cache-line transfer
//                  deep, n wide
//   dissemination  log2 n rounds: for many PEs that all run
//   counting       one counter and one release word: for many PEs that share cores, each of which
//                  then runs only twice
void sync_flat(NodeTeam& team);
void sync_dissemination(NodeTeam& team);
void sync_counting(NodeTeam& team);

}  // namespace meshmem

#endif  // MESHMEM_COLLECTIVES_NODE_BARRIER_HPP_
