// SPDX-License-Identifier: Apache-2.0
//
// Teams and contexts in kernels. A team's handle is its slot plus one. A context's handle has that
// number in its low 16 bits. So decoding a handle reads no memory.
// Invariant: all threads of a PE see the same team. A handle of no team ends the kernel, except
// that my_pe, n_pes and translate_pe return -1 for SHMEM_TEAM_INVALID.
#ifndef MESHMEM_DEVICE_TEAMS_HPP_
#define MESHMEM_DEVICE_TEAMS_HPP_

#include "device/module.hpp"
#include "shmem/constants.h"

namespace meshmem {
namespace device {

constexpr int kNoTeam = -1;
constexpr int kWorldSlot = 0;

// kNoTeam for SHMEM_TEAM_INVALID.
MESHMEM_DEVICE int slot_of(shmem_team_t team) {
  return static_cast<int>(reinterpret_cast<std::uintptr_t>(team)) - 1;
}
MESHMEM_DEVICE int slot_of(shmem_ctx_t ctx) {
  return static_cast<int>(reinterpret_cast<std::uintptr_t>(ctx) & 0xffff) - 1;
}

MESHMEM_DEVICE const TeamView& team_in(int slot) {
  if (slot < 0 || slot >= kTeamSlots || state().teams[slot].me < 0) refuse_team(slot);
  return state().teams[slot];
}

// The same, but reads no table for the team of all PEs.
MESHMEM_DEVICE TeamView view_of(int slot) {
  if (slot == kWorldSlot) return {state().me, state().n_pes, nullptr};
  return team_in(slot);
}

MESHMEM_DEVICE int world_pe_of(const TeamView& team, int pe) {
  return team.pes ? team.pes[pe] : pe;
}

// Turn the PE number of a call, of the world or of a context's team, into a world PE.
struct WorldPes {
  MESHMEM_DEVICE_MEMBER int world_pe(int pe) const { return pe; }
};
struct ContextPes {
  shmem_ctx_t ctx;
  MESHMEM_DEVICE_MEMBER int world_pe(int pe) const {
    const int slot = slot_of(ctx);
    if (slot == 0) return pe;
    const TeamView& team = team_in(slot);
    if (static_cast<unsigned>(pe) >= static_cast<unsigned>(team.n)) refuse_pe(pe);
    return world_pe_of(team, pe);
  }
};

MESHMEM_DEVICE int team_my_pe(shmem_team_t handle) {
  const int slot = slot_of(handle);
  return slot == kNoTeam ? -1 : team_in(slot).me;
}
MESHMEM_DEVICE int team_n_pes(shmem_team_t handle) {
  const int slot = slot_of(handle);
  return slot == kNoTeam ? -1 : team_in(slot).n;
}
MESHMEM_DEVICE int team_translate_pe(shmem_team_t from, int pe, shmem_team_t to) {
  if (slot_of(from) == kNoTeam || slot_of(to) == kNoTeam) return -1;
  const TeamView& source = team_in(slot_of(from));
  if (static_cast<unsigned>(pe) >= static_cast<unsigned>(source.n)) return -1;
  const int world_pe = world_pe_of(source, pe);
  const TeamView& target = team_in(slot_of(to));
  if (!target.pes) return world_pe < target.n ? world_pe : -1;
  for (int i = 0; i < target.n; ++i)
    if (target.pes[i] == world_pe) return i;
  return -1;
}

}  // namespace device
}  // namespace meshmem

#endif  // MESHMEM_DEVICE_TEAMS_HPP_
