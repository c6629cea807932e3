// SPDX-License-Identifier: Apache-2.0
//
// The order in which partial results of nodes are combined: that of the nodes, as if a loop went
// over them, wherever it is done.
// Invariant: all PEs that combine the same partial results get the same bits. Called by the
// reductions of this folder.
#ifndef MESHMEM_COLLECTIVES_BETWEEN_NODES_NODE_ORDER_HPP_
#define MESHMEM_COLLECTIVES_BETWEEN_NODES_NODE_ORDER_HPP_

#include "collectives/between_nodes/operation.hpp"
#include "collectives/reduction.hpp"

namespace meshmem::between_nodes {

// `mine` holds this node's partial result, and becomes the result of all. receive(node, to) waits
// for that of another one. `room` is for two of them.
template <typename Receive>
void combine_nodes(const Team& team, const Reduction& op, std::byte* mine, std::size_t count,
                   std::byte* room, const Receive& receive) {
  std::byte* next = room + count * op.elem_bytes;
  if (team.my_node > 0) {
    receive(0, room);
    for (int node = 1; node < team.my_node; ++node) {
      receive(node, next);
      op.combine(room, room, next, count);
    }
    op.combine(mine, room, mine, count);
  }
  for (int node = team.my_node + 1; node < count_nodes(team); ++node) {
    receive(node, next);
    op.combine(mine, mine, next, count);
  }
}

// out = what the members of this node have at this place of their sources, in their order.
inline void combine_near(const NodeTeam& node, const Reduction& op, std::byte* out,
                         const std::byte* source, std::size_t count) {
  if (node.n == 1) {
    if (out != source) std::copy_n(source, count * op.elem_bytes, out);
    return;
  }
  const std::size_t most = kTileBytes / op.elem_bytes;
  for (std::size_t done = 0; done < count; done += most) {
    const std::size_t offset = done * op.elem_bytes;
    combine_tile(node, op, out + offset, source + offset, std::min(most, count - done));
  }
}

}  // namespace meshmem::between_nodes

#endif  // MESHMEM_COLLECTIVES_BETWEEN_NODES_NODE_ORDER_HPP_
