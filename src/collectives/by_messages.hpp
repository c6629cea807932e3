// SPDX-License-Identifier: Apache-2.0
//
// Collectives on buffers that neither processors nor kernels reach on all PEs, and on any buffers
// if terms have to be combined in team order. Each PE copies its part into messages, batch by
// batch, and its result out of the others' messages.
// Invariant: every batch is one message of every PE to all, of the same length; dest may be source
// for reductions, scans and broadcast. Called by dispatch.cpp and between_nodes/.
#ifndef MESHMEM_COLLECTIVES_BY_MESSAGES_HPP_
#define MESHMEM_COLLECTIVES_BY_MESSAGES_HPP_

#include <cstddef>
#include <vector>

#include "collectives/collective.hpp"
#include "core/team.hpp"

namespace meshmem::by_messages {

// Runs every kind except sync, and alltoallv, which goes by gets.
void run(Team& team, const Collective& call);

// Copies PE i's `mine` to block i of `all`: host memory, at most kStageBytes a block.
void gather(Team& team, void* all, const void* mine, std::size_t bytes);

// Returns what each PE gives as `mine`.
template <typename T>
std::vector<T> gather(Team& team, const T& mine) {
  std::vector<T> all(static_cast<std::size_t>(team.n));
  gather(team, all.data(), &mine, sizeof mine);
  return all;
}

}  // namespace meshmem::by_messages

#endif  // MESHMEM_COLLECTIVES_BY_MESSAGES_HPP_
