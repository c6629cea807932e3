// SPDX-License-Identifier: Apache-2.0
//
// Reductions in two hops, without a barrier. Every PE sends each share of its source to the share's
// owner. The owner combines the share in PE order and sends the result to all. PEs send 2/n of the
// bytes of one_shot.hpp. The first half of a row is for elements to combine, the second half for
// results. Batches alternate between the rows of the two parities.
// Invariant: a thread has the same units in all shares of a batch. It reads a unit of the source
// before it writes that unit of the dest, also in place.
#ifndef MESHMEM_DEVICE_COLLECTIVES_TWO_SHOT_HPP_
#define MESHMEM_DEVICE_COLLECTIVES_TWO_SHOT_HPP_

#include "device/collectives/one_shot.hpp"
#include "device/collectives/slices.hpp"

namespace meshmem {
namespace device {

// The units of a batch, divided among PEs: the first `full` PEs have shares of the same length, the
// next PE has the rest, and the others have none. A batch is never empty, so every PE gets a result
// to which all have contributed.
struct Shares {
  std::size_t first;  // of the batch
  std::size_t longest;
  int full;
  std::size_t rest;  // of the PE after the full ones

  MESHMEM_DEVICE_MEMBER Shares(std::size_t begin, std::size_t units, std::size_t n)
      : first(begin), longest((units + n - 1) / n) {
    full = static_cast<int>(units / longest);
    rest = units - static_cast<std::size_t>(full) * longest;
  }
  MESHMEM_DEVICE_MEMBER std::size_t begin_of(int pe) const {
    return first + static_cast<std::size_t>(pe) * longest;
  }
  MESHMEM_DEVICE_MEMBER std::size_t count_of(int pe) const {
    return pe < full ? longest : pe == full ? rest : 0;
  }
  // The number of PEs whose shares have a unit `u`; they are the first ones.
  MESHMEM_DEVICE_MEMBER int pes_with(std::size_t u) const { return full + (u < rest ? 1 : 0); }
};

// Visits the calling thread's units of a share.
template <typename Group, typename Visit>
MESHMEM_DEVICE void for_each_unit(const Group& group, std::size_t units, const Visit& visit) {
  for (auto u = static_cast<std::size_t>(group.rank()); u < units;
       u += static_cast<std::size_t>(group.size()))
    visit(u);
}

// Sends each other PE its share of this PE's source. Loads for several PEs overlap.
template <typename E, typename Group>
MESHMEM_DEVICE void send_shares(const Group& group, const TeamSync& sync, const Shares& shares,
                                const E* source, std::size_t count, std::uint64_t epoch) {
  constexpr int kTogether = 4;
  const int n = sync.team.n;
  const PacketRows rows(sync, epoch);
  for_each_unit(group, shares.longest, [&](std::size_t u) {
    const int pes = shares.pes_with(u);
#pragma unroll 1
    for (int i = 1; i < n; i += kTogether) {
      EightBytes<E> unit[kTogether] = {};
#pragma unroll
      for (int k = 0; k < kTogether; ++k) {
        const int pe = sync.peer(i + k);
        if (i + k < n && pe < pes) unit[k] = load_unit(source, count, shares.begin_of(pe) + u);
      }
#pragma unroll
      for (int k = 0; k < kTogether; ++k) {
        const int pe = sync.peer(i + k);
        if (i + k < n && pe < pes)
          send_line(rows.to(pe) + u, bit_cast<std::uint64_t>(unit[k]), epoch);
      }
    }
  });
}

// Combines this PE's share of all sources, stores it in dest and sends it to all others.
template <typename Op, typename E, typename Group>
MESHMEM_DEVICE void combine_share(const Op& op, const Group& group, const TeamSync& sync,
                                  const Shares& shares, E* dest, const E* source, std::size_t count,
                                  std::uint64_t epoch) {
  const int me = sync.team.me;
  const PacketRows rows(sync, epoch);
  const Bits128* received = rows.from(0);
  for_each_unit(group, shares.count_of(me), [&](std::size_t u) {
    const std::size_t at = shares.begin_of(me) + u;
    const int n = MESHMEM_OPAQUE(sync.team.n, group);
    const EightBytes<E> total = finished(
        op, combine_received(op, sync, load_unit(source, count, at), n, received + u, epoch), n);
    const TeamSync& to = MESHMEM_OPAQUE(sync, group);
    const std::size_t results = lines_of_row(to) / 2;
    for (int i = 1; i < n; ++i)
      send_line(rows.to(to.peer(i)) + results + u, bit_cast<std::uint64_t>(total), epoch);
    store_unit(dest, count, at, total);
  });
}

template <typename E, typename Group>
MESHMEM_DEVICE void receive_results(const Group& group, const TeamSync& sync, const Shares& shares,
                                    E* dest, std::size_t count, std::uint64_t epoch) {
  const int me = sync.team.me;
  const std::size_t lines = lines_of_row(sync);
  const Bits128* results = PacketRows(sync, epoch).from(0) + lines / 2;
  for_each_unit(group, shares.longest, [&](std::size_t u) {
    receive_from_each(
        shares.pes_with(u), results + u, lines, epoch, [me](int pe) { return pe != me; },
        [&](int pe, std::uint64_t data) {
          if (pe != me)
            store_unit(dest, count, shares.begin_of(pe) + u, bit_cast<EightBytes<E>>(data));
        });
  });
}

template <typename Op, typename E, typename Group>
MESHMEM_DEVICE void reduce_two_shot(const Op& op, const Group& group, const TeamSync& channel,
                                    E* dest, const E* source, std::size_t count) {
  const auto n = static_cast<std::size_t>(channel.team.n);
  const std::size_t units = units_of<E>(count);
  const std::size_t batch = lines_of_row(channel) / 2 * n;
  std::uint64_t epoch = channel.epoch();

  group.sync();  // other threads may use source and dest until they enter
  for (std::size_t first = 0; first < units; first += batch) {
    const TeamSync& sync = MESHMEM_OPAQUE(channel, group);
    const std::size_t in_batch = units - first < batch ? units - first : batch;
    const Shares shares(first, in_batch, MESHMEM_OPAQUE(n, group));
    epoch = next_epoch(group, sync, epoch);
    send_shares(group, sync, shares, source, count, epoch);
    combine_share(op, group, sync, shares, dest, source, count, epoch);
    receive_results(group, sync, shares, dest, count, epoch);
    group.sync();  // this PE has all results, so all PEs are in this batch
  }
  group.sync();
}

}  // namespace device
}  // namespace meshmem

#endif  // MESHMEM_DEVICE_COLLECTIVES_TWO_SHOT_HPP_
