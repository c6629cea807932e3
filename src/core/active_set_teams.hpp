// SPDX-License-Identifier: Apache-2.0
//
// The teams that stand for active sets, and for the other lists of PEs that make teams by
// themselves (library/splits.hpp). A set or list has its team from its first use until the
// library closes.
// Invariant: one thread makes the team of a set, and no other gets it before its members have met.
// Part of the Runtime; open with it.
#ifndef MESHMEM_CORE_ACTIVE_SET_TEAMS_HPP_
#define MESHMEM_CORE_ACTIVE_SET_TEAMS_HPP_

#include <array>
#include <atomic>
#include <functional>
#include <vector>

#include "core/active_sets.hpp"
#include "core/team_table.hpp"

namespace meshmem {

class ActiveSetTeams {
 public:
  // Makes the team of the world PEs in this slot. It is in the table, and not published.
  using MakeTeam = std::function<Team&(std::vector<int> pes, int slot)>;
  // Returns when each member has made the team.
  using MeetMembers = std::function<void(Team&)>;

  // `first_list`: the list of PE 0; nullptr where PE 0 is far. `teams` is used until the next open.
  void open(ActiveSetList* first_list, TeamTable& teams, MakeTeam make);

  // The team of a set of which this PE is a member. nullptr: too many different sets. The first
  // call of a set makes the team and lets the members meet; others wait until it has.
  Team* team_of(const ActiveSet& set, const MeetMembers& meet) {
    return find_or_make(
        name_of(set), set.size, [&set] { return set.pes(); }, meet);
  }
  // The same of a list of PEs.
  Team* team_of_pes(const std::vector<int>& pes, const MeetMembers& meet) {
    return find_or_make(
        name_of(pes), static_cast<int>(pes.size()), [&pes] { return pes; }, meet);
  }

 private:
  Team* find_or_make(std::uint64_t name, int size, const std::function<std::vector<int>()>& pes,
                     const MeetMembers& meet);
  int slot_of(std::uint64_t name);
  Team& await_team(int slot, int size) const;

  ActiveSetList* first_list_ = nullptr;
  TeamTable* teams_ = nullptr;
  MakeTeam make_;
  std::array<std::atomic<bool>, kActiveSetSlots> claimed_{};  // a thread makes or has made the team
  ActiveSetList far_{};  // the part of PE 0's list that this PE knows, where that is far
};

}  // namespace meshmem

#endif  // MESHMEM_CORE_ACTIVE_SET_TEAMS_HPP_
