// SPDX-License-Identifier: Apache-2.0
//
// Looks up the slot of a set in PE 0's list, by the transport if PE 0 is far, and the team in that
// slot.
// Invariant: no thread holds a lock while it waits, so members may use their sets in any order.
#include "core/active_set_teams.hpp"

#include <fmt/format.h>

#include <utility>

#include "base/waiting/wait.hpp"
#include "core/node_memory.hpp"
#include "transport/transport.hpp"

namespace meshmem {

void ActiveSetTeams::open(ActiveSetList* first_list, TeamTable& teams, MakeTeam make) {
  first_list_ = first_list;
  teams_ = &teams;
  make_ = std::move(make);
  for (std::atomic<bool>& claimed : claimed_) claimed.store(false, std::memory_order_relaxed);
}

int ActiveSetTeams::slot_of(std::uint64_t name) {
  if (first_list_) return first_list_->slot_of(name);
  return meshmem::slot_of(name, far_, [](std::size_t place, std::uint64_t wanted) {
    const RemotePlace there{0, RemoteSegment::control, NodeMemory::place_of_active_set(place)};
    return transport()->atomic(there,
                               {device::AtomicOp::compare_swap, sizeof wanted, wanted, 0, true});
  });
}

Team* ActiveSetTeams::find_or_make(std::uint64_t name, int size,
                                   const std::function<std::vector<int>()>& pes,
                                   const MeetMembers& meet) {
  const int slot = slot_of(name);
  if (slot < 0) return nullptr;
  if (Team* team = teams_->find(handle_of(slot))) return team;
  std::atomic<bool>& claimed = claimed_[static_cast<std::size_t>(slot - kFirstActiveSetSlot)];
  // Relaxed: TeamTable::publish() orders what the maker has written.
  if (claimed.exchange(true, std::memory_order_relaxed)) return &await_team(slot, size);
  Team& team = make_(pes(), slot);
  meet(team);
  teams_->publish(team);
  return &team;
}

// Waits for the team that another thread is making in find_or_make().
Team& ActiveSetTeams::await_team(int slot, int size) const {
  Team* team = nullptr;
  wait_until_ready(
      [&] { return (team = teams_->find(handle_of(slot))) != nullptr; },
      [&] { return fmt::format("another thread to make the team of {}", team_text(slot, size)); });
  return *team;
}

}  // namespace meshmem
