// SPDX-License-Identifier: Apache-2.0
//
// Names for teams that are the same on all members: a key, and its members as text.
// Invariant: teams of the same members are told apart by their handles, and those that also have
// one handle by how many of these there were before. All members agree on both. Called by the
// wrappers.
#ifndef MESHMEM_TOOLS_INTERPOSE_TEAMS_HPP_
#define MESHMEM_TOOLS_INTERPOSE_TEAMS_HPP_

#include <pshmem.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/hooks/trace_job.hpp"

namespace meshmem::tracing {

inline constexpr std::uint64_t kWorldKey = 1;

void forget_teams();
void name_predefined_teams(const TraceJob& job);
void name_team(shmem_team_t team);  // a new one; does nothing for SHMEM_TEAM_INVALID
std::uint64_t key_of(shmem_team_t team);
std::uint64_t key_of_active_set(int start, int log_stride, int size);

// Keeps the name of a team. Each library of wrappers defines this, and teams.cpp calls it.
void keep_team_name(std::uint64_t key, const std::string& members);

// PE numbers of SHMEM_TEAM_WORLD. A team that does not exist has no members, and its PEs are -1:
// the routine itself refuses it.
std::vector<int> members_of(shmem_team_t team);
int world_pe(shmem_team_t team, int pe);
int world_pe(shmem_ctx_t context, int pe);

}  // namespace meshmem::tracing

#endif  // MESHMEM_TOOLS_INTERPOSE_TEAMS_HPP_
