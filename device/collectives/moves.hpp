// SPDX-License-Identifier: Apache-2.0
//
// Collectives that move data: broadcast, collect, fcollect, alltoall and alltoalls. Few bytes
// travel as packets (packet_moves.hpp). With more, each PE pushes its blocks into the others' dest,
// between a meeting when all buffers are ready and one when all data has arrived.
// Invariant: a PE's dest is written, and its source read, only after all threads of its group have
// entered the call. A dest is complete when the call returns. A call of 0 bytes does nothing,
// except that in collect PEs still exchange lengths.
#ifndef MESHMEM_DEVICE_COLLECTIVES_MOVES_HPP_
#define MESHMEM_DEVICE_COLLECTIVES_MOVES_HPP_

#include "device/collectives/packet_moves.hpp"
#include "device/collectives/progress.hpp"
#include "device/rma.hpp"

namespace meshmem {
namespace device {

// Pushes `vectors` of 16 bytes from `source` to every member's `dest`. Loads several at a time,
// each once, and stores them to one PE after the other.
template <typename Group>
MESHMEM_DEVICE void push_vectors_to_all(const Group& group, const TeamSync& sync, Bits128* dest,
                                        const Bits128* source, std::size_t vectors) {
  constexpr std::size_t kInFlight = 4;
  const auto stride = static_cast<std::size_t>(group.size());
#pragma unroll 1
  for (auto v = static_cast<std::size_t>(group.rank()); v < vectors; v += kInFlight * stride) {
    Bits128 vector[kInFlight] = {};
#pragma unroll
    for (std::size_t k = 0; k < kInFlight; ++k)
      if (v + k * stride < vectors) vector[k] = load_plain(source + v + k * stride);
#pragma unroll 1
    for (int i = 1; i <= sync.team.n; ++i) {
      const int pe = sync.peer(i);
      if (pe == sync.team.me && dest == source) continue;
      Bits128* const there = translate(dest, world_pe_of(sync.team, pe)) + v;
#pragma unroll
      for (std::size_t k = 0; k < kInFlight; ++k)
        if (v + k * stride < vectors) store_plain(there + k * stride, vector[k]);
    }
  }
}

// Pushes `bytes` from `source` to every member's `dest`. If dest is source, leaves out this PE.
template <typename Group>
MESHMEM_DEVICE void push_to_all(const Group& group, const TeamSync& sync, std::byte* dest,
                                const std::byte* source, std::size_t bytes) {
  const auto ends =
      reinterpret_cast<std::uintptr_t>(dest) | reinterpret_cast<std::uintptr_t>(source);
  if (((ends | bytes) & 15) == 0 && is_equally_aligned(dest)) {
    push_vectors_to_all(group, sync, reinterpret_cast<Bits128*>(dest),
                        reinterpret_cast<const Bits128*>(source), bytes / 16);
    return;
  }
  for (int i = 1; i <= sync.team.n; ++i) {
    const int pe = sync.peer(i);
    if (pe == sync.team.me) {
      copy_own(group, dest, source, bytes);
    } else {
      copy<OwnSource>(group, translate(dest, world_pe_of(sync.team, pe)), source, bytes);
    }
  }
}

template <typename Group>
MESHMEM_DEVICE void enter(const Group& group, const TeamSync& sync, Caller caller) {
  if (caller == Caller::kernel) return enter_after_kernels(group, sync);
  team_sync(group, sync);
}

template <typename Group>
MESHMEM_DEVICE int broadcast(const Group& group, const TeamSync& sync, void* dest,
                             const void* source, std::size_t bytes, int root,
                             Caller caller = Caller::any) {
  auto* const to = static_cast<std::byte*>(dest);
  const auto* const from = static_cast<const std::byte*>(source);
  if (bytes == 0) return 0;
  if (bytes <= most_by_packets<Group, kMostBroadcastByThread>(sync, caller)) {
    broadcast_by_packets(group, sync, to, from, bytes, root);
    return 0;
  }
  enter(group, sync, caller);
  if (sync.team.me == root) push_to_all(group, sync, to, from, bytes);
  team_sync(group, sync);
  return 0;
}

// Pushes a block to `my_block` in one PE after the other. PE i's block is at source + i *
// source_spacing. This PE's own block goes first if own_first is set, otherwise last. If half of a
// kernel's blocks set it, the links carry data while memory copies.
template <typename Group>
MESHMEM_DEVICE void push_in_turn(const Group& group, const TeamSync& sync, std::byte* my_block,
                                 const std::byte* source, std::size_t source_spacing,
                                 std::size_t bytes, bool own_first) {
  const int first = own_first ? 0 : 1;  // peer(0) and peer(n) are this PE
  for (int i = first; i < first + sync.team.n; ++i) {
    const int pe = sync.peer(i);
    std::byte* const there = translate(my_block, world_pe_of(sync.team, pe));
    const std::byte* const from = source + static_cast<std::size_t>(pe) * source_spacing;
    if (there != from) copy<OwnSource>(group, there, from, bytes);
  }
}

// Whether the library's fcollect kernels push the whole block to one PE after the other, instead of
// each piece to all PEs. That is 2 to 4 % faster on NVIDIA GPUs, whose links lead to a switch. AMD
// GPUs have a link for each PE.
#if defined(MESHMEM_TARGET_IS_HIP)
constexpr bool kFcollectPushesInTurn = false;
#else
constexpr bool kFcollectPushesInTurn = true;
#endif

// The blocks of the PEs are `spacing` bytes apart in the dest. own_first: as in push_in_turn().
template <typename Group>
MESHMEM_DEVICE int fcollect(const Group& group, const TeamSync& sync, void* dest,
                            const void* source, std::size_t bytes, std::size_t spacing,
                            bool own_first = false, Caller caller = Caller::any) {
  auto* const to = static_cast<std::byte*>(dest);
  const auto* const from = static_cast<const std::byte*>(source);
  if (bytes == 0) return 0;
  if (bytes <= most_by_packets<Group>(sync, caller)) {
    exchange_by_packets(group, sync, to, spacing, from, 0, bytes);
    return 0;
  }
  std::byte* const my_block = to + static_cast<std::size_t>(sync.team.me) * spacing;
  enter(group, sync, caller);
  if (kFcollectPushesInTurn && caller == Caller::kernel)
    push_in_turn(group, sync, my_block, from, 0, bytes, own_first);
  else
    push_to_all(group, sync, my_block, from, bytes);
  team_sync(group, sync);
  return 0;
}

// Blocks that are too long for packets are pushed. The packets with the lengths replace the first
// meeting.
template <typename Group>
MESHMEM_DEVICE int collect(const Group& group, const TeamSync& sync, void* dest, const void* source,
                           std::size_t bytes) {
  auto* const to = static_cast<std::byte*>(dest);
  const auto* const from = static_cast<const std::byte*>(source);
  const Collected collected = collect_by_packets(group, sync, to, from, bytes);
  if (collected.is_over) return 0;
  if (bytes > most_by_packets<Group>(sync))
    push_to_all(group, sync, to + collected.before, from, bytes);
  team_sync(group, sync);
  return 0;
}

// The blocks for the PEs are `spacing` bytes apart, in the source and in the dest. own_first: as in
// push_in_turn().
template <typename Group>
MESHMEM_DEVICE int alltoall(const Group& group, const TeamSync& sync, void* dest,
                            const void* source, std::size_t bytes, std::size_t spacing,
                            bool own_first = false, Caller caller = Caller::any) {
  auto* const to = static_cast<std::byte*>(dest);
  const auto* const from = static_cast<const std::byte*>(source);
  if (bytes == 0) return 0;
  if (bytes <= most_by_packets<Group>(sync, caller)) {
    exchange_by_packets(group, sync, to, spacing, from, spacing, bytes);
    return 0;
  }
  std::byte* const my_block = to + static_cast<std::size_t>(sync.team.me) * spacing;
  enter(group, sync, caller);
  push_in_turn(group, sync, my_block, from, spacing, bytes, own_first);
  team_sync(group, sync);
  return 0;
}

// Element j of block b lies at index (b * nelems + j) * stride.
template <typename E, typename Group>
MESHMEM_DEVICE int alltoalls(const Group& group, const TeamSync& sync, void* dest,
                             const void* source, std::ptrdiff_t dst, std::ptrdiff_t sst,
                             std::size_t nelems) {
  if (nelems == 0) return 0;
  const int me = sync.team.me;
  const auto block = [nelems](auto* base, int pe, std::ptrdiff_t stride) {
    return base + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(pe) * nelems) * stride;
  };
  team_sync(group, sync);
  for (int i = 0; i < sync.team.n; ++i) {
    const int pe = sync.peer(i);
    copy_blocks<OwnSource, E>(
        group, translate(block(static_cast<E*>(dest), me, dst), world_pe_of(sync.team, pe)), dst,
        block(static_cast<const E*>(source), pe, sst), sst, 1, nelems);
  }
  team_sync(group, sync);
  return 0;
}

}  // namespace device
}  // namespace meshmem

#endif  // MESHMEM_DEVICE_COLLECTIVES_MOVES_HPP_
