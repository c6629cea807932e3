// SPDX-License-Identifier: Apache-2.0
//
// Finds the slot of a set in PE 0's list, here or by the transport, and the team in that slot.
// Invariant: a set whose team exists is found without a lock.
#include "core/active_set_teams.hpp"

#include "core/node_memory.hpp"
#include "transport/transport.hpp"

namespace meshmem {

int ActiveSetTeams::slot_of(const ActiveSet& set) {
  if (first_list_) return first_list_->slot_of(set);
  return meshmem::slot_of(set, far_, [](std::size_t place, std::uint64_t name) {
    const RemotePlace there{0, RemoteSegment::control, NodeMemory::place_of_active_set(place)};
    return transport()->atomic(there, {device::AtomicOp::compare_swap, sizeof name, name, 0, true});
  });
}

Team* ActiveSetTeams::team_of(const ActiveSet& set, bool& is_new) {
  is_new = false;
  const int slot = slot_of(set);
  if (slot < 0) return nullptr;
  if (Team* team = teams_->find(handle_of(slot))) return team;
  const std::lock_guard lock(mutex_);
  if (Team* team = teams_->find(handle_of(slot))) return team;
  is_new = true;
  return &make_(set.pes(), slot);
}

}  // namespace meshmem
