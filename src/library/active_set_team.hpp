// SPDX-License-Identifier: Apache-2.0
//
// The team that the library keeps for an active set (OpenSHMEM 1.6, section 9.9, deprecated).
// Invariant: only members of a set take part, also when its team is made. A PE that is not a
// member, or that gives an impossible set, ends the job. Called by api/active_sets.cpp.
#ifndef MESHMEM_LIBRARY_ACTIVE_SET_TEAM_HPP_
#define MESHMEM_LIBRARY_ACTIVE_SET_TEAM_HPP_

#include "core/active_sets.hpp"
#include "core/team.hpp"

namespace meshmem {

// For one call of `routine`, which has found nothing wrong: the first one may wait for the other
// members.
Team& active_set_team(const ActiveSet& set, const char* routine);

// The root of a broadcast is one of the set, and so is this PE.
void require_root(const ActiveSet& set, int root, const char* routine);

}  // namespace meshmem

#endif  // MESHMEM_LIBRARY_ACTIVE_SET_TEAM_HPP_
