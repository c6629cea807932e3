// SPDX-License-Identifier: Apache-2.0
//
// Scans between nodes whose members follow each other in the team. A leader takes over the result
// of all PEs before its node, goes on with its members, and hands the result to the next node's
// leader. In other cases the scan goes by messages.
// Invariant: combined one PE after another, in PE order. dest may be source.
#include "base/status/slow_ways.hpp"
#include "collectives/between_nodes/algorithms.hpp"
#include "collectives/between_nodes/choice.hpp"
#include "collectives/between_nodes/through_leader.hpp"
#include "collectives/by_messages.hpp"

namespace meshmem::between_nodes {
namespace {

bool nodes_follow_each_other(const Team& team) {
  return std::all_of(team.nodes.begin(), team.nodes.end(), [](const Team::Node& node) {
    return node.members.back() - node.members.front() + 1 == count_members(node);
  });
}

// `data` becomes this PE's result. `room` has space for the results of the node's members and one
// more.
void scan_batch(Team& team, const Reduction& op, std::byte* data, std::size_t count, bool inclusive,
                std::byte* room) {
  const Operation operation(team);
  ThroughLeader node(team.node);
  const std::size_t bytes = count * op.elem_bytes;
  const auto place = [&](int index) { return static_cast<std::size_t>(index) * bytes; };
  if (!team.is_leader()) {
    node.bring(data, bytes);
    return node.take_range(data, place(team.node.n), place(team.node.me), bytes);
  }
  std::byte* const total = room + place(team.node.n);  // the result of the PEs so far
  bool is_empty = team.my_node == 0;
  if (!is_empty) operation.receive(node_at(team, team.my_node - 1).leader(), {total, bytes});
  const auto copy_total = [&](int index) {
    if (is_empty) {
      std::fill_n(room + place(index), bytes, std::byte{0});
    } else {
      std::copy_n(total, bytes, room + place(index));
    }
  };
  for (int i = 0; i < team.node.n; ++i) {
    if (!inclusive) copy_total(i);
    const std::byte* theirs = i == 0 ? data : node.brought_by(i, bytes);
    if (is_empty) {
      std::copy_n(theirs, bytes, total);
    } else {
      op.combine(total, total, theirs, count);
    }
    is_empty = false;
    if (inclusive) copy_total(i);
  }
  if (team.my_node + 1 < count_nodes(team))
    operation.send(node_at(team, team.my_node + 1).leader(), total, bytes);
  node.hand_out(room, place(team.node.n));
  std::copy_n(room, bytes, data);
}

}  // namespace

void scan(Team& team, const Collective& call) {
  const Reduction& op = *call.op;
  const std::size_t count = call.count;
  const std::size_t elem_bytes = as_combined(op).elem_bytes;
  const std::size_t most = kStageBytes / elem_bytes / static_cast<std::size_t>(most_members(team));
  const bool is_long_chain =
      count_nodes(team) > kMostChainNodes &&
      count * op.elem_bytes * static_cast<std::size_t>(team.n) <= kGatherThroughLeaders;
  if (most == 0 || is_long_chain) return by_messages::run(team, call);
  if (!nodes_follow_each_other(team)) {
    note_slow_way(SlowWay::machines_in_turn, team.routine());
    return by_messages::run(team, call);
  }
  const bool inclusive = call.kind == CollectiveKind::inscan;
  const Room room =
      make_room(std::min(most, count) * elem_bytes * static_cast<std::size_t>(team.node.n + 1));
  in_batches(team, call, most, [&](std::byte* data, std::size_t elems) {
    combine_wide(op, data, elems, data, elems,
                 [&](const Reduction& combined, std::byte* terms, std::byte*) {
                   scan_batch(team, combined, terms, elems, inclusive, room.get());
                 });
  });
}

}  // namespace meshmem::between_nodes
