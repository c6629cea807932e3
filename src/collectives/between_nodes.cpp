// SPDX-License-Identifier: Apache-2.0
//
// Messages among leaders, and operations of their nodes before and after.
// Invariant: whoever receives a message waits for it inside the operation that it belongs to, so a
// key may come up again as soon as the number has.
#include "collectives/between_nodes.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include "collectives/message.hpp"
#include "collectives/node_barrier.hpp"
#include "collectives/schedule.hpp"
#include "transport/transport.hpp"

namespace meshmem::between_nodes {
namespace {

using Bytes = std::vector<std::byte>;

// One operation between the nodes of a team.
class Operation {
 public:
  explicit Operation(Team& team) : team_(team), number_(++team.far_sequence) {}

  void send(int pe, const void* data, std::size_t bytes, int step = 0) const {
    transport()->send(team_.world_pe(pe), key(step), data, bytes);
  }
  void receive(int pe, void* dest, std::size_t bytes, int step = 0) const {
    const int world_pe = team_.world_pe(pe);
    transport()->receive(world_pe, key(step), dest, bytes,
                         [&] { return fmt::format("PE {} in {}", world_pe, team_.call_text()); });
  }

 private:
  MessageKey key(int step) const { return {team_.slot, number_, step}; }
  Team& team_;
  const std::uint64_t number_;
};

// `data` becomes on all members of the node what it is on the one whose number is `root`.
void show_in_node(NodeTeam& node, std::byte* data, std::size_t bytes, int root) {
  if (node.n == 1) return;
  for (std::size_t at = 0; at < bytes; at += kStageBytes) {
    const std::size_t length = std::min(bytes - at, kStageBytes);
    const std::uint64_t sequence = begin_operation(node);
    announce(node, sequence);
    if (node.me == root) {
      post_message(node, sequence, data + at, length);
    } else {
      receive_message(node, sequence, data + at, length, root);
    }
  }
}

// The blocks of this node's members, each in its place.
void gather_in_node(Team& team, std::byte* all, const void* mine, std::size_t bytes) {
  NodeTeam& node = team.node;
  const std::vector<int>& members = team.nodes[static_cast<std::size_t>(team.my_node)].members;
  const std::uint64_t sequence = begin_operation(node);
  post_message(node, sequence, mine, bytes);
  for (int pe = 0; pe < node.n; ++pe) {
    const auto place = static_cast<std::size_t>(members[static_cast<std::size_t>(pe)]) * bytes;
    receive_message(node, sequence, all + place, bytes, pe);
  }
  all_have_started(node, sequence);
}

Bytes packed(const Team::Node& node, const std::byte* all, std::size_t bytes) {
  Bytes blocks;
  for (const int pe : node.members) {
    const std::byte* block = all + static_cast<std::size_t>(pe) * bytes;
    blocks.insert(blocks.end(), block, block + bytes);
  }
  return blocks;
}

void unpack(const Team::Node& node, std::byte* all, const std::byte* blocks, std::size_t bytes) {
  for (const int pe : node.members) {
    std::copy_n(blocks, bytes, all + static_cast<std::size_t>(pe) * bytes);
    blocks += bytes;
  }
}

int node_of(const Team& team, int pe) {
  const auto has = [pe](const Team::Node& node) {
    return std::binary_search(node.members.begin(), node.members.end(), pe);
  };
  return static_cast<int>(std::find_if(team.nodes.begin(), team.nodes.end(), has) -
                          team.nodes.begin());
}

int number_in(const Team::Node& node, int pe) {
  return static_cast<int>(std::lower_bound(node.members.begin(), node.members.end(), pe) -
                          node.members.begin());
}

// Calls run(number, node) for the nodes that are not this PE's, in an order in which the leaders do
// not all turn to the same one at once.
template <typename Run>
void for_other_nodes(const Team& team, const Run& run) {
  const std::size_t n = team.nodes.size();
  for (std::size_t i = 1; i < n; ++i)
    run(team.nodes[(static_cast<std::size_t>(team.my_node) + i) % n]);
}

}  // namespace

void sync(Team& team) {
  const Operation operation(team);
  meshmem::sync(team.node);
  if (team.is_leader()) {
    const int n = static_cast<int>(team.nodes.size());
    const auto leader = [&](int node) {
      return team.nodes[static_cast<std::size_t>(node)].leader();
    };
    for (int round = 0; round < schedule::dissemination_rounds(n); ++round) {
      const int target = schedule::dissemination_target(n, team.my_node, round);
      const int source = (2 * team.my_node - target + n) % n;
      operation.send(leader(target), nullptr, 0, round);
      operation.receive(leader(source), nullptr, 0, round);
    }
  }
  if (team.node.n > 1) meshmem::sync(team.node);
}

void gather(Team& team, std::byte* all, const void* mine, std::size_t bytes) {
  const Operation operation(team);
  gather_in_node(team, all, mine, bytes);
  const Team::Node& here = team.nodes[static_cast<std::size_t>(team.my_node)];
  Bytes others((static_cast<std::size_t>(team.n) - here.members.size()) * bytes);
  if (team.is_leader()) {
    const Bytes ours = packed(here, all, bytes);
    for_other_nodes(team, [&](const Team::Node& node) {
      operation.send(node.leader(), ours.data(), ours.size());
    });
    std::byte* at = others.data();
    for_other_nodes(team, [&](const Team::Node& node) {
      operation.receive(node.leader(), at, node.members.size() * bytes);
      at += node.members.size() * bytes;
    });
  }
  show_in_node(team.node, others.data(), others.size(), 0);
  const std::byte* at = others.data();
  for_other_nodes(team, [&](const Team::Node& node) {
    unpack(node, all, at, bytes);
    at += node.members.size() * bytes;
  });
}

void broadcast(Team& team, std::byte* data, std::size_t bytes, int root) {
  const Operation operation(team);
  const int node_of_root = node_of(team, root);
  const bool is_here = node_of_root == team.my_node;
  if (team.me == root) {
    for_other_nodes(team,
                    [&](const Team::Node& node) { operation.send(node.leader(), data, bytes); });
  } else if (!is_here && team.is_leader()) {
    operation.receive(root, data, bytes);
  }
  const Team::Node& here = team.nodes[static_cast<std::size_t>(team.my_node)];
  show_in_node(team.node, data, bytes, is_here ? number_in(here, root) : 0);
}

}  // namespace meshmem::between_nodes
