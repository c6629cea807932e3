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

// Up to here blocks are messages. Larger ones are read out of the sources, which saves a copy and
// costs a second wait: worth it unless PEs share cores.
std::size_t most_sent_bytes(const NodeTeam& team) {
  return team.more_pes_than_cores ? 16 * 1024 : 512;
}

void copy_block(void* dest, std::size_t at, const void* block, std::size_t bytes) {
  copy_buffer(static_cast<std::byte*>(dest) + at, block, bytes);
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
      await(team, team.of(pe).arrive, sequence, pe);
      copy_block(dest, at, team.translate(source, bytes, pe), bytes);
    }
  }
  if (sent) {
    all_have_started(team, sequence);
  } else {
    finish_together(team, sequence);
  }
}

unsigned collect(NodeTeam& team, void* dest, const void* source, std::size_t bytes, unsigned ways) {
  constexpr int kLengthBits = 62;
  // The lengths first; they also say that the sources are ready.
  const std::uint64_t sequence = begin_operation(team);
  const std::uint64_t mine = bytes | std::uint64_t{ways} << kLengthBits;
  post_message(team, sequence, &mine, sizeof mine);
  const auto said_by = [&](int pe) {
    std::uint64_t said = 0;
    receive_message(team, sequence, &said, sizeof said, pe);
    return said;
  };
  std::uint64_t said = 0;
  for (int pe = 0; pe < team.n; ++pe) said |= said_by(pe);
  if (said >> kLengthBits != 0) {
    all_have_started(team, sequence);
    return static_cast<unsigned>(said >> kLengthBits);
  }
  std::size_t at = 0;
  for (int pe = 0; pe < team.n; ++pe) {
    const std::size_t length = said_by(pe);
    if (length == 0) continue;
    check_room(team.routine, "dest", dest, at + length);
    copy_block(dest, at, pe == team.me ? source : team.translate(source, length, pe), length);
    at += length;
  }
  finish_together(team, sequence);
  return 0;
}

}  // namespace meshmem
