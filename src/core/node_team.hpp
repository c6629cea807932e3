// SPDX-License-Identifier: Apache-2.0
//
// The members of a team that are on this node, with what their collectives need: each one's area
// and memory are mapped here.
// Invariant: all members number themselves and the operations alike. Part of a Team, and the
// argument of collectives within a node. Unit tests make NodeTeams whose PEs are threads.
#ifndef MESHMEM_CORE_NODE_TEAM_HPP_
#define MESHMEM_CORE_NODE_TEAM_HPP_

#include <cstdint>
#include <string>
#include <vector>

#include "core/team_area.hpp"
#include "memory/address_map.hpp"

namespace meshmem {

struct NodeTeam {
  int me = 0;
  int n = 1;
  std::vector<int> pes;          // world PE of each member here
  std::vector<TeamArea*> areas;  // by member
  const AddressMap* map = nullptr;
  bool more_pes_than_cores = false;
  int slot = 0;          // of the areas
  bool is_whole = true;  // the team has no other members
  // Every reduction combines one PE after the other (shmemx_team_fix_reduce_order).
  bool in_pe_order = false;

  // The number of the last operation, and of the last one that all members have started as far as
  // this PE knows.
  std::uint64_t sequence = 0;
  std::uint64_t known_started = 0;
  const char* routine = "";  // what the user called: for messages

  TeamArea& my_area() const { return *areas[static_cast<std::size_t>(me)]; }
  TeamArea& area_of(int pe) const { return *areas[static_cast<std::size_t>(pe)]; }
  int world_pe(int pe) const { return pes[static_cast<std::size_t>(pe)]; }

  // "shmem_barrier_all (SHMEM_TEAM_WORLD, 4 PEs)": for messages.
  std::string call_text() const;

  // Returns where a member's copy of a symmetric address is mapped here. A bad address ends the
  // job.
  std::byte* translate(const void* address, std::size_t bytes, int pe) const {
    return meshmem::translate(*map, address, bytes, world_pe(pe), routine);
  }
};

// Makes the NodeTeam of `pes` (world PEs in team order), without areas. `me` is -1 if my_world_pe
// is not among them.
NodeTeam make_node_team(std::vector<int> pes, int my_world_pe, const AddressMap& map);

// "SHMEM_TEAM_WORLD, 4 PEs"
std::string team_text(int slot, int n);

}  // namespace meshmem

#endif  // MESHMEM_CORE_NODE_TEAM_HPP_
