// SPDX-License-Identifier: Apache-2.0
//
// alltoall and alltoalls: every PE reads its blocks out of the others' sources. Small blocks for
// all PEs travel in one message.
// Invariant: an all-to-all operation in the sense of team_steps.hpp.
#include <cstring>

#include "collectives/data_movement.hpp"
#include "collectives/message.hpp"

namespace meshmem {
namespace {

// The most bytes of a message. It has the blocks for all PEs, and each reader needs only one of
// them, so it must be small to be worth it.
constexpr std::size_t kMostSentBytes = 4 * 1024;

std::ptrdiff_t block_start(int index, std::size_t count, std::ptrdiff_t stride,
                           std::size_t elem_bytes) {
  return static_cast<std::ptrdiff_t>(static_cast<std::size_t>(index) * count * elem_bytes) * stride;
}

// Copies the block of this PE in PE `pe`'s source, from its first element on.
void copy_block(int pe, const std::byte* from, std::ptrdiff_t stride, const Collective& call) {
  std::byte* const to = static_cast<std::byte*>(call.dest) +
                        block_start(pe, call.count, call.dest_stride, call.elem_bytes);
  const auto copy = [](std::byte* dest, const std::byte* source, std::size_t bytes) {
    std::memcpy(dest, source, bytes);
  };
  copy_elements({to, call.dest_stride}, {const_cast<std::byte*>(from), stride}, call.elem_bytes,
                call.count, copy);
}

void alltoall_message(NodeTeam& team, std::uint64_t sequence, const Collective& call) {
  const std::size_t block = call.bytes();
  const std::size_t bytes = block * static_cast<std::size_t>(team.n);
  const std::size_t my_block = static_cast<std::size_t>(team.me) * block;
  post_message(team, sequence, call.source, bytes);
  std::byte received[kMostSentBytes];
  for (int i = 0; i < team.n; ++i) {
    const int pe = (team.me + i) % team.n;
    const auto* from = static_cast<const std::byte*>(call.source) + my_block;
    if (pe != team.me) {
      receive_range(team, sequence, received, bytes, pe, my_block, block);
      from = received;
    }
    copy_block(pe, from, 1, call);
  }
  note_all_started(team, sequence);
}

void alltoall_direct(NodeTeam& team, std::uint64_t sequence, const Collective& call) {
  announce(team, sequence);
  const std::byte* block = static_cast<const std::byte*>(call.source) +
                           block_start(team.me, call.count, call.source_stride, call.elem_bytes);
  const std::size_t span =
      ((call.count - 1) * static_cast<std::size_t>(call.source_stride) + 1) * call.elem_bytes;
  for (int i = 0; i < team.n; ++i) {
    const int pe = (team.me + i) % team.n;
    if (pe != team.me) await_one_of_all(team, arrive_of, sequence, pe);
    const std::byte* from = pe == team.me ? block : team.translate(block, span, pe);
    copy_block(pe, from, call.source_stride, call);
  }
  finish_together(team, sequence);
}

}  // namespace

void alltoall(NodeTeam& team, const Collective& call) {
  if (call.count == 0) return;
  const std::uint64_t sequence = begin_operation(team);
  const std::size_t bytes = call.bytes() * static_cast<std::size_t>(team.n);
  if (bytes <= kMostSentBytes && call.source_stride == 1) {
    alltoall_message(team, sequence, call);
  } else {
    alltoall_direct(team, sequence, call);
  }
}

}  // namespace meshmem
