// SPDX-License-Identifier: Apache-2.0
//
// The collectives of teams over several nodes. For small data a node's leader puts what its members
// send into one message to another leader. Large data goes from several PEs of each node at once.
// Invariant: an operation between nodes has the same number on all members, which is part of its
// messages' keys. Buffers may be in any memory. Other PEs of the node may read and write those that
// are symmetric and in host memory. Called by the other files of collectives/ and by team splits.
#ifndef MESHMEM_COLLECTIVES_BETWEEN_NODES_HPP_
#define MESHMEM_COLLECTIVES_BETWEEN_NODES_HPP_

#include <cstddef>

#include "collectives/collective.hpp"
#include "core/team.hpp"

namespace meshmem::between_nodes {

// Returns when all members have entered.
void sync(Team& team);

// Runs every kind except alltoallv, which alltoallv.cpp does by gets. Up to 16 KiB the buffers of a
// reduction may be in any memory; larger ones in host memory must be symmetric.
void run(Team& team, const Collective& call);
// An alltoall of small blocks in memory that no other PE needs to reach.
void alltoall_of_any_memory(Team& team, const Collective& call);

// Copies PE i's `mine` to block i of `all`, in any host memory.
void gather(Team& team, std::byte* all, const void* mine, std::size_t bytes);

}  // namespace meshmem::between_nodes

#endif  // MESHMEM_COLLECTIVES_BETWEEN_NODES_HPP_
