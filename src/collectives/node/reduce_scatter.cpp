// SPDX-License-Identifier: Apache-2.0
//
// Reduce-scatter: PE i combines block i of all sources, and reads these blocks where they lie.
// Invariant: only PE i reads the blocks i, so its dest may be block i of its own source.
#include <algorithm>
#include <cstring>

#include "collectives/reduction.hpp"
#include "collectives/team_steps.hpp"

namespace meshmem {

void combine_tile(const NodeTeam& team, const Reduction& op, void* dest, const void* source,
                  std::size_t count) {
  const std::size_t bytes = count * op.elem_bytes;
  combine_terms(op, dest, count, team.n, team.me, [&](int pe) {
    return pe == team.me ? static_cast<const std::byte*>(source)
                         : team.translate(source, bytes, pe);
  });
}

void reduce_scatter(NodeTeam& team, const Reduction& op, void* dest, const void* source,
                    std::size_t count) {
  if (count == 0) return;
  const std::size_t block_bytes = count * op.elem_bytes;
  auto* to = static_cast<std::byte*>(dest);
  const auto* block =
      static_cast<const std::byte*>(source) + static_cast<std::size_t>(team.me) * block_bytes;
  if (team.n == 1) {
    if (to != block) std::memcpy(to, block, block_bytes);
    return;
  }
  const std::uint64_t sequence = begin_operation(team);
  announce(team, sequence);
  await_all_announced(team, sequence);
  const std::size_t most = kTileBytes / op.elem_bytes;
  for (std::size_t at = 0; at < count; at += most) {
    combine_tile(team, op, to + at * op.elem_bytes, block + at * op.elem_bytes,
                 std::min(most, count - at));
  }
  finish(op, dest, count, team.n);  // the operation's last step, if it has one
  finish_together(team, sequence);
}

}  // namespace meshmem
