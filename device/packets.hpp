// SPDX-License-Identifier: Apache-2.0
//
// Packets: 4 bytes of data and 4 of flag in one 8-byte store. Data needs no fence and no barrier: a
// thread that sees the flag has the data. Two packets side by side make a *line*, which carries 8
// bytes, a *word*. A line moves in one access where the target has accesses of 16 bytes. Each half
// has its own flag, so the halves need not arrive together.
// Invariant: a thread that fills a line knows that the reader is done with the line's last content,
// which had another flag. Used by collectives (collectives/packet_rows.hpp) and by puts of packets.
#ifndef MESHMEM_DEVICE_PACKETS_HPP_
#define MESHMEM_DEVICE_PACKETS_HPP_

#include "device/memory.hpp"

namespace meshmem {
namespace device {

constexpr std::size_t kLineBytes = sizeof(Bits128);
constexpr std::size_t kLineData = 8;

MESHMEM_DEVICE unsigned lines_for(std::size_t bytes) {
  return static_cast<unsigned>((bytes + kLineData - 1) / kLineData);
}

// ---- A line. Its flags are the low 32 bits of the epoch.

MESHMEM_DEVICE Bits128 line_of(std::uint64_t data, std::uint64_t epoch) {
  constexpr std::uint64_t kLow = 0xffffffff;
  const std::uint64_t flag = epoch << 32;
  return {{flag | (data & kLow), flag | data >> 32}};
}
MESHMEM_DEVICE void send_line(Bits128* to, std::uint64_t data, std::uint64_t epoch) {
  store_pair(to, line_of(data, epoch));
}

MESHMEM_DEVICE bool has_come(const Bits128& line, std::uint64_t epoch) {
  const auto flag = static_cast<std::uint32_t>(epoch);
  return static_cast<std::uint32_t>(line.word[0] >> 32) == flag &&
         static_cast<std::uint32_t>(line.word[1] >> 32) == flag;
}
MESHMEM_DEVICE std::uint64_t data_of(const Bits128& line) {
  return line.word[1] << 32 | static_cast<std::uint32_t>(line.word[0]);
}
MESHMEM_DEVICE std::uint64_t receive_line(const Bits128* from, std::uint64_t epoch) {
  for (;;) {
    const Bits128 line = load_pair(from);
    if (has_come(line, epoch)) {
      has_waited();
      return data_of(line);
    }
    pause_for([=] { return from; });
  }
}

// ---- A word: the data of a line

template <typename Piece>
MESHMEM_DEVICE std::uint64_t load_pieces(const std::byte* from, std::size_t bytes) {
  std::uint64_t word = 0;
  for (std::size_t at = 0; at < bytes; at += sizeof(Piece))
    word |= static_cast<std::uint64_t>(load_plain(reinterpret_cast<const Piece*>(from + at)))
            << 8 * at;
  return word;
}
template <typename Piece>
MESHMEM_DEVICE void store_pieces(std::byte* to, std::uint64_t word, std::size_t bytes) {
  for (std::size_t at = 0; at < bytes; at += sizeof(Piece))
    store_plain(reinterpret_cast<Piece*>(to + at), static_cast<Piece>(word >> 8 * at));
}
MESHMEM_DEVICE bool is_multiple(const std::byte* address, std::size_t bytes, std::size_t of) {
  return (reinterpret_cast<std::uintptr_t>(address) | bytes) % of == 0;
}

// Up to 8 bytes, in the widest pieces that the alignment allows.
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

// Word `u` of `bytes` bytes of data. The last word may be partly filled, or empty if there is no
// data.
MESHMEM_DEVICE std::uint64_t load_word(const std::byte* block, std::size_t bytes, unsigned u) {
  const std::byte* from = block + u * kLineData;
  const std::size_t left = bytes - u * kLineData;
  if (left >= kLineData && is_multiple(from, 0, kLineData))
    return load_plain(reinterpret_cast<const std::uint64_t*>(from));
  return load_uneven(from, left < kLineData ? left : kLineData);
}
MESHMEM_DEVICE void store_word(std::byte* block, std::size_t bytes, unsigned u,
                               std::uint64_t word) {
  std::byte* to = block + u * kLineData;
  const std::size_t left = bytes - u * kLineData;
  if (left >= kLineData && is_multiple(to, 0, kLineData)) {
    store_plain(reinterpret_cast<std::uint64_t*>(to), word);
  } else {
    store_uneven(to, word, left < kLineData ? left : kLineData);
  }
}

// Words of data. even: all are whole and aligned to 8 bytes. Lines are the same either way, so PEs
// need not agree.
template <bool even>
struct Words {
  MESHMEM_DEVICE_MEMBER static std::uint64_t load(const std::byte* block, std::size_t bytes,
                                                  std::size_t u) {
    if constexpr (even)
      return load_plain(reinterpret_cast<const std::uint64_t*>(block) + u);
    else
      return load_word(block, bytes, static_cast<unsigned>(u));
  }
  MESHMEM_DEVICE_MEMBER static void store(std::byte* block, std::size_t bytes, std::size_t u,
                                          std::uint64_t word) {
    if constexpr (even)
      store_plain(reinterpret_cast<std::uint64_t*>(block) + u, word);
    else
      store_word(block, bytes, static_cast<unsigned>(u), word);
  }
};

// ---- Lines, divided among the threads of a group

// How many lines of a thread are under way at the same time; each takes registers.
constexpr unsigned kLinesTogether = 4;

// Awaits `count` lines; the i-th comes to line_at(i), and its data goes to take(i, data).
template <typename Group, typename LineAt, typename Take>
MESHMEM_DEVICE void receive_lines(const Group& group, unsigned count, std::uint64_t epoch,
                                  const LineAt& line_at, const Take& take) {
  const auto step = static_cast<unsigned>(group.size());
  auto i = static_cast<unsigned>(group.rank());
#pragma unroll 1
  for (; i + (kLinesTogether - 1) * step < count; i += kLinesTogether * step) {
    Bits128 line[kLinesTogether] = {};
    for (bool all = false; !all;) {
      all = true;
#pragma unroll
      for (unsigned k = 0; k < kLinesTogether; ++k) line[k] = load_pair(line_at(i + k * step));
#pragma unroll
      for (unsigned k = 0; k < kLinesTogether; ++k) all = all && has_come(line[k], epoch);
      if (!all)
        pause_for([&] {
          unsigned k = 0;
          while (k + 1 < kLinesTogether && has_come(line[k], epoch)) ++k;
          return line_at(i + k * step);
        });
    }
    has_waited();
#pragma unroll
    for (unsigned k = 0; k < kLinesTogether; ++k) take(i + k * step, data_of(line[k]));
  }
#pragma unroll 1
  for (; i < count; i += step) take(i, receive_line(line_at(i), epoch));
}

}  // namespace device
}  // namespace meshmem

#endif  // MESHMEM_DEVICE_PACKETS_HPP_
