// SPDX-License-Identifier: Apache-2.0
//
// Executes a collective of a team over several nodes: from its kind to its algorithm.
// Invariant: every kind but alltoallv has a case.
#include "collectives/between_nodes.hpp"
#include "collectives/between_nodes/algorithms.hpp"

namespace meshmem::between_nodes {

void run(Team& team, const Collective& call) {
  switch (call.kind) {
    case CollectiveKind::sync:
      return sync(team);
    case CollectiveKind::broadcast:
      return broadcast(team, call);
    case CollectiveKind::collect:
      return collect(team, call);
    case CollectiveKind::fcollect:
      return fcollect(team, call);
    case CollectiveKind::alltoall:
    case CollectiveKind::alltoalls:
      return alltoall(team, call);
    case CollectiveKind::reduce:
      return reduce(team, call);
    case CollectiveKind::reduce_scatter:
      return reduce_scatter(team, call);
    case CollectiveKind::inscan:
    case CollectiveKind::exscan:
      return scan(team, call);
    case CollectiveKind::alltoallv:
      break;
  }
  __builtin_unreachable();
}

}  // namespace meshmem::between_nodes
