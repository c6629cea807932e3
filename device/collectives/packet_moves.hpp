// SPDX-License-Identifier: Apache-2.0
//
// Collectives that move few bytes, in one hop and without meetings or fences. Here a PE's *block*
// is the data that it sends one other PE. It sends each block as packets, and copies packets that
// arrive in its own rows into its dest.
// Invariant: every PE sends each other PE at least one line, perhaps without data, and waits for
// one from each. So a PE that has finished knows that all have entered (sync.hpp). A PE reads and
// writes nothing before all threads of its group have entered, and it alone writes its dest. Any
// alignment and number of bytes.
#ifndef MESHMEM_DEVICE_COLLECTIVES_PACKET_MOVES_HPP_
#define MESHMEM_DEVICE_COLLECTIVES_PACKET_MOVES_HPP_

#include "device/collectives/packet_rows.hpp"
#include "device/copy.hpp"

namespace meshmem {
namespace device {

// The caller of a routine. any: a group in any kernel. kernel: a kernel of the library that does
// nothing else. It begins after the stream's earlier work has ended.
enum class Caller { any, kernel };

// Limits for a block that one thread sends as packets. Above them two meetings take less time (see
// below). One thread of a GPU needs 0.1 us for a line. In a broadcast it either sends or receives
// data, so the limit is twice as large. On a processor moving 512 bytes takes as long as a meeting.
#if defined(MESHMEM_TARGET_IS_CPU)
constexpr std::size_t kMostOfThread = 512, kMostBroadcastByThread = kMostOfThread;
#else
constexpr std::size_t kMostOfThread = 64, kMostBroadcastByThread = 2 * kMostOfThread;
#endif
// Returns the most bytes of a block that travel as packets; all members call with the same kind of
// group. They fit into a row, beside a line for a length. Larger blocks are pushed between two
// meetings (moves.hpp), which is faster: packets are twice as long as their data, and the receiver
// has to copy them.
template <typename Group, std::size_t kOfThread = kMostOfThread>
MESHMEM_HOST_DEVICE std::size_t most_by_packets(std::size_t packet_row) {
  constexpr std::size_t kMost = std::is_same<Group, Thread>::value ? kOfThread
                                : std::is_same<Group, Wave>::value ? 2 * 1024
                                                                   : 8 * 1024;
  const std::size_t row = (packet_row / kLineBytes - 1) * kLineData;
  return row < kMost ? row : kMost;
}
template <typename Group, std::size_t kOfThread = kMostOfThread>
MESHMEM_DEVICE std::size_t most_by_packets(const TeamSync& sync,
                                           [[maybe_unused]] Caller caller = Caller::any) {
  const std::size_t row = sync.space.packet_row;
#if defined(MESHMEM_TARGET_IS_CPU)
  if (caller == Caller::kernel && blockDim.x == 1) return most_by_packets<Thread, kOfThread>(row);
#endif
  return most_by_packets<Group, kOfThread>(row);
}

// The blocks for the other PEs follow one another, with `lines` lines each. Returns the number of
// the block that has line i. Does not divide for the first block: for a thread a division takes as
// long as a line.
MESHMEM_DEVICE unsigned block_of(unsigned i, unsigned lines) { return i < lines ? 0 : i / lines; }

// Sends each other PE a block as `lines` lines, which go into its row from line `first` on. The
// block for PE i is at source + i * spacing.
template <typename Group>
MESHMEM_DEVICE void send_blocks(const Group& group, const TeamSync& sync, const std::byte* source,
                                std::size_t spacing, std::size_t bytes, unsigned first,
                                unsigned lines, std::uint64_t epoch) {
  const auto stride = static_cast<unsigned>(group.size());
  const unsigned count = static_cast<unsigned>(sync.team.n - 1) * lines;
  const PacketRows rows(sync, epoch);
  int receiver = -1;
  Bits128* row = nullptr;
#pragma unroll 1
  for (auto i = static_cast<unsigned>(group.rank()); i < count; i += kLinesTogether * stride) {
    std::uint64_t word[kLinesTogether] = {};
    int pe[kLinesTogether] = {};
    unsigned u[kLinesTogether] = {};
#pragma unroll
    for (unsigned k = 0; k < kLinesTogether; ++k) {
      if (i + k * stride >= count) continue;
      const unsigned peer = block_of(i + k * stride, lines);
      pe[k] = sync.peer(1 + static_cast<int>(peer));
      u[k] = i + k * stride - peer * lines;
      word[k] = load_word(source + static_cast<std::size_t>(pe[k]) * spacing, bytes, u[k]);
    }
#pragma unroll
    for (unsigned k = 0; k < kLinesTogether; ++k) {
      if (i + k * stride >= count) break;
      if (pe[k] != receiver) row = rows.to(receiver = pe[k]) + first;
      send_line(row + u[k], word[k], epoch);
    }
  }
}

template <typename Group>
MESHMEM_DEVICE void copy_own(const Group& group, std::byte* dest, const std::byte* source,
                             std::size_t bytes) {
  if (dest != source) copy<OwnSource>(group, dest, source, bytes);
}

// Returns the epoch of this operation. All threads of the group have entered then, and have read
// the last epoch before any of them can change it.
template <typename Group>
MESHMEM_DEVICE std::uint64_t begin_packets(const Group& group, const TeamSync& sync) {
  const std::uint64_t epoch = sync.epoch();
  group.sync();
  return next_epoch(group, sync, epoch);
}

// ---- The collectives, of blocks of at most most_by_packets()

// The block from PE i goes to dest + i * dest_spacing. The block for PE i is at source + i *
// source_spacing; with 0 all PEs get the same block.
template <typename Group>
MESHMEM_DEVICE void exchange_by_packets(const Group& group, const TeamSync& sync, std::byte* dest,
                                        std::size_t dest_spacing, const std::byte* source,
                                        std::size_t source_spacing, std::size_t bytes) {
  const auto me = static_cast<std::size_t>(sync.team.me);
  const unsigned lines = lines_for(bytes);
  const std::uint64_t epoch = begin_packets(group, sync);
  send_blocks(group, sync, source, source_spacing, bytes, 0, lines, epoch);
  copy_own(group, dest + me * dest_spacing, source + me * source_spacing, bytes);
  const Bits128* const rows = packet_row(sync, sync.team.me, 0, epoch);
  const std::size_t row = lines_of_row(sync);
  const auto sender = [&](unsigned block) {
    return static_cast<std::size_t>(sync.peer(1 + static_cast<int>(block)));
  };
  receive_lines(
      group, static_cast<unsigned>(sync.team.n - 1) * lines, epoch,
      [&](unsigned i) {
        const unsigned block = block_of(i, lines);
        return rows + sender(block) * row + (i - block * lines);
      },
      [&](unsigned i, std::uint64_t word) {
        const unsigned block = block_of(i, lines);
        store_word(dest + sender(block) * dest_spacing, bytes, i - block * lines, word);
      });
  group.sync();  // all that this group awaits has come
}

// PEs other than the root send each other PE a line without data. This saves a meeting and costs no
// time, since these lines travel beside the root's.
template <typename Group>
MESHMEM_DEVICE void broadcast_by_packets(const Group& group, const TeamSync& sync, std::byte* dest,
                                         const std::byte* source, std::size_t bytes, int root) {
  const bool is_root = sync.team.me == root;
  const std::uint64_t epoch = begin_packets(group, sync);
  send_blocks(group, sync, source, 0, is_root ? bytes : 0, 0, is_root ? lines_for(bytes) : 1,
              epoch);
  if (is_root) copy_own(group, dest, source, bytes);
  const Bits128* const rows = packet_row(sync, sync.team.me, 0, epoch);
  const std::size_t row = lines_of_row(sync);
  const unsigned data = is_root ? 0 : lines_for(bytes);
  receive_lines(
      group, data + static_cast<unsigned>(sync.team.n - 1), epoch,
      [&](unsigned i) {  // the data, then the first line of each
        return i < data
                   ? rows + static_cast<std::size_t>(root) * row + i
                   : rows +
                         static_cast<std::size_t>(sync.peer(1 + static_cast<int>(i - data))) * row;
      },
      [&](unsigned i, std::uint64_t word) {
        if (i < data) store_word(dest, bytes, i, word);
      });
  group.sync();  // all that this group awaits has come
}

// The state of a collect when all its packets have come.
struct Collected {
  std::size_t before;  // bytes of the PEs before this one
  bool is_over;        // no PE's block is larger than packets take
};

// Each PE sends a line with its length first, and right behind it the block if it is small. Every
// thread waits for all lengths, so all PEs agree on whether larger blocks must follow.
template <typename Group>
MESHMEM_DEVICE Collected collect_by_packets(const Group& group, const TeamSync& sync,
                                            std::byte* dest, const std::byte* source,
                                            std::size_t bytes) {
  constexpr int kTogether = 4;
  const int n = sync.team.n, me = sync.team.me;
  const std::size_t most = most_by_packets<Group>(sync);
  const std::uint64_t epoch = begin_packets(group, sync);
  for (int i = group.rank() + 1; i < n; i += group.size())
    send_line(packet_row(sync, sync.peer(i), me, epoch), bytes, epoch);
  send_blocks(group, sync, source, 0, bytes, 1, bytes <= most ? lines_for(bytes) : 0, epoch);

  Collected collected{0, true};
  std::size_t at = 0;
  for (int first = 0; first < n; first += kTogether) {
    const Bits128* const rows = packet_row(sync, me, first, epoch);
    const std::size_t row = lines_of_row(sync);
    const int here = n - first < kTogether ? n - first : kTogether;
    std::size_t length[kTogether] = {};
    receive_from_each<kTogether>(
        here, rows, row, epoch, [&](int k) { return first + k != me; },
        [&](int k, std::uint64_t data) { length[k] = first + k == me ? bytes : data; });
#pragma unroll 1
    for (int k = 0; k < here; at += length[k++]) {
      if (first + k == me) collected.before = at;
      if (length[k] > most) {
        collected.is_over = false;
      } else if (first + k == me) {
        copy_own(group, dest + at, source, bytes);
      } else {
        const Bits128* const data = rows + static_cast<std::size_t>(k) * row + 1;
        receive_lines(
            group, lines_for(length[k]), epoch, [&](unsigned i) { return data + i; },
            [&](unsigned i, std::uint64_t word) { store_word(dest + at, length[k], i, word); });
      }
    }
  }
  group.sync();  // all that this group awaits has come
  return collected;
}

}  // namespace device
}  // namespace meshmem

#endif  // MESHMEM_DEVICE_COLLECTIVES_PACKET_MOVES_HPP_
