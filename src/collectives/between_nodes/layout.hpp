// SPDX-License-Identifier: Apache-2.0
//
// Where the blocks of a team's PEs lie when they follow one another.
// Invariant: all members have the same. Made by fcollect, collect and reduce-scatter between nodes.
#ifndef MESHMEM_COLLECTIVES_BETWEEN_NODES_LAYOUT_HPP_
#define MESHMEM_COLLECTIVES_BETWEEN_NODES_LAYOUT_HPP_

#include <algorithm>
#include <cstddef>
#include <vector>

#include "core/team.hpp"

namespace meshmem::between_nodes {

class Layout {
 public:
  Layout(int n, std::size_t block_bytes)
      : total_(static_cast<std::size_t>(n) * block_bytes), largest_(block_bytes) {}
  explicit Layout(const std::vector<std::size_t>& sizes) {
    for (const std::size_t size : sizes) {
      begins_.push_back(total_);
      total_ += size;
      largest_ = std::max(largest_, size);
    }
    begins_.push_back(total_);
  }

  std::size_t begin(int pe) const {
    const auto index = static_cast<std::size_t>(pe);
    return begins_.empty() ? index * largest_ : begins_[index];
  }
  std::size_t size(int pe) const { return begin(pe + 1) - begin(pe); }
  std::size_t total() const { return total_; }
  std::size_t largest() const { return largest_; }
  std::size_t total_of(const Team::Node& node) const {
    std::size_t bytes = 0;
    for (const int pe : node.members) bytes += size(pe);
    return bytes;
  }

  // Of a block those bytes that lie between `offset` and `offset + most`.
  std::size_t length(int pe, std::size_t offset, std::size_t most) const {
    return offset < size(pe) ? std::min(most, size(pe) - offset) : 0;
  }

 private:
  std::vector<std::size_t> begins_;  // empty where all blocks have the same length
  std::size_t total_ = 0;
  std::size_t largest_ = 0;
};

// Copies the blocks of a node's members out of those of all PEs, one behind the other.
inline void pack(const Team::Node& node, const Layout& layout, std::byte* blocks,
                 const std::byte* all) {
  for (const int pe : node.members)
    blocks = std::copy_n(all + layout.begin(pe), layout.size(pe), blocks);
}

}  // namespace meshmem::between_nodes

#endif  // MESHMEM_COLLECTIVES_BETWEEN_NODES_LAYOUT_HPP_
