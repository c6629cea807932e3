// SPDX-License-Identifier: Apache-2.0
//
// Ring reduction: reduce-scatter around the ring, then all-gather. Partial sums are in the dests.
// Each PE pulls from its left neighbour. On its cache line `ring` it publishes the operation's
// number and how many steps of it the PE has done.
// Invariant: a result replaces this PE's partial sum only after the right neighbour has read that
// sum, since the result contains it. Called by the reductions of a node.
#include <algorithm>
#include <cstring>

#include "collectives/reduction.hpp"
#include "collectives/schedule.hpp"
#include "collectives/team_steps.hpp"

namespace meshmem {
namespace {

struct Ring {
  NodeTeam& team;
  const Reduction& op;
  std::byte* dest;
  const std::byte* source;
  std::size_t count;
  std::uint64_t sequence;

  schedule::Range share(int index) const {
    return schedule::share(count, std::max<std::size_t>(1, kCacheLine / op.elem_bytes), team.n,
                           index);
  }
  void say(int step) const { publish(team.my_area().ring, ring_epoch(sequence, step)); }
  void await_step(int pe, int step) const {
    await(team, team.area_of(pe).ring, ring_epoch(sequence, step), pe);
  }
};

void add_to_partial(const Ring& ring, int left, int step) {
  const schedule::Range share =
      ring.share(schedule::ring_reduce_share(ring.team.n, ring.team.me, step));
  const std::size_t at = share.begin * ring.op.elem_bytes;
  const std::size_t bytes = share.size() * ring.op.elem_bytes;
  if (bytes == 0) return;
  // In the first step the partial sum is the neighbour's own data, still in its source.
  const void* partial =
      ring.team.translate((step == 1 ? ring.source : ring.dest) + at, bytes, left);
  ring.op.combine(ring.dest + at, partial, ring.source + at, share.size());
}

void copy_result(const Ring& ring, int left, int step) {
  const schedule::Range share =
      ring.share(schedule::ring_gather_share(ring.team.n, ring.team.me, step));
  const std::size_t at = share.begin * ring.op.elem_bytes;
  const std::size_t bytes = share.size() * ring.op.elem_bytes;
  if (bytes > 0)
    std::memcpy(ring.dest + at, ring.team.translate(ring.dest + at, bytes, left), bytes);
}

}  // namespace

void reduce_ring(NodeTeam& team, const Reduction& op, void* dest, const void* source,
                 std::size_t count) {
  const Ring ring{team,
                  op,
                  static_cast<std::byte*>(dest),
                  static_cast<const std::byte*>(source),
                  count,
                  begin_operation(team)};
  const int left = schedule::ring_left(team.n, team.me);
  const int steps = team.n - 1;
  ring.say(0);  // the source is ready
  for (int step = 1; step <= steps; ++step) {
    ring.await_step(left, step - 1);
    add_to_partial(ring, left, step);
    ring.say(step);
  }
  for (int step = 1; step <= steps; ++step) {
    ring.await_step(left, steps + step - 1);
    copy_result(ring, left, step);
    ring.say(steps + step);
  }
  // Wait until the right neighbour has read all that it needs of this PE's dest.
  ring.await_step(schedule::ring_right(team.n, team.me), 2 * steps);
  note_all_started(team, ring.sequence);
}

}  // namespace meshmem
