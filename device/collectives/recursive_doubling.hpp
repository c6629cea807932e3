// SPDX-License-Identifier: Apache-2.0
//
// Reductions in log2 n exchanges of whole totals, by packets. A *run* is a sequence of PEs that
// have the same total; at first each PE is a run. Each exchange merges two runs.
// Invariant: both partners put the total of the lower run first, so all PEs get the same bits.
// These may differ from the bits of combining in PE order. Totals of half and bfloat16 travel as
// float, and are rounded once, at the end.
#ifndef MESHMEM_DEVICE_COLLECTIVES_RECURSIVE_DOUBLING_HPP_
#define MESHMEM_DEVICE_COLLECTIVES_RECURSIVE_DOUBLING_HPP_

#include "device/collectives/combine.hpp"
#include "device/collectives/packet_rows.hpp"

namespace meshmem {
namespace device {

// Sends and receives the total of a unit: one line, or two where the total is wider than the unit.
template <typename E>
struct TotalPackets {
  static constexpr std::size_t kLines = sizeof(UnitTotal<E>) / kLineData;
  const PacketRows& rows;
  std::uint64_t epoch;
  std::size_t at;  // this unit's first line, in each row

  MESHMEM_DEVICE_MEMBER void send(int pe, const UnitTotal<E>& total) const {
    std::uint64_t data[kLines];
    memcpy(data, &total, sizeof total);
    Bits128* row = rows.to(pe) + at;
#pragma unroll
    for (std::size_t k = 0; k < kLines; ++k) send_line(row + k, data[k], epoch);
  }
  MESHMEM_DEVICE_MEMBER UnitTotal<E> receive(int pe) const {
    std::uint64_t data[kLines];
    const Bits128* row = rows.from(pe) + at;
#pragma unroll
    for (std::size_t k = 0; k < kLines; ++k) data[k] = receive_line(row + k, epoch);
    UnitTotal<E> total;
    memcpy(&total, data, sizeof total);
    return total;
  }
};

// The participants of the exchanges have numbers, in PE order. If n is a power of two, each PE is a
// participant. If not, the first PEs fold in pairs, one participant each: the odd PE gives its
// elements to the even one before the exchanges, and gets the result after them.
struct Doubling {
  int numbers;  // participants: the largest power of two that is not above n
  int folded;   // pairs at the beginning that are one participant each

  MESHMEM_DEVICE_MEMBER explicit Doubling(int n) : numbers(1) {
    while (numbers * 2 <= n) numbers *= 2;
    folded = n - numbers;
  }
  MESHMEM_DEVICE_MEMBER bool is_folded(int pe) const { return pe < 2 * folded; }
  MESHMEM_DEVICE_MEMBER int number_of(int pe) const { return is_folded(pe) ? pe / 2 : pe - folded; }
  MESHMEM_DEVICE_MEMBER int pe_of(int number) const {
    return number < folded ? 2 * number : number + folded;
  }
};

// Returns the total of all PEs; `total` is this PE's own. A PE sends a unit to another PE only once
// in an operation, so one row for each sender is enough. The result depends on all PEs, so a PE
// that has it knows that all have entered. The exchange of a unit waits for no other unit.
template <typename Op, typename E>
MESHMEM_DEVICE UnitTotal<E> exchange_totals(const Op& op, const TotalPackets<E>& packets,
                                            const Doubling& doubling, int me, UnitTotal<E> total) {
  const bool is_folded = doubling.is_folded(me);
  if (is_folded && me % 2 == 1) {
    packets.send(me - 1, total);
    return packets.receive(me - 1);
  }
  if (is_folded) total = combine_totals(op, total, packets.receive(me + 1));
  const int number = doubling.number_of(me);
  for (int bit = 1; bit < doubling.numbers; bit *= 2) {
    const int partner = doubling.pe_of(number ^ bit);
    packets.send(partner, total);
    const UnitTotal<E> theirs = packets.receive(partner);
    total = number & bit ? combine_totals(op, theirs, total) : combine_totals(op, total, theirs);
  }
  if (is_folded) packets.send(me + 1, total);
  return total;
}

template <typename Op, typename E, typename Group>
MESHMEM_DEVICE void reduce_recursive_doubling(const Op& op, const Group& group,
                                              const TeamSync& channel, E* dest, const E* source,
                                              std::size_t count) {
  constexpr std::size_t kLines = TotalPackets<E>::kLines;
  const Doubling doubling(channel.team.n);
  const std::size_t units = units_of<E>(count);
  const std::size_t batch = lines_of_row(channel) / kLines;
  std::uint64_t epoch = channel.epoch();

  group.sync();  // before it, other threads of the group may still write source and read dest
  for (std::size_t first = 0; first < units; first += batch) {
    const TeamSync& sync = MESHMEM_OPAQUE(channel, group);
    const std::size_t last = first + batch < units ? first + batch : units;
    epoch = next_epoch(group, sync, epoch);
    const PacketRows rows(sync, epoch);
    for (std::size_t u = first + static_cast<std::size_t>(group.rank()); u < last;
         u += static_cast<std::size_t>(group.size())) {
      UnitTotal<E> total;
      begin_total(total, load_unit(source, count, u));
      const TotalPackets<E> packets{rows, epoch, (u - first) * kLines};
      const int me = MESHMEM_OPAQUE(sync.team.me, group);
      total = exchange_totals(op, packets, doubling, me, total);
      store_unit(dest, count, u, finished(op, total, sync.team.n));
    }
    group.sync();
  }
  group.sync();
}

}  // namespace device
}  // namespace meshmem

#endif  // MESHMEM_DEVICE_COLLECTIVES_RECURSIVE_DOUBLING_HPP_
