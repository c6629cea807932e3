// SPDX-License-Identifier: Apache-2.0
//
// A column's share goes in chunks. Of two nodes each sends its whole chunk to the other; of more,
// each node owns a piece of the chunk, gets it from the others, and sends them the result.
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
  Column(Team& team, const Operation& operation, const Reduction& op, void* dest,
         const void* source, Range share)
      : team_(team),
        operation_(operation),
        op_(op),
        dest_(static_cast<std::byte*>(dest)),
        source_(static_cast<const std::byte*>(source)),
        share_(share),
        room_(make_room(2 * kReduceChunk)) {}

  void run() {
    const int chunks = static_cast<int>((share_.size() + most() - 1) / most());
    const int results_after = count_nodes(team_) > 2 ? 2 * kChunksAhead : kChunksAhead;
    for (int i = 0; i < chunks + results_after; ++i) {
      const auto has = [&](int chunk) { return chunk >= 0 && chunk < chunks; };
      if (has(i)) begin(i);
      if (has(i - kChunksAhead)) combine(i - kChunksAhead);
      if (has(i - results_after)) take_results(i - results_after);
    }
  }

 private:
  std::size_t most() const { return kReduceChunk / op_.elem_bytes; }
  bool owns_all() const { return count_nodes(team_) == 2; }
  Range chunk(int index) const {
    const std::size_t begin = share_.begin + static_cast<std::size_t>(index) * most();
    return {begin, std::min(share_.end, begin + most())};
  }
  // What a node combines of a chunk.
  Range piece(int index, int node) const {
    const Range whole = chunk(index);
    if (owns_all()) return whole;
    const Range part = schedule::share(whole.size(), grain_of(op_), count_nodes(team_), node);
    return {whole.begin + part.begin, whole.begin + part.end};
  }
  std::byte* data(const Range& range) const { return dest_ + range.begin * op_.elem_bytes; }
  std::size_t bytes(const Range& range) const { return range.size() * op_.elem_bytes; }
  // The PE of this column on a node.
  int pe_on(int node) const { return member(node_at(team_, node), team_.node.me); }

  // The chunk becomes this node's partial result, and goes to those who combine it.
  void begin(int index) {
    const Range all = chunk(index);
    combine_near(team_.node, op_, data(all), source_ + all.begin * op_.elem_bytes, all.size());
    for_other_nodes(team_, [&](int node) {
      const Range theirs = piece(index, node);
      operation_.send(pe_on(node), data(theirs), bytes(theirs), 2 * index);
    });
  }

  void combine(int index) {
    const Range mine = piece(index, team_.my_node);
    combine_nodes(team_, op_, data(mine), mine.size(), room_.get(), [&](int node, std::byte* to) {
      operation_.receive(pe_on(node), to, bytes(mine), 2 * index);
    });
    show(mine);
    if (owns_all()) return;
    for_other_nodes(team_, [&](int node) {
      operation_.send(pe_on(node), data(mine), bytes(mine), 2 * index + 1);
    });
  }

  void take_results(int index) {
    if (owns_all()) return;
    for_other_nodes(team_, [&](int node) {
      const Range theirs = piece(index, node);
      operation_.receive(pe_on(node), data(theirs), bytes(theirs), 2 * index + 1);
      show(theirs);
    });
  }

  // To the other members of this node.
  void show(const Range& range) {
    const NodeTeam& node = team_.node;
    if (range.size() == 0) return;
    for (int i = 1; i < node.n; ++i) {
      std::memcpy(node.translate(data(range), bytes(range), (node.me + i) % node.n), data(range),
                  bytes(range));
    }
  }

  Team& team_;
  const Operation& operation_;
  const Reduction& op_;
  std::byte* const dest_;
  const std::byte* const source_;
  const Range share_;
  const Room room_;
};

}  // namespace

void reduce_in_columns(Team& team, const Reduction& op, void* dest, const void* source,
                       std::size_t count) {
  const Operation operation(team);
  NodeTeam& node = team.node;
  const int columns = count_columns(team, count * op.elem_bytes);
  const std::uint64_t sequence = begin_operation(node);
  announce(node, sequence);  // this PE's source is ready, and its dest may be written
  if (node.me < columns) {
    await_all_announced(node, sequence);
    Column(team, operation, op, dest, source,
           schedule::share(count, grain_of(op), columns, node.me))
        .run();
  }
  finish_together(node, sequence);
  finish(op, dest, count, team.n);
}

}  // namespace meshmem::between_nodes
