// SPDX-License-Identifier: Apache-2.0
//
// Where the data of a column is: what its PE reads of the sources of its node's members, and where
// results go. Ranges are elements of the whole data, inside a chunk.
// Invariant: chunks are opened in their order, each before anything of it is asked for. The terms
// of kChunksAhead chunks stay, and the results of twice as many. Used by columns.cpp and
// one_hop_column.hpp; staged_columns.cpp implements it too.
#ifndef MESHMEM_COLLECTIVES_BETWEEN_NODES_COLUMN_MEMORY_HPP_
#define MESHMEM_COLLECTIVES_BETWEEN_NODES_COLUMN_MEMORY_HPP_

#include <algorithm>
#include <cstddef>

#include "collectives/between_nodes/operation.hpp"
#include "collectives/reduction.hpp"
#include "collectives/schedule.hpp"

namespace meshmem::between_nodes {

// Of operands: node by node, each node's combined before; or PE by PE, as one loop over all PEs.
enum class Order { nodes, pes };

class ColumnMemory {
 public:
  virtual ~ColumnMemory() = default;
  // `next` is the chunk after it, perhaps empty.
  virtual void open(int index, const schedule::Range& chunk, const schedule::Range& next) = 0;
  // Terms of each range: what each of the node's members has, or one, their total.
  virtual int n_terms() const = 0;
  virtual const std::byte* term(int index, const schedule::Range& range, int number) = 0;
  // Where the column's PE leaves the result.
  virtual std::byte* result(int index, const schedule::Range& range) = 0;
  // The result of the range is complete: it goes to the dests of the node's members. Of a chunk all
  // ranges are shown, and nothing of it is asked for later.
  virtual void show(int index, const schedule::Range& range) = 0;
  // All dests have what was shown.
  virtual void close() = 0;
};

// The total of a range over the members of a node, combined in their order by one of them: the bits
// depend on the members' data alone.
class NearTotals {
 public:
  NearTotals(const NodeTeam& near, const Reduction& op, ColumnMemory& memory)
      : near_(near), op_(op), memory_(memory) {}

  // Puts the total into `out`, which may be one of the terms. Returns where it is: `out`, or the
  // only term. Goes tile by tile, so that a tile of the first term is still in the cache when the
  // second comes.
  const std::byte* in(int index, const schedule::Range& range, std::byte* out) const {
    if (memory_.n_terms() == 1) return memory_.term(index, range, 0);
    const std::size_t most = std::max<std::size_t>(kTileBytes / op_.elem_bytes, 1);
    for (schedule::Range tile{range.begin, range.begin}; tile.end < range.end;
         tile.begin = tile.end) {
      tile.end = std::min(tile.begin + most, range.end);
      combine_terms(op_, out + (tile.begin - range.begin) * op_.elem_bytes, tile.size(), near_.n,
                    near_.me, [&](int i) { return memory_.term(index, tile, i); });
    }
    return out;
  }

 private:
  const NodeTeam& near_;
  const Reduction& op_;
  ColumnMemory& memory_;
};

// How a column goes about its share.
struct ColumnPlan {
  Order order;
  schedule::Range share;
  bool is_one_hop;            // each of two nodes sends all that it has to the other
  std::size_t most_of_piece;  // in elements
};
// Elements of a chunk, at most.
inline std::size_t chunk_of(const Team& team, bool is_one_hop, std::size_t piece) {
  return is_one_hop ? piece : piece * static_cast<std::size_t>(count_nodes(team));
}

}  // namespace meshmem::between_nodes

#endif  // MESHMEM_COLLECTIVES_BETWEEN_NODES_COLUMN_MEMORY_HPP_
