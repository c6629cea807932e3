// SPDX-License-Identifier: Apache-2.0
//
// Two-shot reduction: a share for each PE, reduced straight from all sources into all dests.
// Invariant: only its owner reads a share of the sources. The owner writes a tile to the dests
// after it has read that tile from all sources, so dest may be source.
#include <algorithm>
#include <cstring>

#include "collectives/reduction.hpp"
#include "collectives/schedule.hpp"
#include "collectives/team_steps.hpp"

namespace meshmem {
namespace {

void reduce_tile(const NodeTeam& team, const Reduction& op, void* dest, const void* source,
                 std::size_t count) {
  const std::size_t bytes = count * op.elem_bytes;
  combine_tile(team, op, dest, source, count);
  // Each PE starts with its right neighbour, so that not all write to one PE.
  for (int i = 1; i < team.n; ++i) {
    std::memcpy(team.translate(dest, bytes, (team.me + i) % team.n), dest, bytes);
  }
}

}  // namespace

void reduce_two_shot(NodeTeam& team, const Reduction& op, void* dest, const void* source,
                     std::size_t count) {
  const std::uint64_t sequence = begin_operation(team);
  announce(team, sequence);  // this PE's source is ready, and its dest may be written
  await_all_announced(team, sequence);
  const std::size_t grain = std::max<std::size_t>(1, kCacheLine / op.elem_bytes);
  const schedule::Range mine = schedule::share(count, grain, team.n, team.me);
  const std::size_t most = kTileBytes / op.elem_bytes;
  for (std::size_t at = mine.begin; at < mine.end; at += most) {
    reduce_tile(team, op, static_cast<std::byte*>(dest) + at * op.elem_bytes,
                static_cast<const std::byte*>(source) + at * op.elem_bytes,
                std::min(most, mine.end - at));
  }
  finish_together(team, sequence);
}

}  // namespace meshmem
