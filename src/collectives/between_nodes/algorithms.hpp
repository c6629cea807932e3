// SPDX-License-Identifier: Apache-2.0
//
// The collectives between nodes, and where their blocks lie. run() calls the function for the
// call's kind, which chooses between small data through leaders and the ways for large data, by the
// limits in choice.hpp. Most kinds, and most ways for large data, have a file of their own.
// Invariant: as in between_nodes.hpp. Used by the files of this folder.
#ifndef MESHMEM_COLLECTIVES_BETWEEN_NODES_ALGORITHMS_HPP_
#define MESHMEM_COLLECTIVES_BETWEEN_NODES_ALGORITHMS_HPP_

#include <algorithm>
#include <cstddef>
#include <vector>

#include "collectives/between_nodes/column_memory.hpp"
#include "collectives/collective.hpp"
#include "core/team.hpp"

namespace meshmem::between_nodes {

// Where the blocks of a team's PEs lie in a buffer that has them all in PE order. The same on all
// members.
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

  // How many bytes of PE `pe`'s block lie between `offset` and `offset + most`.
  std::size_t length(int pe, std::size_t offset, std::size_t most) const {
    return offset < size(pe) ? std::min(most, size(pe) - offset) : 0;
  }

 private:
  std::vector<std::size_t> begins_;  // empty where all blocks have the same length
  std::size_t total_ = 0;
  std::size_t largest_ = 0;
};

// Copies the blocks of a node's members to `blocks`, one behind the other. `all` has the blocks of
// all PEs of the team.
inline void pack(const Team::Node& node, const Layout& layout, std::byte* blocks,
                 const std::byte* all) {
  for (const int pe : node.members)
    blocks = std::copy_n(all + layout.begin(pe), layout.size(pe), blocks);
}

void broadcast(Team& team, const Collective& call);
void fcollect(Team& team, const Collective& call);
void collect(Team& team, const Collective& call);
void alltoall(Team& team, const Collective& call);
void reduce(Team& team, const Collective& call);
void reduce_scatter(Team& team, const Collective& call);
void scan(Team& team, const Collective& call);

// ---- Large data, where dest and source are symmetric and in host memory

void alltoall_direct(Team& team, const Collective& call);
void gather_direct(Team& team, const Layout& layout, void* dest, const void* source);
void reduce_in_columns(Team& team, Order order, const Collective& call);
// The same for data in device memory, or that has to be widened first (staged_columns.hpp).
void reduce_in_staged_columns(Team& team, Order order, const Collective& call);

// ---- Large data in device memory, by puts: dest is symmetric, source may be any memory

// Whether puts can reach `dest` and are faster. They need one more meeting than batches through the
// leaders, so `block`, the bytes that one PE has for another, must be large.
bool suits_puts(const Team& team, const void* dest, std::size_t dest_bytes, std::size_t block);
void broadcast_by_puts(Team& team, void* dest, const void* source, std::size_t bytes, int root);
void gather_by_puts(Team& team, const Layout& layout, void* dest, const void* source);
// Block i of source, of `block` bytes, becomes block `me` of PE i's dest.
void alltoall_by_puts(Team& team, void* dest, const void* source, std::size_t block);

}  // namespace meshmem::between_nodes

#endif  // MESHMEM_COLLECTIVES_BETWEEN_NODES_ALGORITHMS_HPP_
