// SPDX-License-Identifier: Apache-2.0
//
// alltoall and alltoalls: every PE reads its blocks out of the others' sources.
// Invariant: an all-to-all operation in the sense of team_steps.hpp. With one block of a few bytes
// for each PE all blocks travel in one message.
#include <cstring>

#include "collectives/data_movement.hpp"
#include "collectives/message.hpp"

namespace meshmem {
namespace {

// A message holds the blocks for all PEs, of which each reader wants one: worth it only while it is
// small.
constexpr std::size_t kStagedBytes = 4 * 1024;

std::ptrdiff_t block_start(int index, std::size_t count, std::ptrdiff_t stride,
                           std::size_t elem_bytes) {
  return static_cast<std::ptrdiff_t>(static_cast<std::size_t>(index) * count * elem_bytes) * stride;
}

void copy_elements(std::byte* dest, std::ptrdiff_t dest_stride, const std::byte* source,
                   std::ptrdiff_t source_stride, const AlltoallShape& shape) {
  const auto unit = static_cast<std::ptrdiff_t>(shape.elem_bytes);
  if (dest_stride == 1 && source_stride == 1) {
    std::memcpy(dest, source, shape.count * shape.elem_bytes);
    return;
  }
  for (std::size_t i = 0; i < shape.count; ++i) {
    std::memcpy(dest, source, shape.elem_bytes);
    dest += dest_stride * unit;
    source += source_stride * unit;
  }
}

std::byte* block_of_dest(void* dest, int pe, const AlltoallShape& shape) {
  return static_cast<std::byte*>(dest) +
         block_start(pe, shape.count, shape.dest_stride, shape.elem_bytes);
}

void alltoall_staged(NodeTeam& team, std::uint64_t sequence, void* dest, const void* source,
                     const AlltoallShape& shape) {
  const std::size_t block = shape.count * shape.elem_bytes;
  const std::size_t bytes = block * static_cast<std::size_t>(team.n);
  const std::size_t my_block = static_cast<std::size_t>(team.me) * block;
  post_message(team, sequence, source, bytes);
  std::byte received[kStagedBytes];
  for (int i = 0; i < team.n; ++i) {
    const int pe = (team.me + i) % team.n;
    const auto* from = static_cast<const std::byte*>(source) + my_block;
    if (pe != team.me) {
      receive_range(team, sequence, received, bytes, pe, my_block, block);
      from = received;
    }
    copy_elements(block_of_dest(dest, pe, shape), shape.dest_stride, from, 1, shape);
  }
  all_have_started(team, sequence);
}

void alltoall_direct(NodeTeam& team, std::uint64_t sequence, void* dest, const void* source,
                     const AlltoallShape& shape) {
  announce(team, sequence);
  const std::byte* block = static_cast<const std::byte*>(source) +
                           block_start(team.me, shape.count, shape.source_stride, shape.elem_bytes);
  const std::size_t span =
      ((shape.count - 1) * static_cast<std::size_t>(shape.source_stride) + 1) * shape.elem_bytes;
  for (int i = 0; i < team.n; ++i) {
    const int pe = (team.me + i) % team.n;
    if (pe != team.me) await(team, team.of(pe).arrive, sequence, pe);
    const std::byte* from = pe == team.me ? block : team.translate(block, span, pe);
    copy_elements(block_of_dest(dest, pe, shape), shape.dest_stride, from, shape.source_stride,
                  shape);
  }
  finish_together(team, sequence);
}

}  // namespace

void alltoall(NodeTeam& team, void* dest, const void* source, const AlltoallShape& shape) {
  if (shape.count == 0) return;
  const std::uint64_t sequence = begin_operation(team);
  const std::size_t bytes = shape.count * shape.elem_bytes * static_cast<std::size_t>(team.n);
  if (bytes <= kStagedBytes && shape.source_stride == 1) {
    alltoall_staged(team, sequence, dest, source, shape);
  } else {
    alltoall_direct(team, sequence, dest, source, shape);
  }
}

}  // namespace meshmem
