// SPDX-License-Identifier: Apache-2.0
//
// The collectives between nodes, a file each; run() chooses by the kind. Each one chooses its way
// by choice.hpp. Small data goes through leaders. The ways for large data, below, have files of
// their own.
// Invariant: as in between_nodes.hpp. Used by the files of this folder.
#ifndef MESHMEM_COLLECTIVES_BETWEEN_NODES_ALGORITHMS_HPP_
#define MESHMEM_COLLECTIVES_BETWEEN_NODES_ALGORITHMS_HPP_

#include "collectives/between_nodes/column_memory.hpp"
#include "collectives/between_nodes/layout.hpp"
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

// ---- Large data, where dest and source are symmetric and in host memory

void alltoall_direct(Team& team, const Collective& call);
void gather_direct(Team& team, const Layout& layout, void* dest, const void* source);
void reduce_in_columns(Team& team, Order order, const Collective& call);
// The same for buffers that the processor does not read where they are, such as device memory
// (staged_columns.hpp).
void reduce_in_staged_columns(Team& team, Order order, const Collective& call);

// ---- Large data in device memory, by puts: dest is symmetric, source may be any memory

// Whether `dest` is symmetric, and `block`, the bytes that one PE has for another, is so large that
// one more meeting costs less than batches.
bool suits_puts(const Team& team, const void* dest, std::size_t dest_bytes, std::size_t block);
void broadcast_by_puts(Team& team, void* dest, const void* source, std::size_t bytes, int root);
void gather_by_puts(Team& team, const Layout& layout, void* dest, const void* source);
// Block i of source, of `block` bytes, becomes block `me` of PE i's dest.
void alltoall_by_puts(Team& team, void* dest, const void* source, std::size_t block);

}  // namespace meshmem::between_nodes

#endif  // MESHMEM_COLLECTIVES_BETWEEN_NODES_ALGORITHMS_HPP_
