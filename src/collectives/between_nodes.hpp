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

#include "collectives/data_movement.hpp"
#include "collectives/reduction.hpp"
#include "core/team.hpp"

namespace meshmem::between_nodes {

// All members have entered when one leaves.
void sync(Team& team);

void broadcast(Team& team, void* dest, const void* source, std::size_t bytes, int root);
// Of members that do not all know the same of dest, as the root of an active set, which has none.
void broadcast_of_any_memory(Team& team, void* dest, const void* source, std::size_t bytes,
                             int root);
void fcollect(Team& team, void* dest, const void* source, std::size_t bytes);
void collect(Team& team, void* dest, const void* source, std::size_t bytes);
void alltoall(Team& team, void* dest, const void* source, const AlltoallShape& shape);
// Of memory that no other PE reaches; small blocks.
void alltoall_of_any_memory(Team& team, void* dest, const void* source, const AlltoallShape& shape);
// Up to 16 KiB dest and source may be any memory.
void reduce(Team& team, const Reduction& op, void* dest, const void* source, std::size_t count);
void reduce_scatter(Team& team, const Reduction& op, void* dest, const void* source,
                    std::size_t count);
void scan(Team& team, const Reduction& op, void* dest, const void* source, std::size_t count,
          bool inclusive);

// Block i of `all` becomes PE i's `mine`, in any host memory.
void gather(Team& team, std::byte* all, const void* mine, std::size_t bytes);

}  // namespace meshmem::between_nodes

#endif  // MESHMEM_COLLECTIVES_BETWEEN_NODES_HPP_
