// SPDX-License-Identifier: Apache-2.0
//
// Reductions of large data where all PEs reach each other at the same speed: a PE reads its share of
// all sources, combines it in PE order, and writes the result to all dests. Nothing is staged.
// Words: a *share* is one PE's part of the elements; a *vector* 16 bytes of elements.
// Invariant: between a meeting at which all sources and dests are ready and one at which all has
// arrived. Each share is read and written by its owner alone, and each place of it read before it is
// written, so dest may be the source.
#ifndef MESHMEM_DEVICE_COLLECTIVES_DIRECT_HPP_
#define MESHMEM_DEVICE_COLLECTIVES_DIRECT_HPP_

#include "device/collectives/combine.hpp"
#include "device/collectives/slices.hpp"
#include "device/collectives/vector.hpp"
#include "device/module.hpp"
#include "device/sync.hpp"

namespace meshmem {
namespace device {

template <ReduceOp op, typename E, typename Group>
struct DirectReduction {
  const Group& group;
  const TeamSync& sync;
  E* dest;
  const E* source;
  std::size_t first, end;  // this PE's share

  // The first PEs' sources and dests are in registers; those of others are looked up at each use. Of narrow
  // integers a vector has many, so that there would be much code.
  static constexpr int kDirectPes = sizeof(E) >= 4 || !std::is_integral<E>::value ? 8 : 2;

  template <typename V>
  MESHMEM_DEVICE_MEMBER V load(const E* from) const {
    return bit_cast<V>(load_of_get(reinterpret_cast<const Bits<sizeof(V)>*>(from)));
  }
  template <typename T>
  MESHMEM_DEVICE_MEMBER T* at(T* address, int pe) const {
    return pe == sync.team.me ? address : translate(address, world_pe_of(sync.team, pe));
  }

  // The vector (or element) at place i, of all PEs: their loads are under way at the same time.
  template <typename V>
  MESHMEM_DEVICE_MEMBER void combine_place(const E* const (&from)[kDirectPes],
                                           E* const (&to)[kDirectPes], std::size_t i) const {
    const int n = sync.team.n;
    V arrived[kDirectPes] = {};
#pragma unroll
    for (int pe = 0; pe < kDirectPes; ++pe)
      if (pe < n) arrived[pe] = load<V>(from[pe] + i);
    VectorTotal<E, sizeof(V) / sizeof(E)> total(arrived[0]);
#pragma unroll
    for (int pe = 1; pe < kDirectPes; ++pe)
      if (pe < n) total.template add<op>(arrived[pe]);
    for (int pe = kDirectPes; pe < n; ++pe) total.template add<op>(load<V>(at(source, pe) + i));
    const V result = total.template rounded<op, V>(n);
#pragma unroll
    for (int k = 0; k < kDirectPes; ++k)
      if (k < n) *reinterpret_cast<V*>(to[k] + i) = result;
    for (int k = kDirectPes; k < n; ++k) *reinterpret_cast<V*>(at(dest, sync.peer(k)) + i) = result;
  }

  template <typename V>
  MESHMEM_DEVICE_MEMBER void run(const E* const (&from)[kDirectPes], E* const (&to)[kDirectPes],
                                 std::size_t begin, std::size_t count) const {
    constexpr std::size_t kElems = sizeof(V) / sizeof(E);
    const auto step = static_cast<std::size_t>(group.size()) * kElems;
#pragma unroll 1
    for (std::size_t i = static_cast<std::size_t>(group.rank()) * kElems; i < count; i += step)
      combine_place<V>(from, to, begin + i);
  }

  MESHMEM_DEVICE_MEMBER void run() const {
    if (first >= end) return;
    const E* from[kDirectPes] = {};
    E* to[kDirectPes] = {};
#pragma unroll
    for (int k = 0; k < kDirectPes; ++k) {
      if (k >= sync.team.n) continue;
      from[k] = at(source, k);
      to[k] = at(dest, sync.peer(k));
    }
    // Both ends as far from a multiple of 16 bytes: all but the edges by vectors.
    const auto lead_of = [this](const E* address) {
      return (0 - reinterpret_cast<std::uintptr_t>(address + first)) % 16 / sizeof(E);
    };
    const bool even = lead_of(source) == lead_of(dest);
    const std::size_t count = end - first;
    const std::size_t lead = !even || lead_of(source) > count ? count : lead_of(source);
    const std::size_t middle = (count - lead) / Vector<E>::kElems * Vector<E>::kElems;
    run<Vector<E>>(from, to, first + lead, middle);
    run<Vector<E, sizeof(E)>>(from, to, first, lead);
    run<Vector<E, sizeof(E)>>(from, to, first + lead + middle, count - lead - middle);
  }
};

template <ReduceOp op, typename E, typename Group>
MESHMEM_DEVICE void reduce_direct(const Group& group, const TeamSync& sync, E* dest,
                                  const E* source, std::size_t count) {
  constexpr std::size_t kGrain = 128 / sizeof(E);
  const auto n = static_cast<std::size_t>(sync.team.n);
  const std::size_t grains = (count + kGrain - 1) / kGrain;
  const std::size_t share = quotient(grains + n - 1, n) * kGrain;
  const std::size_t first = share * static_cast<std::size_t>(sync.team.me);
  const auto at_most = [count](std::size_t i) { return i < count ? i : count; };
  team_sync(group, sync);
  before_get();
  DirectReduction<op, E, Group>{group, sync, dest, source, at_most(first), at_most(first + share)}
      .run();
  team_sync(group, sync);
}

}  // namespace device
}  // namespace meshmem

#endif  // MESHMEM_DEVICE_COLLECTIVES_DIRECT_HPP_
