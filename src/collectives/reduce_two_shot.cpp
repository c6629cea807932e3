// SPDX-License-Identifier: Apache-2.0
//
// Two-shot reduction: a chunk for each PE, reduced straight from all sources into all dests.
// Invariant: only the owner of a chunk reads that part of any source, and writes it to the dests
// slice by slice after that slice has been read from all, so dest may be source.
#include <algorithm>
#include <cstring>

#include "collectives/flow.hpp"
#include "collectives/reduction.hpp"
#include "collectives/schedule.hpp"

namespace meshmem {
namespace {

constexpr std::size_t kSliceBytes =
    16 * 1024;  // stays in the first-level cache between being reduced and being copied

void reduce_slice(const Team& team, const Reduction& op, void* dest, const void* source,
                  std::size_t count) {
  const std::size_t bytes = count * op.elem_bytes;
  std::byte* mine = static_cast<std::byte*>(dest);
  // In PE order. The first two sources are read before dest, which may be one's own source, is
  // written; then one's own source must not be needed any more, so PEs from the third on keep it
  // aside.
  alignas(kCacheLine) std::byte own[kSliceBytes];
  const bool keep_own = team.me >= 2 && dest == source;
  if (keep_own) std::memcpy(own, source, bytes);
  const auto source_of = [&](int pe) {
    return pe != team.me ? team.translate(source, bytes, pe)
           : keep_own    ? own
                         : static_cast<const std::byte*>(source);
  };
  op.combine(mine, source_of(0), source_of(1), count);
  for (int pe = 2; pe < team.n; ++pe) op.combine(mine, mine, source_of(pe), count);
  for (int i = 1; i < team.n;
       ++i) {  // each starts with its right neighbour, so that not all write to one PE
    std::memcpy(team.translate(dest, bytes, (team.me + i) % team.n), mine, bytes);
  }
}

}  // namespace

void reduce_two_shot(Team& team, const Reduction& op, void* dest, const void* source,
                     std::size_t count) {
  const std::uint64_t sequence = begin_operation(team);
  announce(team, sequence);  // this PE's source is ready, and its dest may be written
  await_all_announced(team, sequence);
  const std::size_t grain = std::max<std::size_t>(1, kCacheLine / op.elem_bytes);
  const schedule::Range mine = schedule::chunk(count, grain, team.n, team.me);
  const std::size_t most = kSliceBytes / op.elem_bytes;
  for (std::size_t at = mine.begin; at < mine.end; at += most) {
    reduce_slice(team, op, static_cast<std::byte*>(dest) + at * op.elem_bytes,
                 static_cast<const std::byte*>(source) + at * op.elem_bytes,
                 std::min(most, mine.end - at));
  }
  finish_together(team, sequence);
}

}  // namespace meshmem
