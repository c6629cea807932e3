// SPDX-License-Identifier: Apache-2.0
//
// The collectives between nodes, a file each; run() chooses by the kind.
// Invariant: as in between_nodes.hpp. Used by the files of this folder.
#ifndef MESHMEM_COLLECTIVES_BETWEEN_NODES_ALGORITHMS_HPP_
#define MESHMEM_COLLECTIVES_BETWEEN_NODES_ALGORITHMS_HPP_

#include "collectives/collective.hpp"
#include "core/team.hpp"

namespace meshmem::between_nodes {

void broadcast(Team& team, const Collective& call);
void fcollect(Team& team, const Collective& call);
void collect(Team& team, const Collective& call);
void alltoall(Team& team, const Collective& call);
void reduce(Team& team, const Collective& call);
void reduce_scatter(Team& team, const Collective& call);
void scan(Team& team, const Collective& call);

}  // namespace meshmem::between_nodes

#endif  // MESHMEM_COLLECTIVES_BETWEEN_NODES_ALGORITHMS_HPP_
