// SPDX-License-Identifier: Apache-2.0
//
// The total of a range over the members of a node, combined in their order by one of them.
// Invariant: the bits depend on the members' data alone. Used by the columns of this folder.
#ifndef MESHMEM_COLLECTIVES_BETWEEN_NODES_NEAR_TOTALS_HPP_
#define MESHMEM_COLLECTIVES_BETWEEN_NODES_NEAR_TOTALS_HPP_

#include <algorithm>
#include <cstring>

#include "collectives/between_nodes/column_memory.hpp"
#include "collectives/reduction.hpp"

namespace meshmem::between_nodes {

class NearTotals {
 public:
  NearTotals(const NodeTeam& near, const Reduction& op, ColumnMemory& memory)
      : near_(near), op_(op), memory_(memory) {}

  // In `out`, which may be one of the terms; or where the only term is. Tile by tile, or the second
  // term would come when the first has left the cache.
  const std::byte* in(int index, const schedule::Range& range, std::byte* out) const {
    if (memory_.n_terms() == 1) return memory_.term(index, range, 0);
    const std::size_t most = std::max<std::size_t>(kTileBytes / op_.elem_bytes, 1);
    for (schedule::Range tile{range.begin, range.begin}; tile.end < range.end;
         tile.begin = tile.end) {
      tile.end = std::min(tile.begin + most, range.end);
      combine_tile(index, tile, out + (tile.begin - range.begin) * op_.elem_bytes);
    }
    return out;
  }

 private:
  void combine_tile(int index, const schedule::Range& tile, std::byte* out) const {
    const auto term = [&](int i) { return memory_.term(index, tile, i); };
    const std::size_t bytes = tile.size() * op_.elem_bytes;
    alignas(kCacheLine) std::byte own[kTileBytes];
    // Another one's sum must not go over what this PE brings, and is yet to be added.
    const bool keep_own = near_.me >= 2 && out == term(near_.me);
    if (keep_own) std::memcpy(own, out, bytes);
    op_.combine(out, term(0), term(1), tile.size());
    for (int i = 2; i < near_.n; ++i)
      op_.combine(out, out, keep_own && i == near_.me ? own : term(i), tile.size());
  }

  const NodeTeam& near_;
  const Reduction& op_;
  ColumnMemory& memory_;
};

}  // namespace meshmem::between_nodes

#endif  // MESHMEM_COLLECTIVES_BETWEEN_NODES_NEAR_TOTALS_HPP_
