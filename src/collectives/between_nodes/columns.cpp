// SPDX-License-Identifier: Apache-2.0
//
// Large reductions between nodes. A *column* is one PE of each node, all with the same place among
// their node's members, that reduce one share of the data in chunks. Each node owns a share of a
// chunk, gets it from the others, and sends them the result (for two nodes: one_hop_column.hpp).
// Invariant: only its column's PE reads a share of a node's sources, and writes it to the node's
// dests, so dest may be source. All nodes take the steps of all chunks in one order. A PE that
// begins chunk i has received the terms of chunk i - kChunksAhead - 1. So unread data is bounded.
#include "collectives/between_nodes/algorithms.hpp"
#include "collectives/between_nodes/choice.hpp"
#include "collectives/between_nodes/column_memory.hpp"
#include "collectives/between_nodes/node_order.hpp"
#include "collectives/between_nodes/one_hop_column.hpp"
#include "collectives/between_nodes/operation.hpp"
#include "collectives/between_nodes/staged_columns.hpp"
#include "collectives/schedule.hpp"
#include "collectives/team_steps.hpp"

namespace meshmem::between_nodes {
namespace {

using schedule::Range;

std::size_t grain_of(const Reduction& op) {
  return std::max<std::size_t>(1, kCacheLine / op.elem_bytes);
}

// Data in host memory, which the processor reads and writes where it is.
class HostColumn : public ColumnMemory {
 public:
  HostColumn(const NodeTeam& near, const Reduction& op, void* dest, const void* source)
      : near_(near),
        op_(op),
        dest_(static_cast<std::byte*>(dest)),
        source_(static_cast<const std::byte*>(source)) {}

  void open(int, const Range&, const Range&) override {}
  int n_terms() const override { return near_.n; }
  const std::byte* term(int, const Range& range, int member) override {
    return near_.translate(source_ + range.begin * op_.elem_bytes, bytes(range), member);
  }
  std::byte* result(int, const Range& range) override {
    return dest_ + range.begin * op_.elem_bytes;
  }
  void show(int index, const Range& range) override {
    std::byte* const mine = result(index, range);
    for (int i = 1; i < near_.n; ++i)
      std::memcpy(near_.translate(mine, bytes(range), (near_.me + i) % near_.n), mine,
                  bytes(range));
  }
  void close() override {}

 private:
  std::size_t bytes(const Range& range) const { return range.size() * op_.elem_bytes; }

  const NodeTeam& near_;
  const Reduction& op_;
  std::byte* const dest_;
  const std::byte* const source_;
};

class Column {
 public:
  Column(Team& team, const Operation& operation, const Reduction& op, const ColumnPlan& plan,
         ColumnMemory& memory)
      : team_(team),
        operation_(operation),
        op_(op),
        plan_(plan),
        memory_(memory),
        room_(make_room(plan.most_of_message * op.elem_bytes * rooms())) {}

  void run() {
    const int chunks = plan_.count_chunks();
    for (int i = 0; i < chunks + 2 * kChunksAhead; ++i) {
      const auto has = [&](int chunk) { return chunk >= 0 && chunk < chunks; };
      if (has(i)) begin(i);
      if (has(i - kChunksAhead)) combine(i - kChunksAhead);
      if (has(i - 2 * kChunksAhead)) take_results(i - 2 * kChunksAhead);
    }
    memory_.close();
  }

 private:
  // How many terms a node sends to the PE that combines them: its partial result, or the data of
  // each of its PEs.
  std::size_t terms_of(int node) const {
    return plan_.order == Order::nodes ? 1 : node_at(team_, node).members.size();
  }
  std::size_t most_terms() const {
    return plan_.order == Order::nodes ? 1 : static_cast<std::size_t>(most_members(team_));
  }
  // The number of rooms, which have the size of a message. They are for the terms from all other
  // nodes in the chunks under way, for the terms to send, and for a result.
  static constexpr int kChunksKept = kChunksAhead + 1;
  std::size_t rooms() const {
    const std::size_t others = static_cast<std::size_t>(count_nodes(team_) - 1);
    return (kChunksKept * others + 1) * most_terms() + 1;
  }
  std::byte* room(std::size_t number) const {
    return room_.get() + number * plan_.most_of_message * op_.elem_bytes;
  }
  std::byte* room_for(int index, int node) const {
    const int others = count_nodes(team_) - 1;
    const int number = (index % kChunksKept) * others + node - (node > team_.my_node ? 1 : 0);
    return room(static_cast<std::size_t>(number) * most_terms());
  }
  std::byte* room_to_send() const { return room(rooms() - 1 - most_terms()); }
  std::byte* room_of_result() const { return room(rooms() - 1); }

