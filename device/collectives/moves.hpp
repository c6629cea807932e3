// SPDX-License-Identifier: Apache-2.0
//
// Collectives that move data: each PE pushes its blocks straight into the others' dest, between a
// meeting at which all sources and dests are ready and one at which all has arrived.
// Invariant: a dest is written, and a source read, only after all threads of the group in its PE have
// entered the call; a dest is complete when the call returns. A call that moves nothing does nothing,
// on all PEs alike. Bodies of broadcast, collect, fcollect, alltoall and alltoalls.
#ifndef MESHMEM_DEVICE_COLLECTIVES_MOVES_HPP_
#define MESHMEM_DEVICE_COLLECTIVES_MOVES_HPP_

#include "device/collectives/packets.hpp"
#include "device/rma.hpp"

namespace meshmem {
namespace device {

// Pushes `bytes` from `source` to every member's `dest`, this PE's too unless it is the same place.
template <typename Group>
MESHMEM_DEVICE void push_to_all(const Group& group, const TeamSync& sync, void* dest,
                                const void* source, std::size_t bytes) {
  for (int i = 0; i < sync.team.n; ++i) {
    const int pe = sync.peer(i);
    if (pe == sync.team.me) {
      if (dest != source) copy<OwnSource>(group, dest, source, bytes);
    } else {
      copy<OwnSource>(group, translate(dest, world_pe_of(sync.team, pe)), source, bytes);
    }
  }
}

template <typename Group>
MESHMEM_DEVICE int broadcast(const Group& group, const TeamSync& sync, void* dest,
                             const void* source, std::size_t bytes, int root) {
  if (bytes == 0) return 0;
  team_sync(group, sync);
  if (sync.team.me == root) push_to_all(group, sync, dest, source, bytes);
  team_sync(group, sync);
  return 0;
}

template <typename Group>
MESHMEM_DEVICE int fcollect(const Group& group, const TeamSync& sync, void* dest,
                            const void* source, std::size_t bytes) {
  if (bytes == 0) return 0;
  team_sync(group, sync);
  push_to_all(group, sync,
              static_cast<std::byte*>(dest) + static_cast<std::size_t>(sync.team.me) * bytes,
              source, bytes);
  team_sync(group, sync);
  return 0;
}

// The lengths travel first, a line to each PE. They also are the first meeting:
// who has all lengths knows that all have entered.
template <typename Group>
MESHMEM_DEVICE int collect(const Group& group, const TeamSync& sync, void* dest, const void* source,
                           std::size_t bytes) {
  const int n = sync.team.n;
  const int me = sync.team.me;
  group.sync();  // the lengths tell that all threads have entered
  const std::uint64_t epoch = next_epoch(group, sync, sync.epoch());
  for (int pe = group.rank(); pe < n; pe += group.size())
    if (pe != me) send_line(packet_row(sync, pe, me, epoch), bytes, epoch);
  std::size_t before = 0;
  for (int pe = 0; pe < n; ++pe) {  // every thread waits for all lengths: it needs the entry of all
    if (pe == me) continue;
    const std::uint64_t length = receive_line(packet_row(sync, me, pe, epoch), epoch);
    if (pe < me) before += length;
  }
  group.sync();
  if (group.rank() == 0) sync.epoch() = epoch;
  group.sync();
  push_to_all(group, sync, static_cast<std::byte*>(dest) + before, source, bytes);
  team_sync(group, sync);
  return 0;
}

template <typename Group>
MESHMEM_DEVICE int alltoall(const Group& group, const TeamSync& sync, void* dest,
                            const void* source, std::size_t bytes) {
  if (bytes == 0) return 0;
  const auto block = [bytes](auto* base, int pe) {
    return base + static_cast<std::size_t>(pe) * bytes;
  };
  const int me = sync.team.me;
  team_sync(group, sync);
  for (int i = 0; i < sync.team.n; ++i) {
    const int pe = sync.peer(i);
    copy<OwnSource>(group,
                    translate(block(static_cast<std::byte*>(dest), me), world_pe_of(sync.team, pe)),
                    block(static_cast<const std::byte*>(source), pe), bytes);
  }
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
