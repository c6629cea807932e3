// SPDX-License-Identifier: Apache-2.0
//
// A best-fit allocator on offsets in [0, capacity). It never touches the memory that it hands out,
// which may be a GPU's, and keeps all its state elsewhere.
// Invariant: the live and free blocks cover [0, capacity) without gaps, and no two free blocks are
// neighbours. Its results depend only on the sequence of calls, so all PEs get the same offsets.
// Each symmetric heap has one, and calls it under its lock.
#ifndef MESHMEM_MEMORY_ALLOCATOR_HPP_
#define MESHMEM_MEMORY_ALLOCATOR_HPP_

#include <cstddef>
#include <cstdint>
#include <list>
#include <optional>

#include "memory/sorted_pages.hpp"

namespace meshmem {

inline constexpr std::size_t kMinAlignment = 64;
inline constexpr std::size_t kMinDeviceAlignment = 256;  // the same as GPUs' own allocators

// Cost of a call: O(log blocks) comparisons for each alignment used so far (programs use two or
// three). The first use of an alignment also indexes the free blocks once. Memory is proportional
// to the live blocks: free blocks merge, so there is at most one more of them than of live ones.
// std::bad_alloc is the only exception; after it the allocator must not be used any more.
class OffsetAllocator {
 public:
  // Offsets and sizes of blocks are multiples of `unit`, a power of two; the capacity is rounded
  // down to one. Behind each block at least `gap` bytes belong to no block, unless the block fits
  // only without them.
  explicit OffsetAllocator(std::size_t capacity, std::size_t gap = 0,
                           std::size_t unit = kMinAlignment);
  OffsetAllocator(const OffsetAllocator&) = delete;
  OffsetAllocator& operator=(const OffsetAllocator&) = delete;

  // Returns the offset of a new block, a multiple of `alignment`. nullopt if none fits, if `bytes`
  // is zero or if `alignment` is not a power of two. The memory at offset 0 must have this
  // alignment too.
  std::optional<std::size_t> allocate(std::size_t bytes, std::size_t alignment = 1, long hints = 0);

  // False, and nothing has changed, if no live block starts at `offset`.
  bool release(std::size_t offset);

  // Shrinks the block, or grows it into the free block behind it. False, and nothing has changed,
  // if that cannot be done, if `bytes` is zero or if no live block starts at `offset`.
  bool try_resize(std::size_t offset, std::size_t bytes);

  std::optional<std::size_t> size_of(std::size_t offset) const;  // bytes as requested, not rounded
  std::optional<long> hints_of(std::size_t offset) const;        // their lower 31 bits

  // The start of the live block around `offset`; nullopt: none.
  std::optional<std::size_t> start_of_block_at(std::size_t offset) const;

  std::size_t capacity() const { return capacity_; }
  std::size_t free_bytes() const { return free_bytes_; }
  std::size_t largest_free() const;
  std::size_t end_of_blocks() const;  // no live block is beyond it
  // Calls visit(offset, bytes as requested) for each live block, in ascending order.
  template <typename Visit>
  void for_each_live(const Visit& visit) const {
    for (Place at = blocks_.begin(); !blocks_.is_end(at); at = blocks_.next(at))
      if (const Block& block = blocks_.at(at).value; block.is_live)
        visit(blocks_.at(at).key, size_at(at) - block.unused);
  }

  // For the tests of the costs above: entries held now, key comparisons made so far.
  std::size_t nodes() const;
  std::uint64_t comparisons() const { return comparisons_; }

 private:
  // Kept to eight bytes, since inserting and erasing moves the other blocks of a page.
  struct Block {
    std::uint32_t unused = 0;  // bytes of the block behind the requested ones
    std::uint32_t hints : 31 = 0;
    std::uint32_t is_live : 1 = 0;
  };
  using Blocks = SortedPages<std::size_t, Block>;  // by offset; a block ends where the next begins
  using Place = Blocks::Place;
  struct Fit {
    std::size_t bytes;   // usable at an alignment
    std::size_t offset;  // of the block
    bool operator==(const Fit&) const = default;
    bool operator<(const Fit& other) const {
      return (bytes < other.bytes) | ((bytes == other.bytes) & (offset < other.offset));
    }
  };
  struct Nothing {};
  using Fits = SortedPages<Fit, Nothing>;
  struct Index {
    std::size_t alignment;
    Fits fits;
  };

  std::size_t round_down(std::size_t bytes) const { return bytes & ~(unit_ - 1); }
  // Cannot overflow for bytes up to the capacity, which is a multiple of the unit.
  std::size_t round_up(std::size_t bytes) const { return round_down(bytes + unit_ - 1); }
  bool is_free_at(Place place) const {
    return !blocks_.is_end(place) && !blocks_.at(place).value.is_live;
  }
  std::size_t size_at(Place place) const;
  std::optional<Place> find_live(std::size_t offset) const;
  Index& index_for(std::size_t alignment);
  void add_to_indexes(std::size_t offset, std::size_t size);
  void remove_from_indexes(std::size_t offset, std::size_t size);
  std::size_t absorb_free(Place place);
  bool fit_in_place(Place live, std::size_t size);

  std::size_t unit_;
  std::size_t capacity_;
  std::size_t gap_;
  std::size_t free_bytes_ = 0;
  std::uint64_t comparisons_ = 0;
  Blocks blocks_;
  std::list<Index> indexes_;  // the first one is for the unit
};

}  // namespace meshmem

#endif  // MESHMEM_MEMORY_ALLOCATOR_HPP_
