// SPDX-License-Identifier: Apache-2.0
//
// How all PEs of a parent agree on the slot of a new team.
// Invariant: a PE with wrong arguments says so in the exchange of slots, so no PE makes a team
// alone. No PE takes the right to offer slots before all PEs of the parent have entered the split.
// Otherwise a PE could hold this right while it waits in one split for a second PE. That one may
// wait for it in another split, which also needs the right.
#include "library/splits.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "base/error.hpp"
#include "base/waiting/wait.hpp"
#include "collectives/between_nodes.hpp"
#include "collectives/by_messages.hpp"
#include "collectives/same_call.hpp"
#include "collectives/sync.hpp"
#include "core/runtime.hpp"
#include "transport/transport.hpp"

namespace meshmem {
namespace {

// World PEs of the parent's PEs start, start + stride, ...
std::vector<int> strided_pes(const Team& parent, const Triplet& of) {
  std::vector<int> pes;
  for (int i = 0; i < of.size; ++i) pes.push_back(parent.world_pe(of.start + i * of.stride));
  return pes;
}

bool is_valid(const Triplet& triplet, const Team& parent) {
  const auto [start, stride, size] = triplet;
  if (size < 1 || size > parent.n || start < 0 || start >= parent.n) return false;
  if (stride == 0) return size == 1;
  const long last = start + static_cast<long>(size - 1) * stride;
  return last >= 0 && last < parent.n;
}

// Combines the offers of all PEs of the parent.
TeamTable::Offer combine(Team& parent, const TeamTable::Offer& offer) {
  TeamTable::Offer agreed = offer;
  Reduction op{&TeamTable::combine_offers, sizeof offer};
  op.any_order = true;
  const Collective call = combining(CollectiveKind::reduce, op, &agreed, &offer, 1);
  if (!parent.is_on_one_node()) {
    between_nodes::run(parent, call);
  } else if (parent.n > 1) {
    by_messages::run(parent, call);
  }
  return agreed;
}

// Waits until no other thread of any PE makes a team, and returns what the PEs agree on. The caller
// then calls end_offer().
TeamTable::Offer agree_on_offer(Team& parent, bool valid) {
  TeamTable& teams = runtime().teams();
  for (;;) {
    TeamTable::Offer offer = teams.offer(parent.slot);
    offer.invalid = valid ? 0 : 1;
    const TeamTable::Offer agreed = combine(parent, offer);
    if (!agreed.busy || agreed.invalid) return agreed;
    teams.end_offer(parent.slot, false);
    std::this_thread::yield();
  }
}

// Makes a team, and returns its handle. All PEs of the parent call it, each with the `pes` of its
// own new team, so one call can make several teams that have no PE in common. The PEs agree on a
// slot and on the team's first sequence number. If `valid` is false on one PE, or if no slot is
// free on all, all PEs get nullopt. A PE that is not in its `pes` gets SHMEM_TEAM_INVALID. The team
// can be used at once, because sequence numbers only grow and need no reset.
std::optional<shmem_team_t> try_make_team(Team& parent, bool valid, const std::vector<int>& pes,
                                          const shmem_team_config_t& config) {
  const TeamTable::Offer agreed = agree_on_offer(parent, valid);
  const int slot = agreed.invalid ? -1 : TeamTable::first_free(agreed);
  Team* team = nullptr;
  if (slot >= 0 && std::find(pes.begin(), pes.end(), address_map.my_pe) != pes.end())
    team = &runtime().add_team(pes, slot, agreed.highest_sequence, config);
  runtime().teams().end_offer(parent.slot, true);
  if (slot < 0) {
    debug("{}: no team: {}", parent.routine(),
          agreed.invalid ? "invalid arguments" : "all slots for teams are taken");
    return std::nullopt;
  }
  // Orders the clearing of each member's flags ahead of the stores of other members' kernels.
  if (team && runtime().has_devices()) {
    team->begin_call(parent.routine());
    sync(*team);
  }
  return team ? handle_of(slot) : SHMEM_TEAM_INVALID;
}

// Returns the word in which the PE says which team it joins.
std::uint64_t word_of(int pe) {
  if (runtime().is_near(pe))
    return runtime().job().memory().joining(pe).load(std::memory_order_relaxed);
  const RemotePlace there{pe, RemoteSegment::control, NodeMemory::place_of_joining()};
  return transport()->atomic(there, {device::AtomicOp::fetch, sizeof(std::uint64_t), 0, 0, true});
}

// Enters the PEs that have said that they join. `pes` has -1 where none is known.
void find_members(const Joining& joining, const char* routine, std::vector<int>& pes) {
  for (int pe = 0; pe < static_cast<int>(address_map.n_pes); ++pe) {
    if (!runtime().is_near(pe) && std::find(pes.begin(), pes.end(), pe) != pes.end()) continue;
    const std::uint64_t word = word_of(pe);
    if (word >> kJoiningPlaceBits != joining.id) continue;
    const int place = static_cast<int>(word & ((1 << kJoiningPlaceBits) - 1)) - 1;
    if (place >= joining.n_pes)
      fatal("{}: PE {} joins as number {} of a team that has {} PEs here", routine, pe, place,
            joining.n_pes);
    int& member = pes[static_cast<std::size_t>(place)];
    if (member >= 0 && member != pe)
      fatal("{}: PEs {} and {} both join as number {}", routine, member, pe, place);
    member = pe;
  }
}

}  // namespace

int split_strided(Team& parent, const Triplet& triplet, const shmem_team_config_t& config,
                  shmem_team_t* made) {
  *made = SHMEM_TEAM_INVALID;
  const auto [start, stride, size] = triplet;
  expect_same_call(parent, "start {}, stride {}, size {}", start, stride, size);
  sync(parent);
  const bool valid = is_valid(triplet, parent);
  if (!valid)
    debug("{}: start {}, stride {} and size {} do not fit the {} PEs of the parent",
          parent.routine(), start, stride, size, parent.n);
  const std::vector<int> pes = valid ? strided_pes(parent, triplet) : std::vector<int>{};
  const auto team = try_make_team(parent, valid, pes, config);
  if (team) *made = *team;
  return team ? 0 : 1;
}

int split_2d(Team& parent, const Split2d& split, shmem_team_t* row, shmem_team_t* column) {
  *row = *column = SHMEM_TEAM_INVALID;
  expect_same_call(parent, "xrange {}", split.width);
  sync(parent);
  const bool valid = split.width >= 1;
  const int width = valid ? std::min(split.width, parent.n) : 1;
  const int x = parent.me % width, y = parent.me / width;
  const Triplet mine_in_row{y * width, 1, std::min(width, parent.n - y * width)};
  const Triplet mine_in_column{x, width, (parent.n - x + width - 1) / width};
  const auto made_row =
      try_make_team(parent, valid, strided_pes(parent, mine_in_row), split.row_config);
  if (!made_row) return 1;
  const auto made_column =
      try_make_team(parent, valid, strided_pes(parent, mine_in_column), split.column_config);
  if (!made_column) {
    if (Team* made = runtime().teams().find(*made_row)) runtime().remove_team(*made);
    return 1;
  }
  *row = *made_row;
  *column = *made_column;
  return 0;
}

// The list of PEs has a team of its own until the library closes. In it the PEs meet and agree on
// the slot of the new team.
int make_team_of_pes(const std::vector<int>& pes, const char* routine, shmem_team_t* made) {
  *made = SHMEM_TEAM_INVALID;
  Team* meeting = runtime().active_set_teams().team_of_pes(pes, [routine](Team& members) {
    members.begin_call(routine);
    members.is_predefined = true;
    // No kernel of a member writes to another's flags before they are cleared.
    if (runtime().has_devices()) sync(members);
  });
  if (!meeting) return kNoMeeting;
  // Threads of a PE would disturb each other in the list's team.
  static std::array<std::mutex, kActiveSetSlots> meetings;
  const std::scoped_lock lock(
      meetings[static_cast<std::size_t>(meeting->slot) - kFirstActiveSetSlot]);
  meeting->begin_call(routine);
  sync(*meeting);
  const auto team = try_make_team(*meeting, true, pes, {});
  if (team) *made = *team;
  return team ? 0 : 1;
}

int join_team(const Joining& joining, const char* routine, shmem_team_t* made) {
  static std::mutex one_at_a_time;
  const std::scoped_lock lock(one_at_a_time);
  std::atomic<std::uint64_t>& mine = runtime().job().memory().joining(address_map.my_pe);
  const std::uint64_t place = static_cast<std::uint64_t>(joining.me) + 1;
  mine.store(joining.id << kJoiningPlaceBits | place, std::memory_order_relaxed);
  std::vector<int> pes(static_cast<std::size_t>(joining.n_pes), -1);
  const auto n_missing = [&] { return std::count(pes.begin(), pes.end(), -1); };
  wait_until_ready(
      [&] {
        find_members(joining, routine, pes);
        return n_missing() == 0;
      },
      [&] {
        return fmt::format("{} of {} PEs to join the team of id {:#x}", n_missing(), joining.n_pes,
                           joining.id);
      });
  const int result = make_team_of_pes(pes, routine, made);
  // Without a meeting of the members another may still read the word.
  if (result == kNoMeeting) fatal("{}: the job has no room for another list of PEs", routine);
  mine.store(0, std::memory_order_relaxed);
  return result;
}

void fix_reduce_order(Team& team) {
  expect_same_call(team, "");
  team.node.in_pe_order = true;
}

void destroy_team(Team& team) {
  if (team.is_predefined) fatal("{}: a predefined team cannot be destroyed", team.routine());
  expect_same_call(team, "");
  if (team.mark) team.mark->wait(team.routine());
  sync(team);
  runtime().remove_team(team);
}

}  // namespace meshmem
