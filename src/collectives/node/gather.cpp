// SPDX-License-Identifier: Apache-2.0
//
// fcollect and collect: every PE's block to every PE; small blocks as messages to all, large ones
// straight out of the sources.
// Invariant: all-to-all operations in the sense of team_steps.hpp.
#include <cstring>

#include "collectives/data_movement.hpp"
#include "collectives/message.hpp"
#include "memory/argument_checks.hpp"
#include "memory/copy.hpp"

namespace meshmem {
namespace {

// Up to this size blocks are messages. Larger ones are read out of the sources, which saves a copy
// and costs a second wait: worth it unless PEs share cores.
std::size_t most_sent_bytes(const NodeTeam& team) {
  return team.more_pes_than_cores ? 16 * 1024 : 512;
}

void copy_block(void* dest, std::size_t at, const void* block, std::size_t bytes) {
  copy_buffer(static_cast<std::byte*>(dest) + at, block, bytes);
}

// The length and place of the data that a PE brings to a collect. PEs send this to each other,
// since a PE without a source of its own could not tell where theirs are.
struct Share {
  std::uint64_t bytes : 62, wanted : 2;       // see collect()
  std::uint64_t offset : 63, in_statics : 1;  // of the source in its segment
};

Share share_of(const AddressMap& map, const void* source, std::size_t bytes, unsigned wanted) {
  const bool in_statics = map.statics.holds(source, bytes);
  const Segment& segment = in_statics ? map.statics : map.heap;
  return {bytes, wanted, reinterpret_cast<std::uintptr_t>(source) - segment.base, in_statics};
}
// The symmetric address of the share's source.
const void* source_of(const AddressMap& map, const Share& share) {
  const Segment& segment = share.in_statics ? map.statics : map.heap;
  return reinterpret_cast<const void*>(segment.base + share.offset);
}

}  // namespace

void fcollect(NodeTeam& team, void* dest, const void* source, std::size_t bytes) {
  if (bytes == 0) return;
  const std::uint64_t sequence = begin_operation(team);
  const bool sent = bytes <= most_sent_bytes(team);
  if (sent) {
    post_message(team, sequence, source, bytes);
  } else {
    announce(team, sequence);
  }
  for (int i = 0; i < team.n; ++i) {
    const int pe = (team.me + i) % team.n;
    const std::size_t at = static_cast<std::size_t>(pe) * bytes;
    if (pe == team.me) {
      copy_block(dest, at, source, bytes);
    } else if (sent) {
      receive_message(team, sequence, static_cast<std::byte*>(dest) + at, bytes, pe);
    } else {
      await_one_of_all(team, arrive_of, sequence, pe);
      copy_block(dest, at, team.translate(source, bytes, pe), bytes);
    }
  }
  if (sent) {
    note_all_started(team, sequence);
  } else {
    finish_together(team, sequence);
  }
}

unsigned collect(NodeTeam& team, void* dest, const void* source, std::size_t bytes,
                 unsigned wanted) {
  // The lengths come first. They also say that the sources are ready.
  const std::uint64_t sequence = begin_operation(team);
  const Share mine = share_of(*team.map, source, bytes, wanted);
  post_message(team, sequence, &mine, sizeof mine);
  const auto share_of_pe = [&](int pe) {
    Share share;
    receive_message(team, sequence, &share, sizeof share, pe);
    return share;
  };
  unsigned wanted_by_all = 0;
  for (int pe = 0; pe < team.n; ++pe)
    wanted_by_all |= static_cast<unsigned>(share_of_pe(pe).wanted);
  if (wanted_by_all != 0) {
    note_all_started(team, sequence);
    return wanted_by_all;
  }
  std::size_t at = 0;
  for (int pe = 0; pe < team.n; ++pe) {
    const Share share = share_of_pe(pe);
    const std::size_t length = share.bytes;
    if (length == 0) continue;
    check_room(team.routine, "dest", dest, at + length);
    const void* const block =
        pe == team.me ? source : team.translate(source_of(*team.map, share), length, pe);
    copy_block(dest, at, block, length);
    at += length;
  }
  finish_together(team, sequence);
  return 0;
}

}  // namespace meshmem
