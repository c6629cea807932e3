// SPDX-License-Identifier: Apache-2.0
//
// Making and ending teams (OpenSHMEM 1.6, section 9.4): what the PEs of the parent agree on.
// Invariant: a split is a collective of the parent, and ends alike on all its PEs: all get their
// team (or are no members), or all get nonzero and SHMEM_TEAM_INVALID. Called by api/teams.cpp.
#ifndef MESHMEM_LIBRARY_SPLITS_HPP_
#define MESHMEM_LIBRARY_SPLITS_HPP_

#include <cstdint>
#include <vector>

#include "core/team.hpp"
#include "shmem.h"

namespace meshmem {

// The PEs start, start + stride, ... of the parent.
struct Triplet {
  int start;
  int stride;
  int size;
};

// Returns 0, or nonzero with SHMEM_TEAM_INVALID in `made`: then no PE has got a team.
int split_strided(Team& parent, const Triplet& triplet, const shmem_team_config_t& config,
                  shmem_team_t* made);

// Rows of `width` PEs, and the columns across them. split_2d() returns as split_strided().
struct Split2d {
  int width;
  shmem_team_config_t row_config;
  shmem_team_config_t column_config;
};
int split_2d(Team& parent, const Split2d& split, shmem_team_t* row, shmem_team_t* column);

// Makes a team of these world PEs, in this order; this PE is one of them. Collective over these PEs
// alone. Returns 0, or on all of them nonzero with SHMEM_TEAM_INVALID in `made`: 1 if no slot is
// free, kNoMeeting if the job has used too many different lists.
inline constexpr int kNoMeeting = 2;
int make_team_of_pes(const std::vector<int>& pes, const char* routine, shmem_team_t* made);

// A team of PEs that do not know each other, only an id that they share. Each says in a word of its
// control segment which id it joins at which place, and takes the word back when all members know
// each other. The word has the number of the PE in the team, plus one, below the id.
inline constexpr int kJoiningPlaceBits = 20;
inline constexpr std::uint64_t kMaxJoiningId = (std::uint64_t{1} << (64 - kJoiningPlaceBits)) - 1;

struct Joining {
  std::uint64_t id;  // 1 to kMaxJoiningId
  int n_pes;         // of the new team
  int me;            // in the new team
};

// Collective over the PEs that join. A PE has one word, so its threads join one after another, and
// all PEs must join their teams in one order. Returns as make_team_of_pes(), but ends the job if it
// has no room for another list of PEs.
int join_team(const Joining& joining, const char* routine, shmem_team_t* made);

// Ends the team and its contexts, once all members have called it. For a predefined team, ends the
// job.
void destroy_team(Team& team);

// All members call it between the same two collectives.
void fix_reduce_order(Team& team);

}  // namespace meshmem

#endif  // MESHMEM_LIBRARY_SPLITS_HPP_
