// SPDX-License-Identifier: Apache-2.0
//
// Reductions of large data by loads: a PE reads its share of all sources, combines it in PE order,
// and writes the result to all dests. There is no copy in between.
// Invariant: the PEs meet before the first load, when all sources and dests are ready, and after
// the last store. Only the owner of a share reads and writes it. It reads each place before it
// writes there, so dest may be the source.
#ifndef MESHMEM_DEVICE_COLLECTIVES_PULL_HPP_
#define MESHMEM_DEVICE_COLLECTIVES_PULL_HPP_

#include "device/collectives/combine_all.hpp"

namespace meshmem {
namespace device {

template <typename Op, typename E, typename Group>
MESHMEM_DEVICE void reduce_pull(const Op& op, const Group& group, const TeamSync& sync, E* dest,
                                const E* source, std::size_t count) {
  const ElementShares<E> shares(count, sync.team.n);
  const int me = sync.team.me;
  const std::size_t first = shares.begin_of(me);
  team_sync(group, sync);
  before_get();
  combine_all<E>(
      op, group, sync.team.n, [&](int pe) { return in_member(sync, source + first, pe); },
      [&](int k) { return in_member(sync, dest + first, sync.peer(k)); }, shares.count_of(me));
  team_sync(group, sync);
}

}  // namespace device
}  // namespace meshmem

#endif  // MESHMEM_DEVICE_COLLECTIVES_PULL_HPP_
