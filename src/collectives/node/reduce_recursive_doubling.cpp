// SPDX-License-Identifier: Apache-2.0
//
// Recursive doubling: in each step two PEs exchange all they have and combine it. The running
// result lies in this PE's stage, a slot of it for each step, where the partner reads it.
// Invariant: both partners combine in the same order (the lower PE's data first), so all PEs get
// the same bits.
#include <algorithm>
#include <cstring>

#include "collectives/reduction.hpp"
#include "collectives/schedule.hpp"
#include "collectives/team_steps.hpp"

namespace meshmem {
namespace {

struct Doubling {
  NodeTeam& team;
  std::uint64_t sequence;
  std::size_t slot_bytes;  // of the stage, for each step

  std::byte* slot(TeamArea& area, int step) const {
    return area.stage[sequence % kStageSlots] + static_cast<std::size_t>(step) * slot_bytes;
  }
  Line& line(TeamArea& area, int step) const { return area.round[sequence % kStageSlots][step]; }
};

std::size_t slot_bytes_of(int n) {
  const auto slots = static_cast<std::size_t>(schedule::doubling_steps(n)) + 1;
  return kStageBytes / slots / kCacheLine * kCacheLine;
}

// Takes the running result from slot `step` to slot `step + 1`.
void take_step(const Doubling& run, const Reduction& op, std::size_t count, int step) {
  NodeTeam& team = run.team;
  const schedule::Exchange exchange = schedule::doubling_exchange(team.n, team.me, step);
  using schedule::Role;
  const std::size_t bytes = count * op.elem_bytes;
  std::byte* mine = run.slot(team.my_area(), step);
  std::byte* result = run.slot(team.my_area(), step + 1);
  if (exchange.role == Role::give || exchange.role == Role::exchange)
    publish(run.line(team.my_area(), step), run.sequence);
  if (exchange.role == Role::idle || exchange.role == Role::give) {
    std::memcpy(result, mine, bytes);
    return;
  }
  const int partner = exchange.partner;
  await(team, run.line(team.area_of(partner), step), run.sequence, partner);
  const std::byte* theirs = run.slot(team.area_of(partner), step);
  if (exchange.role == Role::receive) {
    std::memcpy(result, theirs, bytes);
  } else {
    op.combine(result, partner < team.me ? theirs : mine, partner < team.me ? mine : theirs, count);
  }
}

void reduce_batch_by_doubling(NodeTeam& team, const Reduction& op, std::byte* dest,
                              const std::byte* source, std::size_t count) {
  const Doubling run{team, begin_operation(team), slot_bytes_of(team.n)};
  reserve(team, run.sequence, kStageSlots);
  const int steps = schedule::doubling_steps(team.n);
  std::memcpy(run.slot(team.my_area(), 0), source, count * op.elem_bytes);
  for (int step = 0; step < steps; ++step) take_step(run, op, count, step);
  std::memcpy(dest, run.slot(team.my_area(), steps), count * op.elem_bytes);
  note_all_started(team, run.sequence);
}

}  // namespace

void reduce_recursive_doubling(NodeTeam& team, const Reduction& op, void* dest, const void* source,
                               std::size_t count) {
  const std::size_t most = slot_bytes_of(team.n) / op.elem_bytes;
  for (std::size_t done = 0; done < count; done += most) {
    reduce_batch_by_doubling(team, op, static_cast<std::byte*>(dest) + done * op.elem_bytes,
                             static_cast<const std::byte*>(source) + done * op.elem_bytes,
                             std::min(most, count - done));
  }
}

}  // namespace meshmem
