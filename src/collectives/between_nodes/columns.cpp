// SPDX-License-Identifier: Apache-2.0
//
// A column's share goes in chunks. Each node owns a piece of a chunk, gets it from the others, and
// sends them the result; of two nodes with little to do each sends its whole chunk to the other.
// Invariant: a chunk's steps are in order on all nodes, and no PE is more than kChunksAhead chunks
// ahead of what it has received: what lies unread anywhere is bounded by that.
#include "collectives/between_nodes/columns.hpp"

#include "collectives/between_nodes/choice.hpp"
#include "collectives/between_nodes/node_order.hpp"
#include "collectives/between_nodes/operation.hpp"
#include "collectives/schedule.hpp"
#include "collectives/team_steps.hpp"

namespace meshmem::between_nodes {
namespace {

using schedule::Range;

std::size_t grain_of(const Reduction& op) {
  return std::max<std::size_t>(1, kCacheLine / op.elem_bytes);
}

class Column {
 public:
  Column(Team& team, const Operation& operation, const Reduction& op, Order order, void* dest,
         const void* source, Range share)
      : team_(team),
        operation_(operation),
        op_(op),
        order_(order),
        dest_(static_cast<std::byte*>(dest)),
        source_(static_cast<const std::byte*>(source)),
        share_(share),
        owns_all_(order == Order::nodes && count_nodes(team) == 2 &&
                  share.size() * op.elem_bytes <= kWholeShare),
        most_(most_of_piece()),
        room_(make_room(most_ * op.elem_bytes * rooms())) {}

  void run() {
    const int chunks = static_cast<int>((share_.size() + most_of_chunk() - 1) / most_of_chunk());
    const int results_after = owns_all_ ? kChunksAhead : 2 * kChunksAhead;
    for (int i = 0; i < chunks + results_after; ++i) {
      const auto has = [&](int chunk) { return chunk >= 0 && chunk < chunks; };
      if (has(i)) begin(i);
      if (has(i - kChunksAhead)) combine(i - kChunksAhead);
      if (has(i - results_after)) take_results(i - results_after);
    }
  }

 private:
  // What travels to the one who combines it: a node's partial result, or what each of its PEs has.
  std::size_t terms_of(int node) const {
    return order_ == Order::nodes ? 1 : node_at(team_, node).members.size();
  }
  std::size_t most_terms() const {
    return order_ == Order::nodes ? 1 : static_cast<std::size_t>(most_members(team_));
  }
  // Elements of a piece, at most: a multiple of the grain by which chunks are shared.
  std::size_t most_of_piece() const {
    const std::size_t others = static_cast<std::size_t>(count_nodes(team_) - 1);
    const std::size_t bytes =
        std::clamp(kReduceRoom / others / most_terms(), kLeastShare / most_terms(), kReduceMessage);
    const std::size_t grain = grain_of(op_);
    return std::max<std::size_t>(bytes / op_.elem_bytes / grain, 1) * grain;
  }
  std::size_t most_of_chunk() const {
    return owns_all_ ? most_ : most_ * static_cast<std::size_t>(count_nodes(team_));
  }
  // In pieces: those of all other nodes for the chunks under way, what leaves, and a result.
  static constexpr int kChunksKept = kChunksAhead + 1;
  std::size_t rooms() const {
    const std::size_t others = static_cast<std::size_t>(count_nodes(team_) - 1);
    return (kChunksKept * others + 1) * most_terms() + 1;
  }
  std::byte* room(std::size_t number) const {
    return room_.get() + number * most_ * op_.elem_bytes;
  }
  std::byte* room_for(int index, int node) const {
    const int others = count_nodes(team_) - 1;
    const int number = (index % kChunksKept) * others + node - (node > team_.my_node ? 1 : 0);
    return room(static_cast<std::size_t>(number) * most_terms());
  }
  std::byte* room_to_send() const { return room(rooms() - 1 - most_terms()); }
  std::byte* room_of_result() const { return room(rooms() - 1); }

  Range chunk(int index) const {
    const std::size_t begin = share_.begin + static_cast<std::size_t>(index) * most_of_chunk();
    return {begin, std::min(share_.end, begin + most_of_chunk())};
  }
  // What a node combines of a chunk.
  Range piece(int index, int node) const {
    const Range whole = chunk(index);
    if (owns_all_) return whole;
    const Range part = schedule::share(whole.size(), grain_of(op_), count_nodes(team_), node);
    return {whole.begin + part.begin, whole.begin + part.end};
  }
  std::byte* dest(const Range& range) const { return dest_ + range.begin * op_.elem_bytes; }
  const std::byte* source(const Range& range) const {
    return source_ + range.begin * op_.elem_bytes;
  }
  std::size_t bytes(const Range& range) const { return range.size() * op_.elem_bytes; }
  // The PE of this column on a node.
  int pe_on(int node) const { return member(node_at(team_, node), team_.node.me); }

