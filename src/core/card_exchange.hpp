// SPDX-License-Identifier: Apache-2.0
//
// How the nodes of a job get to know each other: each one's first PE publishes its card, one
// exchange of all PEs carries the cards, and every PE reads them.
// Invariant: all PEs find the same facts, and the same node whose settings differ. Called by
// start-up, once a process; a wire address also later.
#ifndef MESHMEM_CORE_CARD_EXCHANGE_HPP_
#define MESHMEM_CORE_CARD_EXCHANGE_HPP_

#include <string>

#include "core/node_card.hpp"
#include "core/nodes.hpp"

namespace meshmem {

// Collective. `card`: this node's, which its first PE (`is_first`) publishes. Fills the table.
// Returns what all nodes have in common.
NodeFacts exchange_cards(NodeCard card, bool is_first, Nodes& nodes, double start_timeout);

// Of any PE of the world.
std::string wire_address_of(const Nodes& nodes, int pe);

}  // namespace meshmem

#endif  // MESHMEM_CORE_CARD_EXCHANGE_HPP_
