// SPDX-License-Identifier: Apache-2.0
//
// Collectives that move few bytes, in one hop: each PE sends the others what is theirs as packets, and
// takes what comes out of its own rows into its dest. Nobody meets, and nothing is fenced.
// Invariant: every PE sends each other a line at least, be it without data, and awaits one of each: who
// has finished knows that all have entered (sync.hpp). Nothing is read or written before all threads of
// the group have entered; only the PE itself writes its dest. Any alignment and any number of bytes.
#ifndef MESHMEM_DEVICE_COLLECTIVES_PACKET_MOVES_HPP_
#define MESHMEM_DEVICE_COLLECTIVES_PACKET_MOVES_HPP_

#include "device/collectives/packets.hpp"
#include "device/copy.hpp"

namespace meshmem {
namespace device {

// The most bytes of a PE's block that travel as packets: what fits into a row behind a line for a
// length, and no more than takes as long as two meetings, since packets are twice their data and are
// handled twice. All members call with the same kind of group.
template <typename Group>
MESHMEM_DEVICE std::size_t most_by_packets(const TeamSync& sync) {
  constexpr std::size_t kMost = std::is_same<Group, Thread>::value ? 512
                                : std::is_same<Group, Wave>::value ? 2 * 1024
                                                                   : 8 * 1024;
  const std::size_t row = (lines_of_row(sync) - 1) * kLineData;
  return row < kMost ? row : kMost;
}
MESHMEM_DEVICE unsigned lines_for(std::size_t bytes) {
  return static_cast<unsigned>((bytes + kLineData - 1) / kLineData);
}

// ---- A word: the data of a line

template <typename Piece>
MESHMEM_DEVICE std::uint64_t load_pieces(const std::byte* from, std::size_t bytes) {
  std::uint64_t word = 0;
  for (std::size_t at = 0; at < bytes; at += sizeof(Piece))
    word |= static_cast<std::uint64_t>(*reinterpret_cast<const Piece*>(from + at)) << 8 * at;
  return word;
}
template <typename Piece>
MESHMEM_DEVICE void store_pieces(std::byte* to, std::uint64_t word, std::size_t bytes) {
  for (std::size_t at = 0; at < bytes; at += sizeof(Piece))
    *reinterpret_cast<Piece*>(to + at) = static_cast<Piece>(word >> 8 * at);
}
MESHMEM_DEVICE bool is_multiple(const std::byte* address, std::size_t bytes, std::size_t of) {
  return (reinterpret_cast<std::uintptr_t>(address) | bytes) % of == 0;
}

// Up to 8 bytes, in pieces that their alignment allows.
MESHMEM_DEVICE_COLD std::uint64_t load_uneven(const std::byte* from, std::size_t bytes) {
  if (is_multiple(from, bytes, 4)) return load_pieces<std::uint32_t>(from, bytes);
  if (is_multiple(from, bytes, 2)) return load_pieces<std::uint16_t>(from, bytes);
  return load_pieces<std::uint8_t>(from, bytes);
}
MESHMEM_DEVICE_COLD void store_uneven(std::byte* to, std::uint64_t word, std::size_t bytes) {
  if (is_multiple(to, bytes, 4)) return store_pieces<std::uint32_t>(to, word, bytes);
  if (is_multiple(to, bytes, 2)) return store_pieces<std::uint16_t>(to, word, bytes);
  store_pieces<std::uint8_t>(to, word, bytes);
}

// Word `u` of a block; the last may be partly filled, and that of an empty block is.
MESHMEM_DEVICE std::uint64_t load_word(const std::byte* block, std::size_t bytes, unsigned u) {
  const std::byte* from = block + u * kLineData;
  const std::size_t left = bytes - u * kLineData;
  if (left >= kLineData && is_multiple(from, 0, kLineData))
    return *reinterpret_cast<const std::uint64_t*>(from);
  return load_uneven(from, left < kLineData ? left : kLineData);
}
MESHMEM_DEVICE void store_word(std::byte* block, std::size_t bytes, unsigned u,
                               std::uint64_t word) {
  std::byte* to = block + u * kLineData;
  const std::size_t left = bytes - u * kLineData;
  if (left >= kLineData && is_multiple(to, 0, kLineData)) {
    *reinterpret_cast<std::uint64_t*>(to) = word;
  } else {
    store_uneven(to, word, left < kLineData ? left : kLineData);
  }
}

// ---- Lines, divided among the threads of the group

// Of a thread, under way at the same time: each takes registers.
constexpr unsigned kLinesTogether = 4;

// A block to each other PE, that for PE i being i * apart after the source: `lines` lines from line
// `first` of the row on.
template <typename Group>
MESHMEM_DEVICE void send_blocks(const Group& group, const TeamSync& sync, const std::byte* source,
                                std::size_t apart, std::size_t bytes, unsigned first,
                                unsigned lines, std::uint64_t epoch) {
  const auto step = static_cast<unsigned>(group.size());
  const unsigned count = static_cast<unsigned>(sync.team.n - 1) * lines;
#pragma unroll 1
  for (auto i = static_cast<unsigned>(group.rank()); i < count; i += kLinesTogether * step) {
    std::uint64_t word[kLinesTogether] = {};
    int pe[kLinesTogether] = {};
    unsigned u[kLinesTogether] = {};
#pragma unroll
    for (unsigned k = 0; k < kLinesTogether; ++k) {
      if (i + k * step >= count) break;
      const unsigned peer = (i + k * step) / lines;
      pe[k] = sync.peer(1 + static_cast<int>(peer));
      u[k] = i + k * step - peer * lines;
      word[k] = load_word(source + static_cast<std::size_t>(pe[k]) * apart, bytes, u[k]);
    }
#pragma unroll
    for (unsigned k = 0; k < kLinesTogether; ++k) {
      if (i + k * step >= count) break;
      send_line(packet_row(sync, pe[k], sync.team.me, epoch) + first + u[k], word[k], epoch);
    }
  }
}

// Awaits `count` lines; the i-th comes to line_of(i), and its data goes to take(i, data).
template <typename Group, typename LineOf, typename Take>
MESHMEM_DEVICE void receive_lines(const Group& group, unsigned count, std::uint64_t epoch,
                                  const LineOf& line_of, const Take& take) {
  const auto step = static_cast<unsigned>(group.size());
#pragma unroll 1
  for (auto i = static_cast<unsigned>(group.rank()); i < count; i += kLinesTogether * step) {
    Bits128 line[kLinesTogether] = {};
    for (bool all = false; !all;) {
      all = true;
#pragma unroll
      for (unsigned k = 0; k < kLinesTogether; ++k)
        if (i + k * step < count) line[k] = load_pair(line_of(i + k * step));
#pragma unroll
      for (unsigned k = 0; k < kLinesTogether; ++k)
        if (i + k * step < count) all = all && has_come(line[k], epoch);
      if (!all) pause();
    }
#pragma unroll
    for (unsigned k = 0; k < kLinesTogether; ++k)
      if (i + k * step < count) take(i + k * step, data_of(line[k]));
  }
}

template <typename Group>
MESHMEM_DEVICE void copy_own(const Group& group, std::byte* dest, const std::byte* source,
                             std::size_t bytes) {
  if (dest != source) copy<OwnSource>(group, dest, source, bytes);
}

// All threads have entered, and know the epoch before any of them can change it.
template <typename Group>
MESHMEM_DEVICE std::uint64_t begin_packets(const Group& group, const TeamSync& sync) {
  const std::uint64_t epoch = sync.epoch();
  group.sync();
  return next_epoch(group, sync, epoch);
}
// All that this group awaits has come.
template <typename Group>
MESHMEM_DEVICE void end_packets(const Group& group, const TeamSync& sync, std::uint64_t epoch) {
  if (group.rank() == 0) sync.epoch() = epoch;
  group.sync();
}

// ---- The collectives, of blocks of at most most_by_packets()

// Blocks lie `apart` bytes apart in the dest, and in the source for each PE another one or the same.
template <typename Group>
MESHMEM_DEVICE void exchange_by_packets(const Group& group, const TeamSync& sync, std::byte* dest,
                                        std::size_t apart, const std::byte* source,
                                        std::size_t source_apart, std::size_t bytes) {
  const auto me = static_cast<std::size_t>(sync.team.me);
  const unsigned lines = lines_for(bytes);
  const std::uint64_t epoch = begin_packets(group, sync);
  send_blocks(group, sync, source, source_apart, bytes, 0, lines, epoch);
  copy_own(group, dest + me * apart, source + me * source_apart, bytes);
  const Bits128* const rows = packet_row(sync, sync.team.me, 0, epoch);
  const std::size_t row = lines_of_row(sync);
  const auto sender = [&](unsigned i) {
    return static_cast<std::size_t>(sync.peer(1 + static_cast<int>(i / lines)));
  };
  receive_lines(
      group, static_cast<unsigned>(sync.team.n - 1) * lines, epoch,
      [&](unsigned i) { return rows + sender(i) * row + i % lines; },
      [&](unsigned i, std::uint64_t word) {
        store_word(dest + sender(i) * apart, bytes, i % lines, word);
      });
  end_packets(group, sync, epoch);
}

// Who is not the root sends a line without data. It costs nothing, since these lines travel while the
// root's do, and saves a meeting.
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
  end_packets(group, sync, epoch);
}

// What a collect has brought when its packets are all there.
struct Collected {
  std::size_t before;  // bytes of the PEs before this one
  bool is_over;        // no PE's block is larger than packets take
};

// A line for the length goes first, and the block right behind it if it is small. Every thread awaits
// all lengths, so all PEs agree on whether more must come.
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
  end_packets(group, sync, epoch);
  return collected;
}

}  // namespace device
}  // namespace meshmem

#endif  // MESHMEM_DEVICE_COLLECTIVES_PACKET_MOVES_HPP_
