// SPDX-License-Identifier: Apache-2.0
//
// Large data in device memory between nodes: it goes by puts straight to where it belongs, which
// the transport stages in pieces that overlap. Data for several PEs of a node goes to one of them,
// from which the others get it.
// Invariant: nobody's dest is written before all members have entered, and nobody leaves before its
// own is whole. dest is symmetric, source may be any memory. Used by the files of this folder.
#ifndef MESHMEM_COLLECTIVES_BETWEEN_NODES_BY_PUTS_HPP_
#define MESHMEM_COLLECTIVES_BETWEEN_NODES_BY_PUTS_HPP_

#include "collectives/between_nodes/layout.hpp"
#include "core/team.hpp"

namespace meshmem::between_nodes {

// Whether they are for `dest`, and for so much that a meeting more costs less than batches: of what
// one PE has for another one.
bool suits_puts(const Team& team, const void* dest, std::size_t dest_bytes, std::size_t block);

void broadcast_by_puts(Team& team, void* dest, const void* source, std::size_t bytes, int root);
void gather_by_puts(Team& team, const Layout& layout, void* dest, const void* source);
// Block i of `block` bytes of source becomes PE i's block `me`.
void alltoall_by_puts(Team& team, void* dest, const void* source, std::size_t block);

}  // namespace meshmem::between_nodes

#endif  // MESHMEM_COLLECTIVES_BETWEEN_NODES_BY_PUTS_HPP_
