// SPDX-License-Identifier: Apache-2.0
//
// Ends the job for a call with an invalid team, context or PE number.
// Invariant: the line names the routine and what is wrong.
#include "core/call.hpp"

#include "base/error.hpp"

namespace meshmem {

void CallInContext::refuse_context() const {
  if (ctx == SHMEM_CTX_INVALID) fatal("{}: called with SHMEM_CTX_INVALID", routine);
  fatal("{}: {} is not a context of a living team", routine, static_cast<const void*>(ctx));
}

void refuse_team(shmem_team_t handle, const char* routine) {
  fatal("{}: {} is not a team (destroyed already, or never made)", routine,
        static_cast<const void*>(handle));
}

void CallInContext::refuse_team_pe(const Team& team, int pe) const {
  fatal("{}: PE {} is not in 0..{} of the context's team", routine, pe, team.n - 1);
}

Team* begin_call_on(shmem_team_t handle, const char* routine) {
  Team* team = team_of(handle, routine);
  if (team) team->begin_call(routine);
  return team;
}

Team& collective_team(shmem_team_t handle, const char* routine) {
  Team* team = begin_call_on(handle, routine);
  if (!team) fatal("{}: called with SHMEM_TEAM_INVALID", routine);
  return *team;
}

}  // namespace meshmem
