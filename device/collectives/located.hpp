// SPDX-License-Identifier: Apache-2.0
//
// maxloc and minloc: a PE reads its share of all PEs' sources, picks one element for each place,
// and writes it to all dests.
// Invariant: as in pull.hpp, with the same steps. Elements of 16 bytes may lie at any multiple of
// 8. One function for each size of elements does all types and both operations.
#ifndef MESHMEM_DEVICE_COLLECTIVES_LOCATED_HPP_
#define MESHMEM_DEVICE_COLLECTIVES_LOCATED_HPP_

#include "device/collectives/by_grid.hpp"
#include "device/collectives/combine_all.hpp"
#include "device/located.hpp"

namespace meshmem {
namespace device {

// Returns the one of all PEs' elements at `place` that is the result. Loads of kTogether PEs
// overlap.
template <typename U>
MESHMEM_DEVICE Located<U> choose_from_all(const LocatedOrder& order, const TeamSync& sync,
                                          const Located<U>* place) {
  constexpr int kTogether = 4;
  Located<U> taken{};
#pragma unroll 1
  for (int first = 0; first < sync.team.n; first += kTogether) {
    Located<U> arrived[kTogether] = {};
#pragma unroll
    for (int k = 0; k < kTogether; ++k) {
      if (first + k >= sync.team.n) continue;
      const Located<U>* const there = in_member(sync, place, first + k);
      arrived[k] = {load_of_get(&there->value), load_of_get(&there->index)};
    }
#pragma unroll
    for (int k = 0; k < kTogether; ++k) {
      if (first + k >= sync.team.n) continue;
      if (first + k == 0 || order.takes(arrived[k], taken)) taken = arrived[k];
    }
  }
  return taken;
}

template <typename U, typename Group>
MESHMEM_DEVICE void reduce_located(const LocatedOrder& order, const Group& group,
                                   const TeamSync& sync, Located<U>* dest, const Located<U>* source,
                                   std::size_t count) {
  if (count == 0) return;
  const ElementShares<Located<U>> shares(count, sync.team.n);
  const std::size_t first = shares.begin_of(sync.team.me);
  const std::size_t mine = shares.count_of(sync.team.me);
  team_sync(group, sync);
  before_get();
#pragma unroll 1
  for (auto i = static_cast<std::size_t>(group.rank()); i < mine;
       i += static_cast<std::size_t>(group.size())) {
    const Located<U> taken = choose_from_all(order, sync, source + first + i);
#pragma unroll 1
    for (int k = 0; k < sync.team.n; ++k) {
      Located<U>* const there = in_member(sync, dest + first + i, sync.peer(k));
      store_plain(&there->value, taken.value);
      store_plain(&there->index, taken.index);
    }
  }
  team_sync(group, sync);
}
template <typename U>
MESHMEM_DEVICE void reduce_located(const LocatedOrder& order, const CooperativeGrid& grid,
                                   const TeamSync& sync, Located<U>* dest, const Located<U>* source,
                                   std::size_t count) {
  by_slices<Located<U>>(grid, sync, count, [&](const TeamSync& channel, const Slice& slice) {
    reduce_located(order, Block(), channel, dest + slice.first, source + slice.first, slice.count);
  });
}

}  // namespace device
}  // namespace meshmem

#endif  // MESHMEM_DEVICE_COLLECTIVES_LOCATED_HPP_
