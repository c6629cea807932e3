// SPDX-License-Identifier: Apache-2.0
//
// What every entry point shares: the pair of names (pshmem_x, and shmem_x as its weak alias, so
// that a tool can take the place of the latter), and where a call comes from.
// Invariant: the library itself calls neither name. Included by the files of api/ only.
#ifndef MESHMEM_API_ENTRY_HPP_
#define MESHMEM_API_ENTRY_HPP_

#include "base/trace.hpp"
#include "core/runtime.hpp"
#include "gpu/device_target.hpp"
#include "memory/address_map.hpp"
#include "pshmem.h"
#include "pshmemx.h"

// Defines one routine. The body follows as { ... }. NAMED: with all of its name, as in shmem_put.
#define MESHMEM_VISIBLE __attribute__((visibility("default")))
#define MESHMEM_ENTRY(result, name, params) MESHMEM_NAMED_ENTRY(result, shmem_##name, params)
#define MESHMEM_EXTENSION_ENTRY(result, name, params) \
  MESHMEM_NAMED_ENTRY(result, shmemx_##name, params)
#if MESHMEM_TRACE
// The body alone: traced_entries.cpp defines both names around it.
#define MESHMEM_NAMED_ENTRY(result, name, params) extern "C" result untraced_##name params
#else
#define MESHMEM_NAMED_ENTRY(result, name, params)                                        \
  extern "C" MESHMEM_VISIBLE result name params __attribute__((weak, alias("p" #name))); \
  extern "C" MESHMEM_VISIBLE result p##name params
#endif

namespace meshmem {

// Ends the job unless the library is between init and finalize, and the caller the host.
inline void require_active(const char* routine) {
  host_only(routine);
  if (address_map.n_pes == 0) [[unlikely]]
    refuse_pe(address_map, 0, routine);
}

// The place of a call: its name for messages, and whose numbers its PEs are.
struct Call {
  const char* routine;
  int world_pe(int pe) const { return pe; }
};

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

#endif  // MESHMEM_API_ENTRY_HPP_
