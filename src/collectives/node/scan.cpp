// SPDX-License-Identifier: Apache-2.0
//
// Scans: every PE sends all PEs one message. Each PE combines the messages of the PEs before it.
// Invariant: a PE combines in PE order. It also waits for the messages that it does not combine, so
// that the slots for messages can be used again (team_steps.hpp).
#include <algorithm>
#include <cstring>

#include "collectives/data_movement.hpp"
#include "collectives/message.hpp"

namespace meshmem {
namespace {

void scan_batch(NodeTeam& team, const Reduction& op, std::byte* dest, const std::byte* source,
                std::size_t count, bool inclusive) {
  const std::uint64_t sequence = begin_operation(team);
  const std::size_t bytes = count * op.elem_bytes;
  post_message(team, sequence, source, bytes);
  const int terms = team.me + (inclusive ? 1 : 0);
  if (terms == 0) std::memset(dest, 0, bytes);
  MessageRoom room;
  for (int pe = 0; pe < team.n; ++pe) {
    const std::byte* message = await_message(team, sequence, bytes, pe, room);
    if (pe >= terms) continue;
    if (pe == 0) {
      std::memcpy(dest, message, bytes);
    } else {
      op.combine(dest, dest, message, count);
    }
  }
  note_all_started(team, sequence);
}

}  // namespace

void scan(NodeTeam& team, const Reduction& op, void* dest, const void* source, std::size_t count,
          bool inclusive) {
  const std::size_t most = kStageBytes / op.elem_bytes;
  for (std::size_t done = 0; done < count; done += most) {
    scan_batch(team, op, static_cast<std::byte*>(dest) + done * op.elem_bytes,
               static_cast<const std::byte*>(source) + done * op.elem_bytes,
               std::min(most, count - done), inclusive);
  }
}

}  // namespace meshmem
