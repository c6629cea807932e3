// SPDX-License-Identifier: Apache-2.0
//
// Where a call of a program comes from: its name for messages, its team or context, and whose
// numbers its PEs are.
// Invariant: a call while the library is not active, or with an invalid handle, ends the job with
// one line. Called by the entry points of api/.
#ifndef MESHMEM_CORE_CALL_HPP_
#define MESHMEM_CORE_CALL_HPP_

#include <cstdint>

#include "core/runtime.hpp"
#include "gpu/device_target.hpp"
#include "memory/address_map.hpp"

namespace meshmem {

// Ends the job unless the library is between init and finalize, and the caller the host.
inline void require_active(const char* routine) {
  host_only(routine);
  if (address_map.n_pes == 0) [[unlikely]]
    refuse_pe(address_map, 0, routine);
}

// A call without a context: its PE numbers are the world's.
struct Call {
  const char* routine;
  int world_pe(int pe) const { return pe; }
};

// Within a node every put is a store of the calling thread, so a context holds no queue. It is the
// team whose PE numbers its calls use: (unique number << 16) + the team's handle, so that a kernel
// too finds the team without asking. SHMEM_CTX_DEFAULT is number 0 of SHMEM_TEAM_WORLD.
inline constexpr int kContextTeamBits = 16;
static_assert(kMaxTeams < 1 << kContextTeamBits);

inline shmem_team_t team_handle_of(shmem_ctx_t context) {
  constexpr std::uintptr_t kMask = (std::uintptr_t{1} << kContextTeamBits) - 1;
  return reinterpret_cast<shmem_team_t>(reinterpret_cast<std::uintptr_t>(context) & kMask);
}

struct CallInContext {
  const char* routine;
  shmem_ctx_t ctx;
  int world_pe(int pe) const {
    if (ctx == SHMEM_CTX_DEFAULT) return pe;
    require_active(routine);
    const Team* found = runtime().teams().find(team_handle_of(ctx));
    if (!found) [[unlikely]]
      refuse_context();
    const Team& team = *found;
    if (static_cast<unsigned>(pe) >= static_cast<unsigned>(team.n)) [[unlikely]]
      refuse_team_pe(team, pe);
    return team.world_pe(pe);
  }
  [[noreturn, gnu::cold, gnu::noinline]] void refuse_context() const;
  [[noreturn, gnu::cold, gnu::noinline]] void refuse_team_pe(const Team& team, int pe) const;
};

[[noreturn, gnu::cold, gnu::noinline]] void refuse_team(shmem_team_t handle, const char* routine);

// nullptr for SHMEM_TEAM_INVALID; a handle of no team ends the job.
inline Team* team_of(shmem_team_t handle, const char* routine) {
  require_active(routine);
  if (handle == SHMEM_TEAM_INVALID) return nullptr;
  Team* team = runtime().teams().find(handle);
  if (!team) [[unlikely]]
    refuse_team(handle, routine);
  return team;
}

// For a collective, which must not be given the invalid team.
Team& collective_team(shmem_team_t handle, const char* routine);

}  // namespace meshmem

#endif  // MESHMEM_CORE_CALL_HPP_
