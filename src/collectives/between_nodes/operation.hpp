// SPDX-License-Identifier: Apache-2.0
//
// One collective of a team over several nodes, as its members see it: its messages, and which PE is
// on which node. PEs have their numbers in the team; nodes are numbered as in team.nodes.
// Invariant: all members begin the same operations in the same order. Their numbers only grow, also
// when a later team uses the slot, so no key is used twice. Used by the files of this folder.
#ifndef MESHMEM_COLLECTIVES_BETWEEN_NODES_OPERATION_HPP_
#define MESHMEM_COLLECTIVES_BETWEEN_NODES_OPERATION_HPP_

#include <fmt/core.h>

#include <algorithm>
#include <cstddef>

#include "collectives/batches.hpp"
#include "core/team.hpp"
#include "transport/transport.hpp"

namespace meshmem::between_nodes {

class Operation {
 public:
  explicit Operation(Team& team) : team_(team), number_(++team.far_sequence) {}
  Operation(const Operation&) = delete;
  Operation& operator=(const Operation&) = delete;

  // `data` may be used again when send() returns. Two messages from one PE to another that may be
  // under way at once have different steps.
  void send(int pe, const void* data, std::size_t bytes, int step = 0) const {
    transport()->send(team_.world_pe(pe), key(step), data, bytes);
  }
  // Tells the transport where a message goes: into memory or to a sink. receive() with the same
  // dest follows.
  void expect(int pe, const MessageDest& dest, int step = 0) const {
    transport()->expect(team_.world_pe(pe), key(step), dest);
  }
  void receive(int pe, const MessageDest& dest, int step = 0) const {
    transport()->receive(team_.world_pe(pe), key(step), dest, [this, pe] {
      return fmt::format("PE {} in {}", team_.world_pe(pe), team_.call_text());
    });
  }

 private:
  MessageKey key(int step) const { return {team_.slot, number_, step}; }
  Team& team_;
  const std::uint64_t number_;
};

inline int count_nodes(const Team& team) { return static_cast<int>(team.nodes.size()); }
inline const Team::Node& node_at(const Team& team, int node) {
  return team.nodes[static_cast<std::size_t>(node)];
}
inline const Team::Node& my_node(const Team& team) { return node_at(team, team.my_node); }
inline int count_members(const Team::Node& node) { return static_cast<int>(node.members.size()); }
// Member `index` of a node.
inline int member(const Team::Node& node, int index) {
  return node.members[static_cast<std::size_t>(index)];
}

// The node that is `distance` after this PE's, or before it if negative, in a ring of all nodes.
inline int node_after(const Team& team, int distance) {
  const int n = count_nodes(team);
  return (team.my_node + distance + n) % n;
}
// Calls run(node) for the other nodes, beginning after its own, so that the nodes do not all send
// to the same node at once.
template <typename Run>
void for_other_nodes(const Team& team, const Run& run) {
  for (int i = 1; i < count_nodes(team); ++i) run(node_after(team, i));
}

inline int node_of(const Team& team, int pe) {
  const auto has = [pe](const Team::Node& node) {
    return std::binary_search(node.members.begin(), node.members.end(), pe);
  };
  return static_cast<int>(std::find_if(team.nodes.begin(), team.nodes.end(), has) -
                          team.nodes.begin());
}
inline int index_in(const Team::Node& node, int pe) {
  return static_cast<int>(std::lower_bound(node.members.begin(), node.members.end(), pe) -
                          node.members.begin());
}

// Each PE has one *partner* on every other node. It sends the partner all data that need not go to
// a particular PE, and the partner puts it where it belongs on that node. If two nodes have the
// same number of members, partners are mutual.
inline int partner_on(const Team& team, int node) {
  const Team::Node& there = node_at(team, node);
  return member(there, team.node.me % count_members(there));
}

// Calls run(pe) for the PEs of node `node` whose partner is member `index` of this node.
template <typename Run>
void for_partners_on(const Team& team, int node, int index, const Run& run) {
  const Team::Node& there = node_at(team, node);
  for (int i = index; i < count_members(there); i += team.node.n) run(member(there, i));
}
// The same for all other nodes.
template <typename Run>
void for_partners_of(const Team& team, int index, const Run& run) {
  for (int i = 1; i < count_nodes(team); ++i)
    for_partners_on(team, node_after(team, -i), index, run);
}

}  // namespace meshmem::between_nodes

#endif  // MESHMEM_COLLECTIVES_BETWEEN_NODES_OPERATION_HPP_
