// SPDX-License-Identifier: Apache-2.0
//
// The PE of another node to which a PE sends when it need not be a particular one. Each PE has one
// *partner* on every other node, who puts what comes where it belongs on that node.
// Invariant: where nodes are alike partners are partners of each other. Called by the direct
// collectives of this folder.
#ifndef MESHMEM_COLLECTIVES_BETWEEN_NODES_PARTNERS_HPP_
#define MESHMEM_COLLECTIVES_BETWEEN_NODES_PARTNERS_HPP_

#include "collectives/between_nodes/operation.hpp"

namespace meshmem::between_nodes {

// To whom on another node this PE sends.
inline int partner_on(const Team& team, int node) {
  const Team::Node& there = node_at(team, node);
  return member(there, team.node.me % count_members(there));
}

// Calls run(pe) for those of node `node` who send to member `index` of this one.
template <typename Run>
void for_partners_on(const Team& team, int node, int index, const Run& run) {
  const Team::Node& there = node_at(team, node);
  for (int i = index; i < count_members(there); i += team.node.n) run(member(there, i));
}
// The same for all other nodes.
template <typename Run>
void for_partners_of(const Team& team, int index, const Run& run) {
  for (int i = 1; i < count_nodes(team); ++i)
    for_partners_on(team, node_after(team, -i), index, run);
}

}  // namespace meshmem::between_nodes

#endif  // MESHMEM_COLLECTIVES_BETWEEN_NODES_PARTNERS_HPP_
