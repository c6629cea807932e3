// SPDX-License-Identifier: Apache-2.0
//
// Meeting of PEs of several nodes. The members of a node tell their leader that they have come, the
// leaders meet by dissemination, and each leader releases its members.
// Invariant: only leaders send messages, log2 of the number of nodes each.
#include "collectives/between_nodes.hpp"
#include "collectives/between_nodes/operation.hpp"
#include "collectives/schedule.hpp"
#include "collectives/team_steps.hpp"

namespace meshmem::between_nodes {
namespace {

void meet_leaders(const Team& team, const Operation& operation) {
  const int n = count_nodes(team);
  for (int round = 0; round < schedule::dissemination_rounds(n); ++round) {
    const int target = schedule::dissemination_target(n, team.my_node, round);
    const int source = (2 * team.my_node - target + n) % n;  // whose target this node is
    operation.send(node_at(team, target).leader(), nullptr, 0, round);
    operation.receive(node_at(team, source).leader(), {nullptr, 0}, round);
  }
}

}  // namespace

void sync(Team& team) {
  const Operation operation(team);
  NodeTeam& node = team.node;
  const std::uint64_t sequence = begin_operation(node);
  announce(node, sequence);
  if (team.is_leader()) {
    await_all_announced(node, sequence);
    meet_leaders(team, operation);
    publish(node.my_area().release, sequence);
  } else {
    await(node, node.area_of(0).release, sequence, 0);
  }
  note_all_started(node, sequence);
}

}  // namespace meshmem::between_nodes
