// SPDX-License-Identifier: Apache-2.0
//
// Executes a collective by loads and stores of the processor, where all members are on one node and
// both buffers are in host memory.
// Invariant: inlined, so that nothing is left of the switch where the kind is known. Called by
// dispatch.
#ifndef MESHMEM_COLLECTIVES_NODE_RUN_HPP_
#define MESHMEM_COLLECTIVES_NODE_RUN_HPP_

#include "collectives/collective.hpp"
#include "collectives/data_movement.hpp"
#include "collectives/node/barrier.hpp"

namespace meshmem {

[[gnu::always_inline]] inline void run_on_node(NodeTeam& team, const Collective& call) {
  switch (call.kind) {
    case CollectiveKind::sync:
      return sync(team);
    case CollectiveKind::broadcast:
      return broadcast(team, call.dest_of_broadcast(team.me), call.source, call.bytes(), call.root);
    case CollectiveKind::fcollect:
      return fcollect(team, call.dest, call.source, call.bytes());
    case CollectiveKind::alltoall:
    case CollectiveKind::alltoalls:
      return alltoall(team, call);
    case CollectiveKind::reduce:
      return reduce(team, *call.op, call.dest, call.source, call.count);
    case CollectiveKind::reduce_scatter:
      return reduce_scatter(team, *call.op, call.dest, call.source, call.count);
    case CollectiveKind::inscan:
    case CollectiveKind::exscan:
      return scan(team, *call.op, call.dest, call.source, call.count,
                  call.kind == CollectiveKind::inscan);
    case CollectiveKind::collect:    // dispatch calls it
    case CollectiveKind::alltoallv:  // by gets, wherever the members are
      break;
  }
  __builtin_unreachable();
}

}  // namespace meshmem

#endif  // MESHMEM_COLLECTIVES_NODE_RUN_HPP_
