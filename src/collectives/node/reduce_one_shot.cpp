// SPDX-License-Identifier: Apache-2.0
//
// One-shot reduction: one message from every PE to all, in batches of what a stage holds.
// Invariant: combined in PE order, and every PE reads the same copies, so all results are
// identical.
#include <algorithm>
#include <cstring>

#include "collectives/message.hpp"
#include "collectives/reduction.hpp"

namespace meshmem {
namespace {

void reduce_batch_in_one_shot(NodeTeam& team, const Reduction& op, std::byte* dest,
                              const std::byte* source, std::size_t count) {
  const std::uint64_t sequence = begin_operation(team);
  const std::size_t bytes = count * op.elem_bytes;
  post_message(team, sequence, source, bytes);
  // This PE reads its own data from source, since a message that it has just sent is slow to read
  // back. It does not if dest is source and has been written by then.
  const bool keeps_own = team.me < 2 || dest != source;
  MessageRoom room_of_first, room;
  const auto data_of = [&](int pe, MessageRoom& its_room) {
    return pe == team.me && keeps_own ? source : await_message(team, sequence, bytes, pe, its_room);
  };
  const std::byte* first = data_of(0, room_of_first);
  for (int pe = 1; pe < team.n; ++pe) {
    op.combine(dest, pe == 1 ? first : dest, data_of(pe, room), count);
  }
  note_all_started(team, sequence);
}

}  // namespace

void reduce_one_shot(NodeTeam& team, const Reduction& op, void* dest, const void* source,
                     std::size_t count) {
  const std::size_t most = kStageBytes / op.elem_bytes;
  for (std::size_t done = 0; done < count; done += most) {
    reduce_batch_in_one_shot(team, op, static_cast<std::byte*>(dest) + done * op.elem_bytes,
                             static_cast<const std::byte*>(source) + done * op.elem_bytes,
                             std::min(most, count - done));
  }
}

}  // namespace meshmem
