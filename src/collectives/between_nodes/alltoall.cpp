// SPDX-License-Identifier: Apache-2.0
//
// Small alltoall and alltoalls between nodes. One message from leader to leader carries all blocks
// from one node's members to another's. Words: an *outflow* is what a PE has for all PEs. The
// *inflow* is what a node receives from all others, ordered by receiver.
// Invariant: an outflow has at most kStageBytes.
#include "collectives/between_nodes.hpp"
#include "collectives/between_nodes/algorithms.hpp"
#include "collectives/between_nodes/choice.hpp"
#include "collectives/message.hpp"

namespace meshmem::between_nodes {
namespace {

// The outflows that the members of a node have posted. All blocks have `block` bytes.
struct Outflows {
  NodeTeam& node;
  std::uint64_t sequence;
  std::size_t bytes;
  std::size_t block;

  // Copies the block for PE `pe` from member `index`.
  void read(std::byte* to, int index, int pe) const {
    receive_range(node, sequence, to, bytes, index, static_cast<std::size_t>(pe) * block, block);
  }
};

// Sends the data of this node's members for those of another, ordered by receiver.
void send_packs(const Team& team, const Operation& operation, const Outflows& outflows) {
  const auto n_near = static_cast<std::size_t>(team.node.n);
  for_other_nodes(team, [&](int number) {
    const Team::Node& there = node_at(team, number);
    const std::size_t bytes = there.members.size() * n_near * outflows.block;
    const Room pack = make_room(bytes);
    std::byte* to = pack.get();
    for (const int pe : there.members) {
      for (int index = 0; index < team.node.n; ++index, to += outflows.block)
        outflows.read(to, index, pe);
    }
    operation.send(there.leader(), pack.get(), bytes);
  });
}

// Receives the inflow of this node: for each member the blocks from all far PEs, node by node.
void receive_packs(const Team& team, const Operation& operation, std::size_t block,
                   std::byte* inflow) {
  const auto n_near = static_cast<std::size_t>(team.node.n);
  const std::size_t for_one = (static_cast<std::size_t>(team.n) - n_near) * block;
  std::size_t begin = 0;
  for_other_nodes(team, [&](int number) {
    const Team::Node& there = node_at(team, number);
    const std::size_t length = there.members.size() * block;
    const Room pack = make_room(length * n_near);
    operation.receive(there.leader(), {pack.get(), length * n_near});
    for (std::size_t index = 0; index < n_near; ++index)
      std::copy_n(pack.get() + index * length, length, inflow + index * for_one + begin);
    begin += length;
  });
}

// The leader posts `inflow` to its node's members, as much at a time as a stage holds. `mine`
// becomes this PE's part of it.
void hand_out(NodeTeam& node, const std::byte* inflow, std::byte* mine, std::size_t for_one) {
  const std::size_t total = for_one * static_cast<std::size_t>(node.n);
  const std::size_t my_begin = for_one * static_cast<std::size_t>(node.me);
  if (node.n == 1) {
    std::copy_n(inflow, total, mine);
    return;
  }
  for (std::size_t offset = 0; offset < total; offset += kStageBytes) {
    const std::size_t length = std::min(kStageBytes, total - offset);
    const std::uint64_t sequence = begin_operation(node);
    announce(node, sequence);
    const std::size_t begin = std::max(offset, my_begin);
    const std::size_t end = std::min(offset + length, my_begin + for_one);
    if (node.me == 0) post_message(node, sequence, inflow + offset, length);
    if (begin >= end) continue;
    if (node.me == 0) {
      std::copy_n(inflow + begin, end - begin, mine + begin);
    } else {
      receive_range(node, sequence, mine + (begin - my_begin), length, 0, begin - offset,
                    end - begin);
    }
  }
}

// An alltoall of one batch. Calls take(pe, data) with the block of each PE for this one.
template <typename Take>
void alltoall_batch(Team& team, const std::byte* outflow, std::size_t block, const Take& take) {
  const Operation operation(team);
  NodeTeam& node = team.node;
  const Outflows outflows{node, begin_operation(node), block * static_cast<std::size_t>(team.n),
                          block};
  post_message(node, outflows.sequence, outflow, outflows.bytes);
  const Room one = make_room(block);
  const Team::Node& here = my_node(team);
  for (int index = 0; index < node.n; ++index) {
    outflows.read(one.get(), index, team.me);
    take(member(here, index), one.get());
  }
  if (team.is_leader()) send_packs(team, operation, outflows);
  note_all_started(node, outflows.sequence);
  const std::size_t for_one = static_cast<std::size_t>(team.n - node.n) * block;
  const Room inflow = make_room(team.is_leader() ? for_one * here.members.size() : 0);
  if (team.is_leader()) receive_packs(team, operation, block, inflow.get());
  const Room mine = make_room(for_one);
  hand_out(node, inflow.get(), mine.get(), for_one);
  const std::byte* next = mine.get();
  for_other_nodes(team, [&](int number) {
    for (const int pe : node_at(team, number).members) {
      take(pe, next);
      next += block;
    }
  });
}

// The most bytes of a block for which the outflow fits into a stage, and the data from one node to
// another into kNodePairBytes. At least one element, if its outflow fits into a stage.
std::size_t most_of_block(const Team& team, std::size_t elem_bytes) {
  const auto members = static_cast<std::size_t>(most_members(team));
  return std::min(kStageBytes / static_cast<std::size_t>(team.n),
                  std::max(kNodePairBytes / members / members, elem_bytes));
}

}  // namespace

void alltoall_of_any_memory(Team& team, const Collective& call) {
  alltoall_in_batches(team, call, most_of_block(team, call.elem_bytes),
                      [&](const std::byte* outflow, std::size_t block, const auto& take) {
                        alltoall_batch(team, outflow, block, take);
                      });
}

void alltoall(Team& team, const Collective& call) {
  if (call.count == 0) return;
  const std::size_t most = most_of_block(team, call.elem_bytes) / call.elem_bytes;
  if (call.count > most && are_in_host_memory(call.dest, call.source))
    return alltoall_direct(team, call);
  const std::size_t block = call.bytes();
  if (call.is_dense() && !are_in_host_memory(call.dest, call.source) &&
      suits_puts(team, call.dest, static_cast<std::size_t>(team.n) * block, block))
    return alltoall_by_puts(team, call.dest, call.source, block);
  alltoall_of_any_memory(team, call);
}

}  // namespace meshmem::between_nodes