  // Each piece goes to the one who combines it.
  void begin(int index) {
    const Range mine = piece(index, team_.my_node);
    for_other_nodes(team_, [&](int node) {
      operation_.expect(pe_on(node), room_for(index, node), bytes(mine) * terms_of(node),
                        2 * index);
      if (owns_all_) return;
      const Range theirs = piece(index, node);
      operation_.expect(pe_on(node), dest(theirs), bytes(theirs), 2 * index + 1);
    });
    for_other_nodes(team_, [&](int node) {
      const Range theirs = piece(index, node);
      operation_.send(pe_on(node), contribution(theirs), bytes(theirs) * terms_of(team_.my_node),
                      2 * index);
    });
  }

  // What this node has for the one who combines the piece.
  const std::byte* contribution(const Range& range) const {
    const NodeTeam& near = team_.node;
    if (near.n == 1) return source(range);
    std::byte* const to = room_to_send();
    if (order_ == Order::nodes) {
      combine_near(near, op_, to, source(range), range.size());
    } else {
      for (int i = 0; i < near.n; ++i) {
        std::copy_n(near.translate(source(range), bytes(range), i), bytes(range),
                    to + static_cast<std::size_t>(i) * bytes(range));
      }
    }
    return to;
  }

  const std::byte* take(int index, int node, std::size_t all_bytes) const {
    std::byte* const to = room_for(index, node);
    operation_.receive(pe_on(node), to, all_bytes, 2 * index);
    return to;
  }

  void combine(int index) {
    const Range mine = piece(index, team_.my_node);
    if (order_ == Order::nodes) {
      combine_in_node_order(index, mine);
    } else {
      combine_in_pe_order(index, mine);
    }
    if (!owns_all_) {
      for_other_nodes(team_, [&](int node) {
        operation_.send(pe_on(node), dest(mine), bytes(mine), 2 * index + 1);
      });
    }
    show(mine);
  }

  void combine_in_node_order(int index, const Range& mine) const {
    const NodeTeam& near = team_.node;
    if (near.n > 1) combine_near(near, op_, dest(mine), source(mine), mine.size());
    combine_nodes(team_, op_, dest(mine), near.n > 1 ? dest(mine) : source(mine), mine.size(),
                  room_of_result(), [&](int node) { return take(index, node, bytes(mine)); });
  }

  // dest may be the source of this PE or, in place, of the others: it is written at the end.
  void combine_in_pe_order(int index, const Range& mine) const {
    std::vector<const std::byte*> terms(static_cast<std::size_t>(team_.n));
    for (int node = 0; node < count_nodes(team_); ++node) {
      const bool is_near = node == team_.my_node;
      const std::byte* at = is_near ? nullptr : take(index, node, bytes(mine) * terms_of(node));
      for (int i = 0; i < count_members(node_at(team_, node)); ++i) {
        terms[static_cast<std::size_t>(member(node_at(team_, node), i))] =
            is_near ? team_.node.translate(source(mine), bytes(mine), i)
                    : at + static_cast<std::size_t>(i) * bytes(mine);
      }
    }
    std::byte* const total = room_of_result();
    const std::byte* so_far = terms[0];
    for (std::size_t pe = 1; pe < terms.size(); ++pe) {
      op_.combine(total, so_far, terms[pe], mine.size());
      so_far = total;
    }
    std::copy_n(total, bytes(mine), dest(mine));
  }

  void take_results(int index) {
    if (owns_all_) return;
    for_other_nodes(team_, [&](int node) {
      const Range theirs = piece(index, node);
      operation_.receive(pe_on(node), dest(theirs), bytes(theirs), 2 * index + 1);
      show(theirs);
    });
  }

  // To the other members of this node.
  void show(const Range& range) const {
    const NodeTeam& near = team_.node;
    if (range.size() == 0) return;
    for (int i = 1; i < near.n; ++i) {
      std::memcpy(near.translate(dest(range), bytes(range), (near.me + i) % near.n), dest(range),
                  bytes(range));
    }
  }

  Team& team_;
  const Operation& operation_;
  const Reduction& op_;
  const Order order_;
  std::byte* const dest_;
  const std::byte* const source_;
  const Range share_;
  const bool owns_all_;
  const std::size_t most_;  // elements of a piece
  const Room room_;
};

}  // namespace

void reduce_in_columns(Team& team, const Reduction& op, Order order, void* dest, const void* source,
                       std::size_t count) {
  const Operation operation(team);
  NodeTeam& node = team.node;
  const int columns = count_columns(team, count * op.elem_bytes);
  const std::uint64_t sequence = begin_operation(node);
  announce(node, sequence);  // this PE's source is ready, and its dest may be written
  if (node.me < columns) {
    await_all_announced(node, sequence);
    Column(team, operation, op, order, dest, source,
           schedule::share(count, grain_of(op), columns, node.me))
        .run();
  }
  finish_together(node, sequence);
  finish(op, dest, count, team.n);
}

}  // namespace meshmem::between_nodes
