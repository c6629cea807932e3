// SPDX-License-Identifier: Apache-2.0
//
// A team: an ordered list of PEs. Those on this node are its NodeTeam; where there are others, the
// first member on each node is that node's leader, who exchanges messages with the other leaders.
// Invariant: all members number the team's PEs, nodes and operations alike. Made by Runtime
// (predefined teams), by splits, and by ActiveSetTeams.
#ifndef MESHMEM_CORE_TEAM_HPP_
#define MESHMEM_CORE_TEAM_HPP_

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/node_team.hpp"
#include "gpu/stream_mark.hpp"
#include "shmem.h"

namespace meshmem {

struct Team {
  int me = 0;
  int n = 1;
  std::span<const int> pes;  // world PE of each PE of the team, in node.pes or in all_pes
  int slot = 0;              // of team areas, on all nodes
  shmem_team_config_t config{};

  NodeTeam node;
  struct Node {
    std::vector<int> members;  // numbers in the team, ascending
    int leader() const { return members.front(); }
  };
  // The nodes of the team, in the order of their leaders. nodes and all_pes are empty if there is
  // one node.
  std::vector<Node> nodes;
  std::vector<int> all_pes;
  int my_node = 0;
  int fewest_cores = std::numeric_limits<int>::max();  // of a node (spread.hpp)
  std::uint64_t far_sequence = 0;                      // of the last operation between nodes

  // Under MESHMEM_CHECK, how many calls the members have compared: of the host, and on streams.
  std::uint64_t host_calls = 0;
  std::uint64_t stream_calls = 0;
  // A second Team of the same members, for collectives that kernels ask the host for. They have
  // numbers of their own, apart from the program's collectives. Null if there is one node.
  std::unique_ptr<Team> twin_for_kernels;
  // Of a twin: a kernel waits for the call. It may fill its device, so that no other kernel starts
  // there.
  bool kernel_waits = false;
  // The mark behind the team's newest collective on a stream that was not captured; null: there was
  // none.
  std::shared_ptr<StreamMark> mark;

  bool is_on_one_node() const { return nodes.empty(); }
  bool is_leader() const { return node.me == 0; }
  const char* routine() const { return node.routine; }  // what the user called: for messages
  void begin_call(const char* routine) { node.routine = routine; }

  bool is_predefined = false;
  // Its collectives on streams also take buffers that are not symmetric.
  bool takes_any_memory = false;

  int world_pe(int pe) const { return pes[static_cast<std::size_t>(pe)]; }
  int find_world_pe(int world_pe) const;  // the number in this team, -1 if it is no member

  std::string text() const { return team_text(slot, n); }  // "SHMEM_TEAM_WORLD, 4 PEs"
  std::string call_text() const;  // "shmem_barrier_all (SHMEM_TEAM_WORLD, 4 PEs)"
};

// A handle is a number that means the same inside kernels, where there are no objects: the slot +
// 1. SHMEM_TEAM_WORLD and SHMEM_TEAM_SHARED are the first two slots.
inline std::uintptr_t number_of(shmem_team_t handle) {
  return reinterpret_cast<std::uintptr_t>(handle);
}
inline shmem_team_t handle_of(int slot) {
  return reinterpret_cast<shmem_team_t>(static_cast<std::uintptr_t>(slot) + 1);
}

// The node of a world PE, as a number that is only compared with others.
using NodeOf = std::function<int(int world_pe)>;

// A team of `pes` (world PEs in team order), without areas; `me` is -1 if this PE is not among
// them.
Team make_team(std::vector<int> pes, const AddressMap& map, const NodeOf& node_of);

}  // namespace meshmem

#endif  // MESHMEM_CORE_TEAM_HPP_
