// SPDX-License-Identifier: Apache-2.0
//
// The teams that stand for active sets, and for lists of PEs that make a team without a parent
// (make_team_of_pes in library/splits.hpp). A set or list has its team from its first use until the
// library closes.
// Invariant: one thread makes the team of a set, and no other gets it before its members have met.
// Part of the Runtime, which opens it.
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
  // Makes the team of these world PEs in this slot. Enters it in the table without publishing it.
  using MakeTeam = std::function<Team&(std::vector<int> pes, int slot)>;
  // Returns when each member has made the team.
  using MeetMembers = std::function<void(Team&)>;

  // `first_list`: the list in PE 0's memory; nullptr if PE 0 is far. `teams` is used until the next
  // open.
  void open(ActiveSetList* first_list, TeamTable& teams, MakeTeam make);

  // Returns the team of a set that has this PE as a member, or nullptr if the job has used too many
  // different sets. The first call for a set makes the team and calls meet(). Calls of other
  // threads wait until that is done.
  Team* team_of(const ActiveSet& set, const MeetMembers& meet) {
    return find_or_make(
        name_of(set), set.size, [&set] { return set.pes(); }, meet);
  }
  // The same for a list of PEs.
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
  ActiveSetList far_{};  // what this PE knows of PE 0's list, if PE 0 is far
};

}  // namespace meshmem

#endif  // MESHMEM_CORE_ACTIVE_SET_TEAMS_HPP_
