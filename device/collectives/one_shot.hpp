// SPDX-License-Identifier: Apache-2.0
//
// Reductions and scans in one hop. Every PE sends packets to each other PE: the same elements to
// all, or each PE's share to it. It combines the elements that it gets in PE order. A batch is as
// many units as fit into a row; batches alternate between the rows of the two parities.
// Invariant: any count, in place or not. No buffer is read or written before all threads of the
// group have entered. A thread reads its units of the source before it writes the same ones of the
// dest.
#ifndef MESHMEM_DEVICE_COLLECTIVES_ONE_SHOT_HPP_
#define MESHMEM_DEVICE_COLLECTIVES_ONE_SHOT_HPP_

#include "device/collectives/combine.hpp"
#include "device/collectives/packet_rows.hpp"

namespace meshmem {
namespace device {

// Combines one unit each of PEs 0 to end - 1, in PE order. `own` is this PE's unit; PE 0's arrives
// in the packet line at `first`. Waits for the units of all other PEs, also for those of the PEs
// from `end` on.
template <typename Op, typename E>
MESHMEM_DEVICE UnitTotal<E> combine_received(const Op& op, const TeamSync& sync,
                                             const EightBytes<E>& own, int end,
                                             const Bits128* first, std::uint64_t epoch) {
  const int me = sync.team.me;
  UnitTotal<E> total{};
  receive_from_each(
      sync.team.n, first, lines_of_row(sync), epoch, [me](int pe) { return pe != me; },
      [&](int pe, std::uint64_t data) {
        if (pe >= end) return;
        const EightBytes<E> unit = pe == me ? own : bit_cast<EightBytes<E>>(data);
        if (pe == 0) {
          begin_total(total, unit);
        } else {
          combine_into(op, total, unit);
        }
      });
  return total;
}

// Combines the elements of PEs 0 to end - 1. If end is 0, as on PE 0 in an exclusive scan, dest
// gets zeroes. This PE sends PE i the elements from source + i * spacing on; if spacing is 0, all
// PEs get the same.
template <typename Op, typename E, typename Group>
MESHMEM_DEVICE void combine_one_shot(const Op& op, const Group& group, const TeamSync& channel,
                                     E* dest, const E* source, std::size_t count, int end,
                                     std::size_t spacing) {
  const int n = channel.team.n;
  const int me = channel.team.me;
  const std::size_t units = units_of<E>(count);
  const std::size_t batch = lines_of_row(channel);
  const auto rank = static_cast<std::size_t>(group.rank());
  const auto stride = static_cast<std::size_t>(group.size());
  std::uint64_t epoch = channel.epoch();

  group.sync();  // before it, other threads may still write source and read dest
  for (std::size_t first = 0; first < units; first += batch) {
    const TeamSync& sync = MESHMEM_OPAQUE(channel, group);
    const std::size_t last = first + batch < units ? first + batch : units;
    epoch = next_epoch(group, sync, epoch);
    const PacketRows rows(sync, epoch);
    int receiver = -1;
    Bits128* row = nullptr;
    for (std::size_t u = first + rank; u < last; u += stride) {
      auto data = bit_cast<std::uint64_t>(load_unit(source, count, u));
      for (int i = 1; i < n; ++i) {
        const int peer = sync.peer(i);
        if (spacing != 0)
          data = bit_cast<std::uint64_t>(
              load_unit(source + static_cast<std::size_t>(peer) * spacing, count, u));
        if (peer != receiver) row = rows.to(receiver = peer);
        send_line(row + (u - first), data, epoch);
      }
    }
    const E* const own = source + static_cast<std::size_t>(me) * spacing;
    const Bits128* received = rows.from(0);
    for (std::size_t u = first + rank; u < last; u += stride) {
      const UnitTotal<E> total =
          combine_received(op, sync, load_unit(own, count, u), end, received + (u - first), epoch);
      store_unit(dest, count, u, finished(op, total, n));
    }
    // The whole batch has come, so all PEs have left the batch before it. The next batch may
    // overwrite that one's rows.
    group.sync();
  }
  group.sync();
}

template <typename Op, typename E, typename Group>
MESHMEM_DEVICE void reduce_one_shot(const Op& op, const Group& group, const TeamSync& sync, E* dest,
                                    const E* source, std::size_t count, std::size_t spacing = 0) {
  combine_one_shot(op, group, sync, dest, source, count, sync.team.n, spacing);
}

template <typename E, typename Group>
MESHMEM_DEVICE int scan(const Group& group, const TeamSync& sync, E* dest, const E* source,
                        std::size_t count, bool inclusive) {
  if (count > 0)
    combine_one_shot(StaticOp<ReduceOp::sum>(), group, sync, dest, source, count,
                     sync.team.me + (inclusive ? 1 : 0), 0);
  return 0;
}

}  // namespace device
}  // namespace meshmem

#endif  // MESHMEM_DEVICE_COLLECTIVES_ONE_SHOT_HPP_
