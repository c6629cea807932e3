// SPDX-License-Identifier: Apache-2.0
//
// Makes the nodes of a job known to each other. The first PE of each node publishes the node's
// card, one exchange of all PEs carries the cards, and every PE reads them.
// Invariant: all PEs find the same facts, and the same node whose settings differ. Called by
// start-up, once a process; wire_address_of() also later.
#ifndef MESHMEM_CORE_CARD_EXCHANGE_HPP_
#define MESHMEM_CORE_CARD_EXCHANGE_HPP_

#include <string>
#include <vector>

#include "core/node_card.hpp"
#include "core/node_memory.hpp"
#include "core/nodes.hpp"
#include "core/spread.hpp"

namespace meshmem {

// Called by all PEs, when the PEs of their node have stored in the arena what a card says.
void exchange_cards(const NodeMemory& memory, double start_timeout);

// Called by all PEs after exchange_cards(). Fills `nodes`, `share` and, with the addresses of the
// other nodes, `others`. Returns the facts of all nodes together (add_facts).
NodeFacts read_cards(const NodeMemory& memory, Nodes& nodes, CoreShare& share,
                     std::vector<MachineAddresses>& others);

// The wire address of any PE of the world.
std::string wire_address_of(const Nodes& nodes, int pe);

}  // namespace meshmem

#endif  // MESHMEM_CORE_CARD_EXCHANGE_HPP_
