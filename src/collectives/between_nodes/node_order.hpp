// SPDX-License-Identifier: Apache-2.0
//
// Combines the partial results of nodes in the order of the nodes, like one loop over them,
// whichever node does it.
// Invariant: all PEs that combine the same partial results get the same bits. Called by the
// reductions of this folder.
#ifndef MESHMEM_COLLECTIVES_BETWEEN_NODES_NODE_ORDER_HPP_
#define MESHMEM_COLLECTIVES_BETWEEN_NODES_NODE_ORDER_HPP_

#include "collectives/between_nodes/operation.hpp"
#include "collectives/reduction.hpp"

namespace meshmem::between_nodes {

// `own` is this node's partial result; `out`, which may be the same, becomes the result of all.
// take(node) waits for the partial result of another node and says where it is. `room` has space
// for one partial result.
template <typename Take>
void combine_nodes(const Team& team, const Reduction& op, std::byte* out, const std::byte* own,
                   std::size_t count, std::byte* room, const Take& take) {
  const std::byte* total = own;
  if (team.my_node > 0) {
    total = take(0);
    for (int node = 1; node < team.my_node; ++node) {
      op.combine(room, total, take(node), count);
      total = room;
    }
    op.combine(out, total, own, count);
    total = out;
  }
  for (int node = team.my_node + 1; node < count_nodes(team); ++node) {
    op.combine(out, total, take(node), count);
    total = out;
  }
}

// The same, in place in `mine`. receive(node, to) waits for the partial result of another node and
// puts it at `to`. `room` has space for two.
template <typename Receive>
void combine_nodes(const Team& team, const Reduction& op, std::byte* mine, std::size_t count,
                   std::byte* room, const Receive& receive) {
  combine_nodes(team, op, mine, mine, count, room, [&](int node) {
    std::byte* to = node == 0 ? room : room + count * op.elem_bytes;
    receive(node, to);
    return to;
  });
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
