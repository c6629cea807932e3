// SPDX-License-Identifier: Apache-2.0
//
// Reductions and scans in one hop: every PE sends its elements to all others as packets, and adds up
// what it gets, in PE order.
// Words: a *unit* is what travels together (combine.hpp), a *part* as many units as fit into
// a row at once; parts take turns in the rows of the two parities.
// Invariant: any count, in place or not. Nothing is read or written before all threads of the group
// have entered; then a thread reads its units of the source before it writes the same ones of the dest.
#ifndef MESHMEM_DEVICE_COLLECTIVES_ONE_SHOT_HPP_
#define MESHMEM_DEVICE_COLLECTIVES_ONE_SHOT_HPP_

#include "device/collectives/combine.hpp"
#include "device/collectives/packets.hpp"

namespace meshmem {
namespace device {

// Which PEs' elements are combined: those before `end`. None gives zero bits (an exclusive scan's
// first).
template <ReduceOp op, typename E, typename Group>
MESHMEM_DEVICE void combine_packets(const Group& group, const TeamSync& sync, E* dest,
                                    const E* source, std::size_t count, int end) {
  constexpr std::size_t kWords = Unit<E>::kWords;
  const int n = sync.team.n;
  const int me = sync.team.me;
  const std::size_t units = (count + Unit<E>::kElems - 1) / Unit<E>::kElems;
  const std::size_t part = state().sync_layout.packet_row(sync.slot) / (kPacketBytes * kWords);
  const auto step = static_cast<std::size_t>(group.size());
  std::uint64_t epoch = sync.epoch();

  group.sync();  // until they entered, others may have written source and read dest
  for (std::size_t first = 0; first < units; first += part) {
    const std::size_t last = first + part < units ? first + part : units;
    epoch = next_epoch(group, sync, epoch);
    for (std::size_t u = first + static_cast<std::size_t>(group.rank()); u < last; u += step) {
      const Unit<E> unit = load_unit(source, count, u);
      for (int i = 1; i < n; ++i) {
        std::uint64_t* row = packet_row(sync, sync.peer(i), me, epoch) + (u - first) * kWords;
#pragma unroll
        for (std::size_t k = 0; k < kWords; ++k) send_packet(row + k, word_of(unit, k), epoch);
      }
    }
    for (std::size_t u = first + static_cast<std::size_t>(group.rank()); u < last; u += step) {
      const Unit<E> own = load_unit(source, count, u);
      UnitTotal<E> total{};
      for (int pe = 0; pe < n; ++pe) {  // all packets are awaited, also those that are left out
        Unit<E> unit = own;
        if (pe != me) {
          const std::uint64_t* row = packet_row(sync, me, pe, epoch) + (u - first) * kWords;
#pragma unroll
          for (std::size_t k = 0; k < kWords; ++k)
            set_word(unit, k, receive_packet(row + k, epoch));
        }
        if (pe >= end) continue;
        if (pe == 0) {
          begin_total(total, unit);
        } else {
          combine_unit<op, E>(total, unit);
        }
      }
      store_unit(dest, count, u, rounded<E>(total));
    }
    // The whole part has come: whoever is in the next one knows that all left the last.
    group.sync();
    if (group.rank() == 0) sync.epoch() = epoch;
  }
  group.sync();
}

template <ReduceOp op, typename E, typename Group>
MESHMEM_DEVICE int reduce(const Group& group, const TeamSync& sync, E* dest, const E* source,
                          std::size_t count) {
  if (count > 0) combine_packets<op>(group, sync, dest, source, count, sync.team.n);
  return 0;
}

template <typename E, typename Group>
MESHMEM_DEVICE int scan(const Group& group, const TeamSync& sync, E* dest, const E* source,
                        std::size_t count, bool inclusive) {
  if (count > 0)
    combine_packets<ReduceOp::sum>(group, sync, dest, source, count,
                                   sync.team.me + (inclusive ? 1 : 0));
  return 0;
}

}  // namespace device
}  // namespace meshmem

#endif  // MESHMEM_DEVICE_COLLECTIVES_ONE_SHOT_HPP_
