// SPDX-License-Identifier: Apache-2.0
//
// Large reductions between nodes. Words: a *column* is one PE of each node, all with the same place
// among their node's members, that reduce one share of the data.
// Invariant: only its column's PE reads a share of a node's sources, and writes it to the node's
// dests, so dest may be source. Called by between_nodes::reduce().
#ifndef MESHMEM_COLLECTIVES_BETWEEN_NODES_COLUMNS_HPP_
#define MESHMEM_COLLECTIVES_BETWEEN_NODES_COLUMNS_HPP_

#include "collectives/between_nodes/column_memory.hpp"
#include "collectives/collective.hpp"
#include "core/team.hpp"

namespace meshmem::between_nodes {

// dest and source are symmetric, in host memory.
void reduce_in_columns(Team& team, Order order, const Collective& call);
// The same for those that staged_columns.hpp reaches, in device memory among others.
void reduce_in_staged_columns(Team& team, Order order, const Collective& call);

}  // namespace meshmem::between_nodes

#endif  // MESHMEM_COLLECTIVES_BETWEEN_NODES_COLUMNS_HPP_
