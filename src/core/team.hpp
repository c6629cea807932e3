// SPDX-License-Identifier: Apache-2.0
//
// A team: an ordered list of PEs, with what its collectives need.
// Invariant: all members number the team's PEs and its operations alike. Made by Runtime (WORLD,
// SHARED) and by the splits of teams.hpp; unit tests make teams whose PEs are threads.
#ifndef MESHMEM_CORE_TEAM_HPP_
#define MESHMEM_CORE_TEAM_HPP_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/team_area.hpp"
#include "gpu/kernel_team.hpp"
#include "gpu/stream_mark.hpp"
#include "memory/address_map.hpp"
#include "shmem.h"

namespace meshmem {

struct Team {
  int me = 0;
  int n = 1;
  std::vector<int> pes;          // world PE of each PE of the team
  std::vector<TeamArea*> areas;  // by PE of the team
  const AddressMap* map = nullptr;
  bool more_pes_than_cores = false;

  // Operations: the last one's number, and the last one of which this PE knows that all members
  // have started it.
  std::uint64_t sequence = 0;
  std::uint64_t known_started = 0;
  const char* routine = "";  // what the user called: for messages
  // Under MESHMEM_CHECK, how many calls the members have compared: of the host, and on streams.
  std::uint64_t host_calls = 0;
  std::uint64_t stream_calls = 0;

  std::shared_ptr<StreamMark>
      mark;  // behind its newest collective on a stream; of those not captured

  int slot = 0;  // of the areas
  shmem_team_config_t config{};

  TeamArea& mine() const { return *areas[static_cast<std::size_t>(me)]; }
  TeamArea& of(int pe) const { return *areas[static_cast<std::size_t>(pe)]; }
  int world_pe(int pe) const { return pes[static_cast<std::size_t>(pe)]; }
  KernelTeam for_kernels() const { return {slot, me, pes}; }
  int find_world_pe(int world_pe) const;  // the number in this team, -1 if it is no member

  // "shmem_barrier_all (SHMEM_TEAM_WORLD, 4 PEs)": for messages.
  std::string call_text() const;
  std::string text() const;  // "SHMEM_TEAM_WORLD, 4 PEs"

  // Where a symmetric address is in a member's memory, mapped here; a bad address ends the job.
  std::byte* translate(const void* address, std::size_t bytes, int pe) const {
    return meshmem::translate(*map, address, bytes, world_pe(pe), routine);
  }
};

// A handle is a number that means the same inside kernels, where there are no objects: the slot + 1.
// SHMEM_TEAM_WORLD and SHMEM_TEAM_SHARED are the first two slots.
inline std::uintptr_t number_of(shmem_team_t handle) {
  return reinterpret_cast<std::uintptr_t>(handle);
}
inline shmem_team_t handle_of(int slot) {
  return reinterpret_cast<shmem_team_t>(static_cast<std::uintptr_t>(slot) + 1);
}

// A team of `pes` (world PEs in team order), without areas; `me` is -1 if my_world_pe is not among
// them.
Team make_team(std::vector<int> pes, int my_world_pe, const AddressMap& map);

}  // namespace meshmem

#endif  // MESHMEM_CORE_TEAM_HPP_