  // The share of a chunk that a node combines.
  Range share_of_node(int index, int node) const {
    const Range whole = plan_.chunk(index);
    const Range part = schedule::share(whole.size(), grain_of(op_), count_nodes(team_), node);
    return {whole.begin + part.begin, whole.begin + part.end};
  }
  std::size_t bytes(const Range& range) const { return range.size() * op_.elem_bytes; }
  // The PE of this column on a node.
  int pe_on(int node) const { return member(node_at(team_, node), team_.node.me); }

  // Sends each node the share that it combines.
  void begin(int index) {
    const Range mine = share_of_node(index, team_.my_node);
    memory_.open(index, plan_.chunk(index), plan_.chunk(index + 1));
    for_other_nodes(team_, [&](int node) {
      operation_.expect(pe_on(node), {room_for(index, node), bytes(mine) * terms_of(node)},
                        2 * index);
      const Range theirs = share_of_node(index, node);
      operation_.expect(pe_on(node), {memory_.result(index, theirs), bytes(theirs)}, 2 * index + 1);
    });
    for_other_nodes(team_, [&](int node) {
      const Range theirs = share_of_node(index, node);
      operation_.send(pe_on(node), contribution(index, theirs),
                      bytes(theirs) * terms_of(team_.my_node), 2 * index);
    });
  }

  // This node's data for the PE that combines the range.
  const std::byte* contribution(int index, const Range& range) const {
    std::byte* const to = room_to_send();
    if (plan_.order == Order::nodes)
      return combine_into(to, team_.node, op_, memory_, index, range);
    for (int i = 0; i < team_.node.n; ++i)
      std::copy_n(memory_.term(index, range, i), bytes(range),
                  to + static_cast<std::size_t>(i) * bytes(range));
    return to;
  }

  const std::byte* take(int index, int node, std::size_t all_bytes) const {
    std::byte* const to = room_for(index, node);
    operation_.receive(pe_on(node), {to, all_bytes}, 2 * index);
    return to;
  }

  void combine(int index) {
    const Range mine = share_of_node(index, team_.my_node);
    if (plan_.order == Order::nodes) {
      combine_in_node_order(index, mine);
    } else {
      combine_in_pe_order(index, mine);
    }
    for_other_nodes(team_, [&](int node) {
      operation_.send(pe_on(node), memory_.result(index, mine), bytes(mine), 2 * index + 1);
    });
    show(index, mine);
  }

  void combine_in_node_order(int index, const Range& mine) const {
    std::byte* const to = memory_.result(index, mine);
    combine_nodes(team_, op_, to, combine_into(to, team_.node, op_, memory_, index, mine),
                  mine.size(), room_of_result(),
                  [&](int node) { return take(index, node, bytes(mine)); });
  }

  // dest may be source, on this PE and on the others, so it is written at the end.
  void combine_in_pe_order(int index, const Range& mine) const {
    std::vector<const std::byte*> terms(static_cast<std::size_t>(team_.n));
    for (int node = 0; node < count_nodes(team_); ++node) {
      const bool is_near = node == team_.my_node;
      const std::byte* at = is_near ? nullptr : take(index, node, bytes(mine) * terms_of(node));
      for (int i = 0; i < count_members(node_at(team_, node)); ++i) {
        terms[static_cast<std::size_t>(member(node_at(team_, node), i))] =
            is_near ? memory_.term(index, mine, i) : at + static_cast<std::size_t>(i) * bytes(mine);
      }
    }
    std::byte* const total = room_of_result();
    const std::byte* so_far = terms[0];
    for (std::size_t pe = 1; pe < terms.size(); ++pe) {
      op_.combine(total, so_far, terms[pe], mine.size());
      so_far = total;
    }
    std::copy_n(total, bytes(mine), memory_.result(index, mine));
  }

