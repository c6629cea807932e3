// SPDX-License-Identifier: Apache-2.0
//
// Large blocks between all PEs of several nodes. A PE sends its blocks for all PEs of a node to one
// PE there, which puts each in its place. Where PEs outnumber cores another PE of its node sends
// for it.
// Invariant: a PE's dest is written only by PEs of its node, while it is inside its call. Called by
// alltoall between nodes.
#ifndef MESHMEM_COLLECTIVES_BETWEEN_NODES_ALLTOALL_DIRECT_HPP_
#define MESHMEM_COLLECTIVES_BETWEEN_NODES_ALLTOALL_DIRECT_HPP_

#include "collectives/collective.hpp"
#include "core/team.hpp"

namespace meshmem::between_nodes {

// dest and source are symmetric, in host memory.
void alltoall_direct(Team& team, const Collective& call);

}  // namespace meshmem::between_nodes

#endif  // MESHMEM_COLLECTIVES_BETWEEN_NODES_ALLTOALL_DIRECT_HPP_
