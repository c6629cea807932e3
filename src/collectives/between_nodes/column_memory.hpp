// SPDX-License-Identifier: Apache-2.0
//
// The interface by which a column reads its terms, from the sources of its node's members, and
// leaves its results. A range counts elements of the whole data, and lies inside one chunk.
// Invariant: chunks are opened in order, each before the column asks for its terms and results. Its
// terms stay valid for kChunksAhead more chunks, its results for twice as many. Used by columns.cpp
// and one_hop_column.hpp; staged_columns.cpp implements it too.
#ifndef MESHMEM_COLLECTIVES_BETWEEN_NODES_COLUMN_MEMORY_HPP_
#define MESHMEM_COLLECTIVES_BETWEEN_NODES_COLUMN_MEMORY_HPP_

#include <algorithm>
#include <cstddef>

#include "collectives/between_nodes/operation.hpp"
#include "collectives/reduction.hpp"
#include "collectives/schedule.hpp"

namespace meshmem::between_nodes {

// The order in which operands are combined. nodes: each node combines its own data, then these
// results are combined in the order of nodes. pes: PE by PE, like one loop over all PEs.
enum class Order { nodes, pes };

class ColumnMemory {
 public:
  virtual ~ColumnMemory() = default;
  // Makes chunk number `index` ready. `next` is the chunk after it, perhaps empty.
  virtual void open(int index, const schedule::Range& chunk, const schedule::Range& next) = 0;
  // The number of terms of a range: one from each of the node's members, or one in all, their
  // total.
  virtual int n_terms() const = 0;
  virtual const std::byte* term(int index, const schedule::Range& range, int number) = 0;
  // Returns where the column's PE puts the result.
  virtual std::byte* result(int index, const schedule::Range& range) = 0;
  // Called when the result of the range is complete. Copies it to the dests of the node's members,
  // at the latest in close(). Once all ranges of a chunk are shown, the column needs nothing of it
  // any more.
  virtual void show(int index, const schedule::Range& range) = 0;
  // Returns when all dests have all results that were shown.
  virtual void close() = 0;
};

// Puts the total of a range over the members of a node into `out`, which may be one of the terms.
// Returns where it is: `out`, or the only term. The PE combines in the order of the members, so the
// bits depend on their data alone. It goes tile by tile, so that a tile of the first term is still
// in the cache when the second comes.
inline const std::byte* combine_into(std::byte* out, const NodeTeam& near, const Reduction& op,
                                     ColumnMemory& memory, int index,
                                     const schedule::Range& range) {
  if (memory.n_terms() == 1) return memory.term(index, range, 0);
  const std::size_t most = std::max<std::size_t>(kTileBytes / op.elem_bytes, 1);
  for (schedule::Range tile{range.begin, range.begin}; tile.end < range.end;
       tile.begin = tile.end) {
    tile.end = std::min(tile.begin + most, range.end);
    combine_terms(op, out + (tile.begin - range.begin) * op.elem_bytes, tile.size(), near.n,
                  near.me, [&](int i) { return memory.term(index, tile, i); });
  }
  return out;
}

// How a column divides its share. Lengths are in elements.
struct ColumnPlan {
  Order order;
  schedule::Range share;
  bool is_one_hop;  // each of two nodes sends the other its total of the share
  std::size_t most_of_message;
  std::size_t most_of_chunk;  // a message, or one for each node

  int count_chunks() const {
    return static_cast<int>((share.size() + most_of_chunk - 1) / most_of_chunk);
  }
  // Chunks behind the last one are empty.
  schedule::Range chunk(int index) const {
    const std::size_t begin =
        std::min(share.begin + static_cast<std::size_t>(index) * most_of_chunk, share.end);
    return {begin, std::min(share.end, begin + most_of_chunk)};
  }
};

}  // namespace meshmem::between_nodes

#endif  // MESHMEM_COLLECTIVES_BETWEEN_NODES_COLUMN_MEMORY_HPP_
