// SPDX-License-Identifier: Apache-2.0
//
// Reductions between nodes. Each leader combines its node's data in the order of the members, and
// the leaders combine the nodes' results. Columns reduce large data.
// Invariant: the order of operands depends on the number of PEs, on which node each is, and on the
// bytes alone. dest may be source.
#include "base/status/slow_ways.hpp"
#include "collectives/between_nodes/algorithms.hpp"
#include "collectives/between_nodes/choice.hpp"
#include "collectives/between_nodes/node_order.hpp"
#include "collectives/between_nodes/staged_columns.hpp"
#include "collectives/between_nodes/through_leader.hpp"
#include "collectives/by_messages.hpp"
#include "collectives/policy/reduce_policy.hpp"
#include "collectives/schedule.hpp"
#include "one_sided/one_sided.hpp"

namespace meshmem::between_nodes {
namespace {

// Every leader sends its node's result to all others.
void exchange_flat(const Team& team, const Operation& operation, const Reduction& op,
                   std::byte* data, std::size_t count, std::byte* room) {
  const std::size_t bytes = count * op.elem_bytes;
  for_other_nodes(team,
                  [&](int node) { operation.send(node_at(team, node).leader(), data, bytes); });
  combine_nodes(team, op, data, count, room, [&](int node, std::byte* to) {
    operation.receive(node_at(team, node).leader(), {to, bytes});
  });
}

void take_doubling_step(const Team& team, const Operation& operation, const Reduction& op,
                        std::byte* data, std::size_t count, std::byte* room, int step) {
  using schedule::Role;
  const schedule::Exchange exchange =
      schedule::doubling_exchange(count_nodes(team), team.my_node, step);
  if (exchange.role == Role::idle) return;
  const std::size_t bytes = count * op.elem_bytes;
  const int partner = node_at(team, exchange.partner).leader();
  if (exchange.role == Role::give || exchange.role == Role::exchange)
    operation.send(partner, data, bytes, step);
  if (exchange.role == Role::give) return;
  if (exchange.role == Role::receive) return operation.receive(partner, {data, bytes}, step);
  operation.receive(partner, {room, bytes}, step);
  const bool is_before = exchange.partner < team.my_node;
  op.combine(data, is_before ? room : data, is_before ? data : room, count);
}

void exchange_among_leaders(const Team& team, const Operation& operation, const Reduction& op,
                            std::byte* data, std::size_t count) {
  const Room room = make_room(2 * count * op.elem_bytes);
  const int n = count_nodes(team);
  if (n <= kMostFlatNodes) return exchange_flat(team, operation, op, data, count, room.get());
  for (int step = 0; step < schedule::doubling_steps(n); ++step)
    take_doubling_step(team, operation, op, data, count, room.get(), step);
}

// `data`, in host memory, becomes the result.
void reduce_batch(Team& team, const Reduction& op, std::byte* data, std::size_t count) {
  const Operation operation(team);
  ThroughLeader node(team.node);
  const std::size_t bytes = count * op.elem_bytes;
  if (!team.is_leader()) {
    node.bring(data, bytes);
    return node.take(data, bytes);
  }
  for (int i = 1; i < team.node.n; ++i) op.combine(data, data, node.brought_by(i, bytes), count);
  exchange_among_leaders(team, operation, op, data, count);
  node.hand_out(data, bytes);
}

void reduce_through_leaders(Team& team, const Collective& call) {
  const Reduction& op = *call.op;
  if (are_in_host_memory(call.dest, call.source) && !op.carrier) {
    if (call.dest != call.source) std::memcpy(call.dest, call.source, call.bytes());
    reduce_batch(team, op, static_cast<std::byte*>(call.dest), call.count);
    return finish(op, call.dest, call.count, team.n);
  }
  const std::size_t most = kStageBytes / as_combined(op).elem_bytes;
  in_batches(team, call, most, [&](std::byte* data, std::size_t elems) {
    combine_wide(op, data, elems, data, elems,
                 [&](const Reduction& combined, std::byte* terms, std::byte*) {
                   reduce_batch(team, combined, terms, elems);
                   finish(combined, terms, elems, team.n);
                 });
  });
}

}  // namespace

void reduce(Team& team, const Collective& call) {
  if (call.count == 0) return;
  const Reduction& op = *call.op;
  const bool in_pe_order = team.node.in_pe_order && !op.any_order;
  if (!op.any_order && reduce_policy.settings.rule.kind == ReduceRule::one)
    note_slow_way(SlowWay::forced_algorithm, "MESHMEM_REDUCE_ALGORITHM");
  const Order order = in_pe_order ? Order::pes : Order::nodes;
  const std::size_t bytes = call.bytes();
  if (bytes > kReduceThroughLeaders) {
    const bool is_plain = are_in_host_memory(call.dest, call.source) && !op.carrier;
    if (is_plain || can_be_staged(team, call.dest, call.source, bytes)) {
      if (in_pe_order && most_members(team) > 1)
        note_slow_way(SlowWay::gathered_in_pe_order, team.routine());
      return is_plain ? reduce_in_columns(team, order, call)
                      : reduce_in_staged_columns(team, order, call);
    }
  }
  if (in_pe_order) {
    note_slow_way(SlowWay::gathered_in_pe_order, team.routine());
    return by_messages::run(team, call);
  }
  reduce_through_leaders(team, call);
}

}  // namespace meshmem::between_nodes