  void take_results(int index) {
    for_other_nodes(team_, [&](int node) {
      const Range theirs = share_of_node(index, node);
      operation_.receive(pe_on(node), {memory_.result(index, theirs), bytes(theirs)},
                         2 * index + 1);
      show(index, theirs);
    });
  }

  // Shows a result to the members of this node.
  void show(int index, const Range& range) const {
    if (range.size() > 0) memory_.show(index, range);
  }

  Team& team_;
  const Operation& operation_;
  const Reduction& op_;
  const ColumnPlan plan_;
  ColumnMemory& memory_;
  const Room room_;
};

// While two PEs work on the same chunk, each has up to this many unreceived messages from the
// other: the terms of kChunksAhead chunks, and as many results.
constexpr std::size_t kMessagesAhead = 2 * kChunksAhead;
static_assert(kLeastShare <= kReduceRoom &&
              kMessagesAhead * (kReduceRoom + kMessageCost) <= kMostUnreceived);

struct MessageLimits {
  std::size_t most;     // bytes of a message
  std::size_t one_hop;  // bytes of a share that two nodes exchange in one hop
};

// A message is a multiple of the grain by which chunks are shared.
ColumnPlan plan_of(const Team& team, const Reduction& op, Order order, std::size_t count,
                   int columns, const MessageLimits& limits) {
  const std::size_t terms =
      order == Order::nodes ? 1 : static_cast<std::size_t>(most_members(team));
  const std::size_t others = static_cast<std::size_t>(count_nodes(team) - 1);
  const std::size_t bytes =
      std::clamp(kReduceRoom / others / terms, kLeastShare / terms, limits.most);
  const std::size_t grain = grain_of(op);
  ColumnPlan plan{};
  plan.order = order;
  plan.share = schedule::share(count, grain, columns, team.node.me);
  plan.is_one_hop = order == Order::nodes && count_nodes(team) == 2 &&
                    plan.share.size() * op.elem_bytes <= limits.one_hop;
  plan.most_of_message = std::max<std::size_t>(bytes / op.elem_bytes / grain, 1) * grain;
  plan.most_of_chunk =
      plan.most_of_message * (plan.is_one_hop ? 1 : static_cast<std::size_t>(count_nodes(team)));
  return plan;
}

void run_column(Team& team, const Operation& operation, const Reduction& op, const ColumnPlan& plan,
                ColumnMemory& memory) {
  if (plan.is_one_hop) return OneHopColumn(team, operation, op, plan, memory).run();
  Column(team, operation, op, plan, memory).run();
}

// Runs this PE's column, if it has one, between two meetings of its node's members.
template <typename RunColumn>
void run_columns(NodeTeam& node, int columns, const RunColumn& run) {
  const std::uint64_t sequence = begin_operation(node);
  announce(node, sequence);  // this PE's source is ready, and its dest may be written
  if (node.me < columns) {
    await_all_announced(node, sequence);
    run();
  }
  finish_together(node, sequence);
}

}  // namespace

void reduce_in_columns(Team& team, Order order, const Collective& call) {
  const Operation operation(team);
  const Reduction& op = *call.op;
  const int columns = count_columns_of_processors(team, call.bytes());
  run_columns(team.node, columns, [&] {
    HostColumn memory(team.node, op, call.dest, call.source);
    run_column(team, operation, op,
               plan_of(team, op, order, call.count, columns, {kReduceMessage, SIZE_MAX}), memory);
  });
  finish(op, call.dest, call.count, team.n);
}

void reduce_in_staged_columns(Team& team, Order order, const Collective& call) {
  const Operation operation(team);
  const Reduction combined = as_combined(*call.op);
  const int columns = count_columns(team, call.count * combined.elem_bytes);
  await_own_copies(team.routine());
  run_columns(team.node, columns, [&] {
    const auto members = static_cast<std::size_t>(most_members(team));
    const ColumnPlan plan =
        plan_of(team, combined, order, call.count, columns,
                {std::max(kStagedMessages / members, kLeastShare), kStagedInOneHop});
    StagedColumn memory(team, *call.op, plan, call.dest, call.source);
    run_column(team, operation, combined, plan, memory);
  });
}

}  // namespace meshmem::between_nodes
