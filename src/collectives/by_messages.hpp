// SPDX-License-Identifier: Apache-2.0
//
// Collectives on buffers that neither the processor nor kernels reach on all PEs alike, and on any
// where terms are to be combined in team order. Each PE copies its part into messages, batch by
// batch, and its result out of the others'.
// Invariant: every batch is one message of every PE to all, of the same length; dest may be source
// for reductions, scans and broadcast. Called by dispatch.cpp, and between nodes by what gathers.
#ifndef MESHMEM_COLLECTIVES_BY_MESSAGES_HPP_
#define MESHMEM_COLLECTIVES_BY_MESSAGES_HPP_

#include <cstddef>

#include "collectives/collective.hpp"
#include "core/team.hpp"

namespace meshmem::by_messages {

// Every kind but alltoallv, which goes by gets, and sync.
void run(Team& team, const Collective& call);

// Block i of `all` becomes PE i's `mine`: host memory, at most kStageBytes a block.
void gather(Team& team, void* all, const void* mine, std::size_t bytes);

}  // namespace meshmem::by_messages

#endif  // MESHMEM_COLLECTIVES_BY_MESSAGES_HPP_
