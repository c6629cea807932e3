// SPDX-License-Identifier: Apache-2.0
//
// Reductions in two hops, without a barrier: every PE sends each other the share that the other owns,
// combines its own share in PE order, and sends the result to all; 2/n of the bytes of one_shot.hpp.
// Words: a *unit* is what travels together (combine.hpp); a *part* is what fits into the rows at once,
// a *share* one PE's units of it. The first half of a row takes what is to be combined, the second the
// results. Parts take turns in the rows of the two parities.
// Invariant: shares are equal, the last ones shorter or empty. Every part has a unit, so all get a
// result that all have contributed to. A thread has the same places in all shares of a part: it reads
// a unit of the source before it writes that of the dest, also in place.
#ifndef MESHMEM_DEVICE_COLLECTIVES_TWO_SHOT_HPP_
#define MESHMEM_DEVICE_COLLECTIVES_TWO_SHOT_HPP_

#include "device/collectives/one_shot.hpp"
#include "device/collectives/slices.hpp"

namespace meshmem {
namespace device {

// The units of a part, divided among PEs.
struct Shares {
  std::size_t first, units;  // of the part
  std::size_t longest;

  MESHMEM_DEVICE_MEMBER std::size_t begin_of(int pe) const {
    return first + static_cast<std::size_t>(pe) * longest;
  }
  MESHMEM_DEVICE_MEMBER std::size_t units_of(int pe) const {
    const std::size_t before = static_cast<std::size_t>(pe) * longest;
    return before >= units ? 0 : units - before < longest ? units - before : longest;
  }
};

// The places of the calling thread in a share.
template <typename Group, typename Visit>
MESHMEM_DEVICE void for_each_place(const Group& group, std::size_t units, const Visit& visit) {
  for (auto u = static_cast<std::size_t>(group.rank()); u < units;
       u += static_cast<std::size_t>(group.size()))
    visit(u);
}

// The others' shares of this PE's source, to their owners: the loads for several of them are under way
// at the same time.
template <typename E, typename Group>
MESHMEM_DEVICE void send_shares(const Group& group, const TeamSync& sync, const Shares& shares,
                                const E* source, std::size_t count, std::uint64_t epoch) {
  constexpr int kTogether = 8;
  const int n = sync.team.n;
  for_each_place(group, shares.longest, [&](std::size_t u) {
    for (int i = 1; i < n; i += kTogether) {
      Unit<E> unit[kTogether] = {};
      const auto is_there = [&](int k) {
        return i + k < n && u < shares.units_of(sync.peer(i + k));
      };
#pragma unroll
      for (int k = 0; k < kTogether; ++k)
        if (is_there(k)) unit[k] = load_unit(source, count, shares.begin_of(sync.peer(i + k)) + u);
#pragma unroll
      for (int k = 0; k < kTogether; ++k)
        if (is_there(k))
          send_line(packet_row(sync, sync.peer(i + k), sync.team.me, epoch) + u,
                    bit_cast<std::uint64_t>(unit[k]), epoch);
    }
  });
}

// This PE's share of all sources, into its dest and to all others.
template <ReduceOp op, typename E, typename Group>
MESHMEM_DEVICE void combine_share(const Group& group, const TeamSync& sync, const Shares& shares,
                                  E* dest, const E* source, std::size_t count,
                                  std::uint64_t epoch) {
  const int me = sync.team.me;
  const Bits128* rows = packet_row(sync, me, 0, epoch);
  const std::size_t results = lines_of_row(sync) / 2;
  for_each_place(group, shares.units_of(me), [&](std::size_t u) {
    const std::size_t at = shares.begin_of(me) + u;
    const int n = sync.team.n;
    const Unit<E> total = finished<op, E>(
        combine_received<op>(sync, load_unit(source, count, at), n, rows + u, epoch), n);
    for (int i = 1; i < n; ++i)
      send_line(packet_row(sync, sync.peer(i), me, epoch) + results + u,
                bit_cast<std::uint64_t>(total), epoch);
    store_unit(dest, count, at, total);
  });
}

template <typename E, typename Group>
MESHMEM_DEVICE void receive_results(const Group& group, const TeamSync& sync, const Shares& shares,
                                    E* dest, std::size_t count, std::uint64_t epoch) {
  const int me = sync.team.me;
  const std::size_t lines = lines_of_row(sync);
  const Bits128* results = packet_row(sync, me, 0, epoch) + lines / 2;
  for_each_place(group, shares.longest, [&](std::size_t u) {
    const auto is_awaited = [&](int pe) { return pe != me && u < shares.units_of(pe); };
    receive_from_each(sync.team.n, results + u, lines, epoch, is_awaited,
                      [&](int pe, std::uint64_t data) {
                        if (is_awaited(pe))
                          store_unit(dest, count, shares.begin_of(pe) + u, bit_cast<Unit<E>>(data));
                      });
  });
}

template <ReduceOp op, typename E, typename Group>
MESHMEM_DEVICE void reduce_two_shot(const Group& group, const TeamSync& sync, E* dest,
                                    const E* source, std::size_t count) {
  const auto n = static_cast<std::size_t>(sync.team.n);
  const std::size_t units = units_of<E>(count);
  const std::size_t part = lines_of_row(sync) / 2 * n;
  std::uint64_t epoch = sync.epoch();

  group.sync();  // until they entered, others may have written source and read dest
  for (std::size_t first = 0; first < units; first += part) {
    const std::size_t in_part = units - first < part ? units - first : part;
    const Shares shares{first, in_part, quotient(in_part + n - 1, n)};
    epoch = next_epoch(group, sync, epoch);
    send_shares(group, sync, shares, source, count, epoch);
    combine_share<op>(group, sync, shares, dest, source, count, epoch);
    receive_results(group, sync, shares, dest, count, epoch);
    group.sync();  // all results have come, so all PEs are in this part
    if (group.rank() == 0) sync.epoch() = epoch;
  }
  group.sync();
}

}  // namespace device
}  // namespace meshmem

#endif  // MESHMEM_DEVICE_COLLECTIVES_TWO_SHOT_HPP_
