// SPDX-License-Identifier: Apache-2.0
//
// The teams that stand for active sets. A set has its team from its first use until the library
// closes.
// Invariant: threads that use a set at once make its team once. Part of the Runtime; open with it.
#ifndef MESHMEM_CORE_ACTIVE_SET_TEAMS_HPP_
#define MESHMEM_CORE_ACTIVE_SET_TEAMS_HPP_

#include <functional>
#include <mutex>
#include <utility>
#include <vector>

#include "core/active_sets.hpp"
#include "core/team_table.hpp"

namespace meshmem {

class ActiveSetTeams {
 public:
  // Makes the team of the world PEs in this slot, and enters it in the table.
  using MakeTeam = std::function<Team&(std::vector<int> pes, int slot)>;

  // `first_list`: the list of PE 0; nullptr where PE 0 is far. `teams` is used until the next open.
  void open(ActiveSetList* first_list, TeamTable& teams, MakeTeam make) {
    first_list_ = first_list;
    teams_ = &teams;
    make_ = std::move(make);
  }

  // The team of a set of which this PE is a member. nullptr: too many different sets. `is_new`:
  // this call has made it.
  Team* team_of(const ActiveSet& set, bool& is_new);

 private:
  int slot_of(const ActiveSet& set);

  ActiveSetList* first_list_ = nullptr;
  TeamTable* teams_ = nullptr;
  MakeTeam make_;
  std::mutex mutex_;     // to make a team once
  ActiveSetList far_{};  // the part of PE 0's list that this PE knows, where that is far
};

}  // namespace meshmem

#endif  // MESHMEM_CORE_ACTIVE_SET_TEAMS_HPP_
