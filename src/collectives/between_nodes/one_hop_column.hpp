// SPDX-License-Identifier: Apache-2.0
//
// A column of two nodes. Each sends the other the total of its members' data, chunk by chunk. Each
// combines received data with its own total, straight from where the network has put it.
// Invariant: operands are in the order of nodes. A PE that begins chunk i has received
// chunk i - kChunksAheadInOneHop - 1. Used by columns.cpp.
#ifndef MESHMEM_COLLECTIVES_BETWEEN_NODES_ONE_HOP_COLUMN_HPP_
#define MESHMEM_COLLECTIVES_BETWEEN_NODES_ONE_HOP_COLUMN_HPP_

#include <array>

#include "collectives/between_nodes/choice.hpp"
#include "collectives/between_nodes/column_memory.hpp"

namespace meshmem::between_nodes {

class OneHopColumn {
 public:
  OneHopColumn(const Team& team, const Operation& operation, const Reduction& op,
               const ColumnPlan& plan, ColumnMemory& memory)
      : operation_(operation),
        op_(op),
        plan_(plan),
        near_(team.node),
        is_first_(team.my_node == 0),
        partner_(member(node_at(team, 1 - team.my_node), team.node.me)),
        memory_(memory),
        room_(make_room(kChunksKept * plan.most_of_chunk * op.elem_bytes)) {}

  void run() {
    const int chunks = plan_.count_chunks();
    for (int i = 0; i < chunks + kChunksAheadInOneHop; ++i) {
      if (i < chunks) begin(i);
      if (i >= kChunksAheadInOneHop) end(i - kChunksAheadInOneHop);
    }
    memory_.close();
  }

 private:
  // Combines received data of a chunk with this node's total of it.
  class Arrival : public MessageSink {
   public:
    void take(std::size_t offset, const std::byte* data, std::size_t bytes) override {
      const std::byte* const own = total + offset;
      op->combine(result + offset, is_first ? own : data, is_first ? data : own,
                  bytes / op->elem_bytes);
    }
    const Reduction* op;
    bool is_first;
    std::byte* result;
    const std::byte* total;
  };
  static constexpr int kChunksKept = kChunksAheadInOneHop + 1;

  std::size_t bytes(const schedule::Range& range) const { return range.size() * op_.elem_bytes; }
  std::byte* room_for(int index) const {
    const auto kept = static_cast<std::size_t>(index % kChunksKept);
    return room_.get() + kept * plan_.most_of_chunk * op_.elem_bytes;
  }

  void begin(int index) {
    const schedule::Range range = plan_.chunk(index);
    memory_.open(index, range, plan_.chunk(index + 1));
    std::byte* const result = memory_.result(index, range);
    const std::byte* total = combine_into(room_for(index), near_, op_, memory_, index, range);
    // Data that is being sent must not change.
    if (total == result) total = std::copy_n(total, bytes(range), room_for(index)) - bytes(range);
    Arrival& arrival = arrivals_[static_cast<std::size_t>(index % kChunksKept)];
    arrival.op = &op_;
    arrival.is_first = is_first_;
    arrival.result = result;
    arrival.total = total;
    operation_.expect(partner_, {arrival, bytes(range)}, index);
    operation_.send(partner_, total, bytes(range), index);
  }

  void end(int index) {
    const schedule::Range range = plan_.chunk(index);
    operation_.receive(
        partner_, {arrivals_[static_cast<std::size_t>(index % kChunksKept)], bytes(range)}, index);
    memory_.show(index, range);
  }

  const Operation& operation_;
  const Reduction& op_;
  const ColumnPlan plan_;
  const NodeTeam& near_;
  const bool is_first_;  // whether this node is before the other
  const int partner_;
  ColumnMemory& memory_;
  const Room room_;
  std::array<Arrival, kChunksKept> arrivals_;
};

}  // namespace meshmem::between_nodes

#endif  // MESHMEM_COLLECTIVES_BETWEEN_NODES_ONE_HOP_COLUMN_HPP_
