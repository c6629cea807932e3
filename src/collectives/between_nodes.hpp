// SPDX-License-Identifier: Apache-2.0
//
// The collectives of teams over several nodes. Data that a node's members have in common goes to
// other nodes in one message, large data from several PEs of each node at once.
// Invariant: an operation between nodes has the same number on all members, which is part of its
// messages' keys. Buffers as by_messages takes them; what is symmetric and in host memory may be
// read and written by other PEs of the node. Called by dispatch.cpp, sync() and the splits.
#ifndef MESHMEM_COLLECTIVES_BETWEEN_NODES_HPP_
#define MESHMEM_COLLECTIVES_BETWEEN_NODES_HPP_

#include <cstddef>

#include "collectives/collective.hpp"
#include "core/team.hpp"

namespace meshmem::between_nodes {

// All members have entered when one leaves.
void sync(Team& team);

// Every kind but alltoallv, which goes by gets. Up to 16 KiB the buffers of a reduction may be any
// memory.
void run(Team& team, const Collective& call);
// An alltoall of memory that no other PE reaches; small blocks.
void alltoall_of_any_memory(Team& team, const Collective& call);

// Block i of `all` becomes PE i's `mine`, in any host memory.
void gather(Team& team, std::byte* all, const void* mine, std::size_t bytes);

}  // namespace meshmem::between_nodes

#endif  // MESHMEM_COLLECTIVES_BETWEEN_NODES_HPP_
