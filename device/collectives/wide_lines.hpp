// SPDX-License-Identifier: Apache-2.0
//
// one_shot.hpp and two_shot.hpp by wide lines, of which 94 % is data; of packets half is. Only for
// GPUs on which a line of one store instruction arrives whole: NVIDIA's over NVLink (the assumption
// of NCCL's protocol of the same kind).
// Invariant: whole waves take part, and all lanes of one go through the same loops. The flag is the
// operation's epoch, all 64 bits of it, so no line has to be wiped. The rows are not those of
// packets, whose data could pass for a flag.
#ifndef MESHMEM_DEVICE_COLLECTIVES_WIDE_LINES_HPP_
#define MESHMEM_DEVICE_COLLECTIVES_WIDE_LINES_HPP_

#include "device/collectives/two_shot.hpp"

#if defined(MESHMEM_TARGET_IS_CUDA)

namespace meshmem {
namespace device {

// A line has 15 units of 8 bytes: two in each lane, and one in the last, which has the flag.
constexpr std::size_t kLanesOfLine = 8;
constexpr std::size_t kUnitsOfLine = 15;
constexpr std::size_t kWideLineBytes = 128;

// The lines from `sender` in the memory of `receiver`.
MESHMEM_DEVICE Bits128* wide_row(const TeamSync& sync, int receiver, int sender,
                                 std::uint64_t epoch) {
  const std::size_t row = (epoch & 1) * sync.space.senders + static_cast<std::size_t>(sender);
  return reinterpret_cast<Bits128*>(sync.slab_of(receiver) + sync.space.wide +
                                    row * sync.space.wide_row);
}
MESHMEM_DEVICE std::size_t wide_lines_of_row(const TeamSync& sync) {
  return sync.space.wide_row / kWideLineBytes;
}

// A lane's units of a line: those of an array, and zero from `end` on.
template <typename E>
struct LaneUnits {
  EightBytes<E> unit[2];

  MESHMEM_DEVICE_MEMBER static LaneUnits of(const Bits128& words) {
    return {{bit_cast<EightBytes<E>>(words.word[0]), bit_cast<EightBytes<E>>(words.word[1])}};
  }
  MESHMEM_DEVICE_MEMBER Bits128 words() const {
    return {{bit_cast<std::uint64_t>(unit[0]), bit_cast<std::uint64_t>(unit[1])}};
  }
};

// The calling lane's position among the lines of a group's waves.
struct LanePosition {
  std::size_t number, line_in_wave, first, stride;

