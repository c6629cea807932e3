// SPDX-License-Identifier: Apache-2.0
//
// An entry point's view of its call: the routine's name for messages, the team or context, and
// which world PE a PE number means.
// Invariant: a call while the library is not active, or with an invalid handle, ends the job with
// one line. Called by the entry points of api/.
#ifndef MESHMEM_CORE_CALL_HPP_
#define MESHMEM_CORE_CALL_HPP_

#include <cstdint>

#include "core/faults.hpp"
#include "core/runtime.hpp"
#include "gpu/device_target.hpp"
#include "memory/address_map.hpp"

namespace meshmem {

// Ends the job if the library is not between init and finalize, or if a kernel calls. At a thread's
// first call also lets the thread explain its faults.
inline void require_active(const char* routine) {
  host_only(routine);
  if (address_map.n_pes == 0) [[unlikely]]
    refuse_pe(address_map, 0, routine);
  if (!has_taken_fault_stack) [[unlikely]]
    take_fault_stack();
}

// A call without a context: its PE numbers are the world's.
struct Call {
  const char* routine;
  int world_pe(int pe) const { return pe; }
};

// A context has no queue of its own: it only names the team whose PE numbers its calls use. Its
// value is (unique number << 16) + the team's handle, so kernels find the team from the value
// alone. SHMEM_CTX_DEFAULT is number 0 of SHMEM_TEAM_WORLD.
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

// Returns nullptr for SHMEM_TEAM_INVALID. Any other handle without a team ends the job.
inline Team* team_of(shmem_team_t handle, const char* routine) {
  require_active(routine);
  if (handle == SHMEM_TEAM_INVALID) return nullptr;
  Team* team = runtime().teams().find(handle);
  if (!team) [[unlikely]]
    refuse_team(handle, routine);
  return team;
}

// The same for a collective, whose routine it notes in the team.
Team* begin_call_on(shmem_team_t handle, const char* routine);
// The same, but SHMEM_TEAM_INVALID ends the job too.
Team& collective_team(shmem_team_t handle, const char* routine);

}  // namespace meshmem

#endif  // MESHMEM_CORE_CALL_HPP_
