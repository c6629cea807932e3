// SPDX-License-Identifier: Apache-2.0
//
// The barriers within a node.
// Invariant: in each, a PE that leaves knows that all have entered, so each is an operation "all to
// all" of team_steps.hpp.
#include "collectives/schedule.hpp"
#include "collectives/sync.hpp"
#include "collectives/team_steps.hpp"

namespace meshmem {

namespace {
// Up to this many PEs, reading all lines is cheaper than log2 n rounds.
constexpr int kFlatLimit = 16;
}  // namespace

void sync(NodeTeam& team) {
  if (team.n <= kFlatLimit) return sync_flat(team);
  return team.more_pes_than_cores ? sync_counting(team) : sync_dissemination(team);
}

void sync_flat(NodeTeam& team) {
  const std::uint64_t sequence = begin_operation(team);
  announce(team, sequence);
  await_all_announced(team, sequence);
}

void sync_dissemination(NodeTeam& team) {
  const std::uint64_t sequence = begin_operation(team);
  // A PE can be at most one operation ahead of its target, so two sets of flags suffice.
  const auto parity = sequence % 2;
  for (int round = 0; round < schedule::dissemination_rounds(team.n); ++round) {
    const int target = schedule::dissemination_target(team.n, team.me, round);
    const int source = (2 * team.me - target + team.n) % team.n;  // the PE whose target this PE is
    publish(team.area_of(target).meet[parity][round], sequence);
    wait_until_ready(
        [&] {
          return has_reached(
              team.my_area().meet[parity][round].epoch.load(std::memory_order_acquire), sequence);
        },
        [&] {
          return Awaited(fmt::format("PE {} in round {} of {}", team.world_pe(source), round,
                                     team.call_text()),
                         {team.world_pe(source)});
        });
  }
  note_all_started(team, sequence);
}

void sync_counting(NodeTeam& team) {
  const std::uint64_t sequence = begin_operation(team);
  TeamArea& meeting_place = team.area_of(0);
  fuzz_schedule();
  // acq_rel: the last PE to arrive acquires what all others published by arriving. The release word
  // publishes all of it to those that wait.
  const std::uint64_t arrived =
      meeting_place.count.epoch.fetch_add(1, std::memory_order_acq_rel) + 1;
  if (arrived == static_cast<std::uint64_t>(team.n)) {
    // Before the release, after which PEs may arrive again.
    meeting_place.count.epoch.store(0, std::memory_order_relaxed);
    publish(meeting_place.release, sequence);
  } else {
    wait_until_ready(
        [&] {
          return has_reached(meeting_place.release.epoch.load(std::memory_order_acquire), sequence);
        },
        [&] {
          return fmt::format("the last of {} PEs in {}; {} are there", team.n, team.call_text(),
                             meeting_place.count.epoch.load(std::memory_order_relaxed));
        });
  }
  note_all_started(team, sequence);
}

}  // namespace meshmem
