// SPDX-License-Identifier: Apache-2.0
//
// Large blocks to all PEs of several nodes. A block goes over the network once for each node, from
// the PE that brings it to one PE there, in whose dest its neighbours read it.
// Invariant: a PE's dest is written by that PE alone. Called by fcollect and collect between nodes.
#ifndef MESHMEM_COLLECTIVES_BETWEEN_NODES_GATHER_DIRECT_HPP_
#define MESHMEM_COLLECTIVES_BETWEEN_NODES_GATHER_DIRECT_HPP_

#include "collectives/between_nodes/layout.hpp"
#include "core/team.hpp"

namespace meshmem::between_nodes {

// dest and source are symmetric, in host memory.
void gather_direct(Team& team, const Layout& layout, void* dest, const void* source);

}  // namespace meshmem::between_nodes

#endif  // MESHMEM_COLLECTIVES_BETWEEN_NODES_GATHER_DIRECT_HPP_
