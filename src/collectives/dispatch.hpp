// SPDX-License-Identifier: Apache-2.0
//
// Collectives on buffers in whatever memory they are. The one place that decides what runs: the
// processor, kernels (device_collectives.hpp) or messages (by_messages.hpp); by which algorithm a
// reduction then runs says ReducePolicy.
// Invariant: what decides is where dest and source are, which all members have in common. Called by
// the API.
#ifndef MESHMEM_COLLECTIVES_DISPATCH_HPP_
#define MESHMEM_COLLECTIVES_DISPATCH_HPP_

#include <cstddef>

#include "collectives/data_movement.hpp"
#include "collectives/reduction.hpp"
#include "core/team.hpp"

namespace meshmem::dispatch {

void broadcast(Team& team, void* dest, const void* source, std::size_t bytes, int root);
// The same, but the root's dest is left as it is.
void broadcast_to_others(Team& team, void* dest, const void* source, std::size_t bytes, int root);
void fcollect(Team& team, void* dest, const void* source, std::size_t bytes);
void collect(Team& team, void* dest, const void* source, std::size_t bytes);
void alltoall(Team& team, void* dest, const void* source, const AlltoallShape& shape);
void reduce(Team& team, const Reduction& op, void* dest, const void* source, std::size_t count);
void reduce_scatter(Team& team, const Reduction& op, void* dest, const void* source,
                    std::size_t count);
void scan(Team& team, const Reduction& op, void* dest, const void* source, std::size_t count,
          bool inclusive);

}  // namespace meshmem::dispatch

#endif  // MESHMEM_COLLECTIVES_DISPATCH_HPP_
