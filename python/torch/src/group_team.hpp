// SPDX-License-Identifier: Apache-2.0
//
// The team of a process group. PEs drop groups at times of their own, but a team's end is
// collective. So the team of a group that has ended stays until the same PEs make another group,
// which destroys the teams that all of them have dropped.
// Invariant: the members number the teams of a list of PEs alike.
#pragma once
#include <shmemx.h>

#include <vector>

namespace meshmem::pytorch {

struct TeamsOfList;

class GroupTeam {
 public:
  // Collective over these PEs of the world, which make one group at a time. Throws if there are too
  // many teams.
  explicit GroupTeam(const std::vector<int>& pes);
  ~GroupTeam();  // not collective
  GroupTeam(const GroupTeam&) = delete;
  GroupTeam& operator=(const GroupTeam&) = delete;

  shmem_team_t get() const { return team_; }

 private:
  TeamsOfList& list_;
  shmem_team_t team_ = SHMEM_TEAM_INVALID;
  int number_ = -1;  // -1: the list has no number left, so the team stays until the job ends
};

}  // namespace meshmem::pytorch
