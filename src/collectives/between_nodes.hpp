// SPDX-License-Identifier: Apache-2.0
//
// The steps of which collectives over several nodes are made: what a node's members have in common
// goes from its leader to the other leaders in one message, and from there to the members.
// Invariant: an operation between nodes has the same number on all members, which is part of its
// messages' keys. Data is in host memory and need not be symmetric. Called by sync() and
// by_messages.
#ifndef MESHMEM_COLLECTIVES_BETWEEN_NODES_HPP_
#define MESHMEM_COLLECTIVES_BETWEEN_NODES_HPP_

#include <cstddef>

#include "core/team.hpp"

namespace meshmem::between_nodes {

// All members have entered when one leaves.
void sync(Team& team);

// Block i of `all` becomes PE i's `mine`. At most kStageBytes a block.
void gather(Team& team, std::byte* all, const void* mine, std::size_t bytes);

// `data` becomes on all members what it is on PE `root` of the team. At most kStageBytes.
void broadcast(Team& team, std::byte* data, std::size_t bytes, int root);

}  // namespace meshmem::between_nodes

#endif  // MESHMEM_COLLECTIVES_BETWEEN_NODES_HPP_