  template <typename Group>
  MESHMEM_DEVICE_MEMBER explicit LanePosition(const Group& group) {
    const auto rank = static_cast<unsigned>(group.rank());
    number = rank % kLanesOfLine;
    line_in_wave = rank % 32 / kLanesOfLine;
    first = rank / 32 * (32 / kLanesOfLine);
    stride = static_cast<unsigned>(group.size()) / kLanesOfLine;
  }
  MESHMEM_DEVICE_MEMBER bool has_flag() const { return number == kLanesOfLine - 1; }
  // The first of this lane's units in a line.
  MESHMEM_DEVICE_MEMBER std::size_t unit_of(std::size_t line) const {
    return line * kUnitsOfLine + 2 * number;
  }
  MESHMEM_DEVICE_MEMBER std::size_t word_of(std::size_t line) const {
    return line * kLanesOfLine + number;
  }
};

// visit(line, is_there) for the lines of a wave, as often for each lane of it.
template <typename Visit>
MESHMEM_DEVICE void for_each_line(const LanePosition& lane, std::size_t lines, const Visit& visit) {
  for (std::size_t line = lane.first; line < lines; line += lane.stride)
    visit(line + lane.line_in_wave, line + lane.line_in_wave < lines);
}

template <typename E>
MESHMEM_DEVICE LaneUnits<E> load_lane(const LanePosition& lane, const E* array, std::size_t count,
                                      std::size_t begin, std::size_t units, std::size_t line) {
  LaneUnits<E> mine{};
  const std::size_t u = lane.unit_of(line);
  if (u < units) mine.unit[0] = load_unit(array, count, begin + u);
  if (u + 1 < units && !lane.has_flag()) mine.unit[1] = load_unit(array, count, begin + u + 1);
  return mine;
}
template <typename E>
MESHMEM_DEVICE void store_lane(const LanePosition& lane, E* array, std::size_t count,
                               std::size_t begin, std::size_t units, std::size_t line,
                               const LaneUnits<E>& mine) {
  const std::size_t u = lane.unit_of(line);
  if (u < units) store_unit(array, count, begin + u, mine.unit[0]);
  if (u + 1 < units && !lane.has_flag()) store_unit(array, count, begin + u + 1, mine.unit[1]);
}

MESHMEM_DEVICE void send_lane(const LanePosition& lane, Bits128* row, std::size_t line,
                              Bits128 words, std::uint64_t epoch) {
  if (lane.has_flag()) words.word[1] = epoch;
  store_pair(row + lane.word_of(line), words);
}

// By all lanes of a wave at a time: the flag of the line that a lane has a piece of, whose last
// lane has it.
MESHMEM_DEVICE std::uint64_t flag_of_line(const Bits128& words) {
  const int flag_lane = static_cast<int>(threadIdx.x % 32 | (kLanesOfLine - 1));
  return __shfl_sync(0xffffffff, static_cast<unsigned long long>(words.word[1]), flag_lane);
}

// A line from each of n PEs that is awaited, then visit(pe, words) in PE order for all. Lanes with
// no line help the others of their wave, in which a line's flag is handed around.
template <typename IsAwaited, typename Visit>
MESHMEM_DEVICE void receive_lanes(const LanePosition& lane, int n, const Bits128* first,
                                  std::size_t apart, std::uint64_t epoch,
                                  const IsAwaited& is_awaited, const Visit& visit) {
  constexpr int kTogether = 8;
  for (int pe = 0; pe < n; pe += kTogether) {
    Bits128 words[kTogether] = {};
    for (bool all = false; !all;) {
      bool mine = true;
#pragma unroll
      for (int k = 0; k < kTogether; ++k)
        if (pe + k < n && is_awaited(pe + k))
          words[k] = load_pair(first + static_cast<std::size_t>(pe + k) * apart);
#pragma unroll
      for (int k = 0; k < kTogether; ++k) {
        if (pe + k >= n) continue;
        const std::uint64_t flag = flag_of_line(words[k]);
        mine = mine && (!is_awaited(pe + k) || flag == epoch);
      }
      all = all_of_wave(mine);
    }
#pragma unroll
    for (int k = 0; k < kTogether; ++k)
      if (pe + k < n) visit(pe + k, words[k]);
  }
}

// This lane's units of all PEs, combined in PE order.
template <typename Op, typename E>
MESHMEM_DEVICE LaneUnits<E> combine_lanes(const Op& op, const TeamSync& sync,
                                          const LanePosition& lane, const LaneUnits<E>& own,
                                          const Bits128* rows, std::size_t line, bool is_there,
                                          std::uint64_t epoch) {
  const int n = sync.team.n, me = sync.team.me;
  UnitTotal<E> total[2] = {};
  receive_lanes(
      lane, n, rows + lane.word_of(line), wide_lines_of_row(sync) * kLanesOfLine, epoch,
      [&](int pe) { return is_there && pe != me; },
      [&](int pe, const Bits128& words) {
        const LaneUnits<E> arrived = pe == me ? own : LaneUnits<E>::of(words);
#pragma unroll
        for (int k = 0; k < 2; ++k) {
          if (pe == 0)
            begin_total(total[k], arrived.unit[k]);
          else
            combine_unit(op, total[k], arrived.unit[k]);
        }
      });
  return {{finished<E>(op, total[0], n), finished<E>(op, total[1], n)}};
}

template <typename Op, typename E, typename Group>
MESHMEM_DEVICE void reduce_one_shot_wide(const Op& op, const Group& group, const TeamSync& sync,
                                         E* dest, const E* source, std::size_t count) {
  const int n = sync.team.n, me = sync.team.me;
  const LanePosition lane(group);
  const std::size_t units = units_of<E>(count);
  const std::size_t batch = wide_lines_of_row(sync) * kUnitsOfLine;
  std::uint64_t epoch = sync.epoch();

  group.sync();  // until they entered, others may have written source and read dest
  for (std::size_t first = 0; first < units; first += batch) {
    const std::size_t in_batch = units - first < batch ? units - first : batch;
    const std::size_t lines = quotient(in_batch + kUnitsOfLine - 1, kUnitsOfLine);
    epoch = next_epoch(group, sync, epoch);
    for_each_line(lane, lines, [&](std::size_t line, bool is_there) {
      if (!is_there) return;
      const Bits128 words = load_lane(lane, source, count, first, in_batch, line).words();
      for (int i = 1; i < n; ++i)
        send_lane(lane, wide_row(sync, sync.peer(i), me, epoch), line, words, epoch);
    });
    const Bits128* rows = wide_row(sync, me, 0, epoch);
    for_each_line(lane, lines, [&](std::size_t line, bool is_there) {
      const LaneUnits<E> own = load_lane(lane, source, count, first, in_batch, line);
      const LaneUnits<E> total = combine_lanes(op, sync, lane, own, rows, line, is_there, epoch);
      if (is_there) store_lane(lane, dest, count, first, in_batch, line, total);
    });
    group.sync();  // the whole batch has come
  }
  group.sync();
}

template <typename Op, typename E, typename Group>
MESHMEM_DEVICE void reduce_two_shot_wide(const Op& op, const Group& group, const TeamSync& sync,
                                         E* dest, const E* source, std::size_t count) {
  const int n = sync.team.n, me = sync.team.me;
  const LanePosition lane(group);
  const std::size_t lines_of_row = wide_lines_of_row(sync);
  const std::size_t results = lines_of_row / 2 * kLanesOfLine;
  const std::size_t units = units_of<E>(count);
  const std::size_t batch = lines_of_row / 2 * kUnitsOfLine * static_cast<std::size_t>(n);
  std::uint64_t epoch = sync.epoch();

  group.sync();  // until they entered, others may have written source and read dest
  for (std::size_t first = 0; first < units; first += batch) {
    const std::size_t in_batch = units - first < batch ? units - first : batch;
    const Shares shares(first, in_batch, static_cast<std::size_t>(n));
    const auto lines_of = [&](int pe) {
      return quotient(shares.units_of(pe) + kUnitsOfLine - 1, kUnitsOfLine);
    };
    epoch = next_epoch(group, sync, epoch);
    for_each_line(lane, lines_of(0), [&](std::size_t line, bool) {
      for (int i = 1; i < n; ++i) {
        const int to = sync.peer(i);
        if (line >= lines_of(to)) continue;
        const LaneUnits<E> mine =
            load_lane(lane, source, count, shares.begin_of(to), shares.units_of(to), line);
        send_lane(lane, wide_row(sync, to, me, epoch), line, mine.words(), epoch);
      }
    });
    const Bits128* rows = wide_row(sync, me, 0, epoch);
    const std::size_t begin = shares.begin_of(me), mine_units = shares.units_of(me);
    for_each_line(lane, lines_of(me), [&](std::size_t line, bool is_there) {
      const LaneUnits<E> own = load_lane(lane, source, count, begin, mine_units, line);
      const LaneUnits<E> total = combine_lanes(op, sync, lane, own, rows, line, is_there, epoch);
      if (!is_there) return;
      for (int i = 1; i < n; ++i)
        send_lane(lane, wide_row(sync, sync.peer(i), me, epoch) + results, line, total.words(),
                  epoch);
      store_lane(lane, dest, count, begin, mine_units, line, total);
    });
    for_each_line(lane, lines_of(0), [&](std::size_t line, bool) {
      const auto is_awaited = [&](int pe) { return pe != me && line < lines_of(pe); };
      receive_lanes(lane, n, rows + results + lane.word_of(line), lines_of_row * kLanesOfLine,
                    epoch, is_awaited, [&](int pe, const Bits128& words) {
                      if (is_awaited(pe))
                        store_lane(lane, dest, count, shares.begin_of(pe), shares.units_of(pe),
                                   line, LaneUnits<E>::of(words));
                    });
    });
    group.sync();  // all results have come, so all PEs are in this batch
  }
  group.sync();
}

}  // namespace device
}  // namespace meshmem

#endif  // MESHMEM_TARGET_IS_CUDA

#endif  // MESHMEM_DEVICE_COLLECTIVES_WIDE_LINES_HPP_
