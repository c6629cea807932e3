// SPDX-License-Identifier: Apache-2.0
//
// Reduce-scatter between nodes: each node combines what its members have for a PE of another one,
// and sends only the result. Small blocks go through the leaders. Large ones in host memory go
// straight to the PE that they are for, from its partner.
// Invariant: the partial results of nodes are combined in the order of nodes. dest may be this PE's
// own block of source, which no other node's PE reads.
#include "base/status/slow_ways.hpp"
#include "collectives/between_nodes/algorithms.hpp"
#include "collectives/between_nodes/choice.hpp"
#include "collectives/between_nodes/node_order.hpp"
#include "collectives/between_nodes/through_leader.hpp"
#include "collectives/by_messages.hpp"

namespace meshmem::between_nodes {
namespace {

// `all` is what this node has for all PEs. `mine` becomes the results of its members.
void exchange_blocks(Team& team, const Operation& operation, const Reduction& op,
                     const std::byte* all, std::byte* mine, std::size_t count) {
  const Layout layout(team.n, count * op.elem_bytes);
  const Team::Node& here = my_node(team);
  const Room blocks = make_room(layout.total());
  for_other_nodes(team, [&](int number) {
    const Team::Node& node = node_at(team, number);
    pack(node, layout, blocks.get(), all);
    operation.send(node.leader(), blocks.get(), layout.total_of(node));
  });
  pack(here, layout, mine, all);
  const std::size_t elems = here.members.size() * count;
  const Room room = make_room(2 * elems * op.elem_bytes);
  combine_nodes(team, op, mine, elems, room.get(), [&](int node, std::byte* to) {
    operation.receive(node_at(team, node).leader(), {to, elems * op.elem_bytes});
  });
}

// One batch, through the leaders. `all` has at most kStageBytes.
void scatter_batch(Team& team, const Reduction& op, std::byte* all, std::byte* result,
                   std::size_t count) {
  const Operation operation(team);
  ThroughLeader node(team.node);
  const std::size_t elems = static_cast<std::size_t>(team.n) * count;
  const std::size_t bytes = elems * op.elem_bytes, block = count * op.elem_bytes;
  const std::size_t near_bytes = static_cast<std::size_t>(team.node.n) * block;
  if (!team.is_leader()) {
    node.bring(all, bytes);
    return node.take_range(result, near_bytes, static_cast<std::size_t>(team.node.me) * block,
                           block);
  }
  for (int i = 1; i < team.node.n; ++i) op.combine(all, all, node.brought_by(i, bytes), elems);
  const Room results = make_room(near_bytes);
  exchange_blocks(team, operation, op, all, results.get(), count);
  node.hand_out(results.get(), near_bytes);
  std::copy_n(results.get(), block, result);
}

// A range of elements, the same in each block.
struct Chunk {
  std::size_t begin;
  std::size_t count;
};

// Sends this node's partial results for the far PEs whose partner this PE is.
void send_partial_results(Team& team, const Operation& operation, const Reduction& op,
                          const std::byte* source, std::size_t count, const Chunk& chunk,
                          std::byte* room) {
  for_other_nodes(team, [&](int node) {
    for_partners_on(team, node, team.node.me, [&](int pe) {
      const std::size_t elem = static_cast<std::size_t>(pe) * count + chunk.begin;
      combine_near(team.node, op, room, source + elem * op.elem_bytes, chunk.count);
      operation.send(pe, room, chunk.count * op.elem_bytes);
    });
  });
}

void scatter_direct(Team& team, const Reduction& op, void* dest, const void* source,
                    std::size_t count) {
  NodeTeam& node = team.node;
  const std::uint64_t sequence = begin_operation(node);
  announce(node, sequence);
  await_all_announced(node, sequence);
  const std::size_t most = kReduceMessage / op.elem_bytes;
  const Room room = make_room(2 * kReduceMessage);
  const auto* from = static_cast<const std::byte*>(source);
  for (std::size_t done = 0; done < count; done += most) {
    const Operation operation(team);
    const Chunk chunk{done, std::min(most, count - done)};
    send_partial_results(team, operation, op, from, count, chunk, room.get());
    std::byte* mine = at(dest, done * op.elem_bytes);
    const std::size_t elem = static_cast<std::size_t>(team.me) * count + done;
    combine_near(node, op, mine, from + elem * op.elem_bytes, chunk.count);
    combine_nodes(team, op, mine, chunk.count, room.get(), [&](int there, std::byte* to) {
      operation.receive(partner_on(team, there), {to, chunk.count * op.elem_bytes});
    });
  }
  finish(op, dest, count, team.n);
  finish_together(node, sequence);
}

}  // namespace

void reduce_scatter(Team& team, const Collective& call) {
  if (call.count == 0) return;
  const Reduction& op = *call.op;
  if (team.node.in_pe_order) {
    note_slow_way(SlowWay::gathered_in_pe_order, team.routine());
    return by_messages::run(team, call);
  }
  const auto n = static_cast<std::size_t>(team.n);
  const std::size_t most = kStageBytes / as_combined(op).elem_bytes / n;
  if (call.count > most && !op.carrier && are_in_host_memory(call.dest, call.source))
    return scatter_direct(team, op, call.dest, call.source, call.count);
  if (most == 0) return by_messages::run(team, call);
  scatter_in_batches(team, call, most, [&](std::byte* all, std::byte* mine, std::size_t elems) {
    combine_wide(op, all, n * elems, mine, elems,
                 [&](const Reduction& combined, std::byte* terms, std::byte* result) {
                   scatter_batch(team, combined, terms, result, elems);
                   finish(combined, result, elems, team.n);
                 });
  });
}

}  // namespace meshmem::between_nodes
