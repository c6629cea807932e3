// SPDX-License-Identifier: Apache-2.0
//
// Broadcast: small and middling data through the root's slots, so that the root need not wait;
// large data straight out of its source.
// Invariant: rooted in the sense of team_steps.hpp: all announce the operation.
#include <cstring>

#include "collectives/data_movement.hpp"
#include "collectives/message.hpp"
#include "memory/copy.hpp"

namespace meshmem {
namespace {

// Up to this size the root copies the data into its slots and goes on at once. The copy is worth
// more where PEs share cores: a root that waits for its readers gives up its core.
std::size_t most_message_bytes(const NodeTeam& team) {
  return team.more_pes_than_cores ? 32 * 1024 : kLinesBytes;
}

void broadcast_message(NodeTeam& team, std::uint64_t sequence, void* dest, const void* source,
                       std::size_t bytes, int root) {
  if (team.me == root) {
    post_message(team, sequence, source, bytes);
    if (dest != source) std::memcpy(dest, source, bytes);
    return;
  }
  receive_message(team, sequence, dest, bytes, root);
  // The root may be ahead: fetch what comes next while the caller works.
  if (bytes <= kLinesBytes) __builtin_prefetch(&message_line(team.area_of(root), sequence + 1, 0));
}

void broadcast_direct(NodeTeam& team, std::uint64_t sequence, void* dest, const void* source,
                      std::size_t bytes, int root) {
  if (team.me == root) {
    if (dest != source) copy_buffer(dest, source, bytes);
    for (int pe = 0; pe < team.n; ++pe) {
      if (pe != root) await(team, team.area_of(pe).done, sequence, pe);
    }
    note_all_started(team, sequence);
    return;
  }
  await(team, team.area_of(root).arrive, sequence, root);  // its source is ready
  copy_buffer(dest, team.translate(source, bytes, root), bytes);
  publish(team.my_area().done, sequence);
}

}  // namespace

void broadcast(NodeTeam& team, void* dest, const void* source, std::size_t bytes, int root) {
  if (bytes == 0) return;
  const std::uint64_t sequence = begin_operation(team);
  announce(team, sequence);
  if (bytes <= most_message_bytes(team)) {
    broadcast_message(team, sequence, dest, source, bytes, root);
  } else {
    broadcast_direct(team, sequence, dest, source, bytes, root);
  }
}

}  // namespace meshmem
