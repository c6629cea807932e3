// SPDX-License-Identifier: Apache-2.0
//
// Copies by the threads of a group, in the widest pieces that both ends allow.
// Invariant: a copy of only 1, 2, 4 or 8 aligned bytes is one load and one store, so a PE that
// waits for them never sees half. Neighbouring threads touch neighbouring pieces. Used by puts,
// gets and collectives.
#ifndef MESHMEM_DEVICE_COPY_HPP_
#define MESHMEM_DEVICE_COPY_HPP_

#include "device/group.hpp"

namespace meshmem {
namespace device {

// How the source is read. A put reads its own PE's memory. A get reads data that other PEs may have
// written.
struct OwnSource {
  template <typename T>
  MESHMEM_DEVICE_MEMBER static T load(const T* from) {
    return load_plain(from);
  }
};
struct OthersSource {
  template <typename T>
  MESHMEM_DEVICE_MEMBER static T load(const T* from) {
    return load_of_get(from);
  }
};

// Copies every step-th piece up to `end`. kInFlight loads go out before the first store, to fill
// the link. The rest goes with half as many at a time, and so on, so its loads overlap too.
template <typename Source, typename Piece, int kInFlight>
MESHMEM_DEVICE void copy_steps(Piece* to, const Piece* from, const Piece* end, std::size_t step) {
#pragma unroll 1
  for (; from + (kInFlight - 1) * step < end; from += kInFlight * step, to += kInFlight * step) {
    Piece piece[kInFlight];
#pragma unroll
    for (std::size_t k = 0; k < kInFlight; ++k) piece[k] = Source::load(from + k * step);
#pragma unroll
    for (std::size_t k = 0; k < kInFlight; ++k) store_plain(to + k * step, piece[k]);
  }
  if constexpr (kInFlight > 1) copy_steps<Source, Piece, kInFlight / 2>(to, from, end, step);
}
// Copies n pieces. Both ends are aligned to the size of a piece.
template <typename Source, typename Piece, int kInFlight, typename Group>
MESHMEM_DEVICE void copy_even(const Group& group, std::byte* to, const std::byte* from,
                              std::size_t n) {
  const auto rank = static_cast<std::size_t>(group.rank());
  const auto* source = reinterpret_cast<const Piece*>(from);
  // At most one piece each: without the loops a put or get by a block takes 0.1 to 0.2 us less.
  if (group.size() > 1 && n <= static_cast<std::size_t>(group.size())) {
    if (rank < n) store_plain(reinterpret_cast<Piece*>(to) + rank, Source::load(source + rank));
    return;
  }
  copy_steps<Source, Piece, kInFlight>(reinterpret_cast<Piece*>(to) + rank, source + rank,
                                       source + n, static_cast<std::size_t>(group.size()));
}

// One thread copies a piece of 1, 2, 4, 8 or 16 bytes.
template <typename Source>
MESHMEM_DEVICE void copy_one_piece(std::byte* to, const std::byte* from, std::size_t width) {
  const auto move = [to, from](auto piece) {
    using Piece = decltype(piece);
    store_plain(reinterpret_cast<Piece*>(to), Source::load(reinterpret_cast<const Piece*>(from)));
  };
  switch (width) {
    case 16:
      return move(Bits128());
    case 8:
      return move(std::uint64_t());
    case 4:
      return move(std::uint32_t());
    case 2:
      return move(std::uint16_t());
    default:
      return move(std::uint8_t());
  }
}

// The widest piece, up to 16 bytes, that fits and to which both addresses are aligned.
MESHMEM_DEVICE std::size_t piece_width(const std::byte* to, const std::byte* from,
                                       std::size_t bytes) {
  const auto all =
      reinterpret_cast<std::uintptr_t>(to) | reinterpret_cast<std::uintptr_t>(from) | 16;
  std::size_t width = all & (0 - all);
  while (width > bytes) width /= 2;
  return width;
}

// Copies between ends that lie unevenly. All threads copy the middle, in the widest pieces in which
// both ends can be aligned. The last thread, which has the least to do, copies the edges.
template <typename Source, int kInFlight, typename Group>
MESHMEM_DEVICE_COLD void copy_uneven(const Group& group, std::byte* to, const std::byte* from,
                                     std::size_t bytes) {
  const auto differing =
      (reinterpret_cast<std::uintptr_t>(to) ^ reinterpret_cast<std::uintptr_t>(from)) | 16;
  const std::size_t width = differing & (0 - differing);
  const std::size_t before = (0 - reinterpret_cast<std::uintptr_t>(to)) & (width - 1);
  const std::size_t head = before < bytes ? before : bytes;
  // Masked, since a GPU divides 64-bit numbers in a long loop.
  const std::size_t end = head + ((bytes - head) & (0 - width));
  if (width == 16) {
    copy_even<Source, Bits128, kInFlight>(group, to + head, from + head, (end - head) / 16);
  } else {
#pragma unroll 1
    for (std::size_t at = head + static_cast<std::size_t>(group.rank()) * width; at < end;
         at += static_cast<std::size_t>(group.size()) * width)
      copy_one_piece<Source>(to + at, from + at, width);
  }
  if (group.rank() != group.size() - 1) return;
#pragma unroll 1
  for (std::size_t at = 0; at < bytes;) {
    if (at == head) at = end;
    if (at == bytes) break;
    const std::size_t limit = at < head ? head - at : bytes - at;
    const std::size_t piece = piece_width(to + at, from + at, limit);
    copy_one_piece<Source>(to + at, from + at, piece);
    at += piece;
  }
}

// The kInFlight that reductions give copy(). On AMD it is 1, since the compiler charges every
// kernel of the file with the registers of a called function.
#if defined(MESHMEM_TARGET_IS_CUDA)
constexpr int kManyInFlight = 4;
#else
constexpr int kManyInFlight = 1;
#endif

// How many loads of 16 bytes overlap where the ends lie evenly. A processor overlaps loads itself.
#if defined(MESHMEM_TARGET_IS_CPU)
constexpr int kEvenInFlight = 1;
#else
constexpr int kEvenInFlight = 4;
#endif

// kInFlight: how many loads of 16 bytes overlap where the ends lie unevenly. Each takes registers,
// and a thread has only 64 in a user's kernel with 1,024 threads.
template <typename Source, int kInFlight = 1, typename Group>
MESHMEM_DEVICE void copy(const Group& group, void* dest, const void* source, std::size_t bytes) {
  auto* to = static_cast<std::byte*>(dest);
  const auto* from = static_cast<const std::byte*>(source);
  const auto all =
      reinterpret_cast<std::uintptr_t>(to) | reinterpret_cast<std::uintptr_t>(from) | bytes;
  if ((all & 15) == 0) {
    copy_even<Source, Bits128, kEvenInFlight>(group, to, from, bytes / 16);
  } else if ((all & 7) == 0 && bytes < 64) {
    copy_even<Source, std::uint64_t, 1>(group, to, from, bytes / 8);
  } else if ((all & 3) == 0 && bytes < 64) {
    copy_even<Source, std::uint32_t, 1>(group, to, from, bytes / 4);
  } else {
    copy_uneven<Source, kInFlight>(group, to, from, bytes);
  }
}

}  // namespace device
}  // namespace meshmem

#endif  // MESHMEM_DEVICE_COPY_HPP_
