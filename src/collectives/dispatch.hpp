// SPDX-License-Identifier: Apache-2.0
//
// Runs a collective that the host calls, on buffers in any memory: checks the call and chooses its
// executor. ReducePolicy chooses the algorithm of a reduction.
// Invariant: the choice depends only on what all members have in common, such as the memory that
// dest and source are in. Called by the API.
#ifndef MESHMEM_COLLECTIVES_DISPATCH_HPP_
#define MESHMEM_COLLECTIVES_DISPATCH_HPP_

#include <string>

#include "base/error.hpp"
#include "collectives/collective.hpp"
#include "collectives/data_movement.hpp"
#include "collectives/sync.hpp"
#include "core/team.hpp"

namespace meshmem {

// Checks the call, then runs it by the executor that suits the buffers.
[[gnu::noinline]] void check_and_run(Team& team, const Collective& call);

// Whether both buffers are in host heaps that all members reach by loads and stores, as in most
// calls. Under MESHMEM_CHECK direct_map has no heap, so no call is plain.
[[gnu::always_inline]] inline bool is_plain(const Team& team, const Collective& call) {
  if (call.kind == CollectiveKind::collect || call.kind == CollectiveKind::alltoallv ||
      !call.root_has_dest)
    return false;
  const Buffers buffers = buffers_of(team.routine(), team.n, call);
  const Segment& heap = direct_map.heap;
  return heap.holds(buffers.dest, buffers.dest_bytes) &&
         heap.holds(buffers.source, buffers.source_bytes) && team.is_on_one_node();
}

// Runs the call by loads and stores of the processor: all members are on one node, and both buffers
// in host memory. Inlined, so that the switch disappears where the kind is known.
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
    case CollectiveKind::collect:    // dispatch.cpp calls it itself
    case CollectiveKind::alltoallv:  // goes by gets, on any team
      break;
  }
  __builtin_unreachable();
}

// Runs the Collective that `make` returns. Inlined where the kind is known, so a plain call stays
// in registers. check_and_run() gets a second call from `make`, since its argument is in memory.
template <typename Make>
[[gnu::always_inline]] inline void run(Team& team, const Make& make) {
  const Collective call = make();
  if (is_plain(team, call)) [[likely]]
    return run_on_node(team.node, call);
  check_and_run(team, make());
}

inline void check_root(const Team& team, int root) {
  if (static_cast<unsigned>(root) >= static_cast<unsigned>(team.n))
    fatal("{}: PE_root {} is not in 0..{} of the team", team.routine(), root, team.n - 1);
}

// The arguments that must be the same on all members, as text: "nreduce 2".
std::string arguments_of(const Team& team, const Collective& call);

}  // namespace meshmem

#endif  // MESHMEM_COLLECTIVES_DISPATCH_HPP_
