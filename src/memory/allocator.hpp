// SPDX-License-Identifier: Apache-2.0
//
// A best-fit allocator on offsets in [0, capacity). It never touches the memory it hands out (which
// may belong to a GPU); all its state lies beside it.
// Invariant: the blocks, live and free, tile [0, capacity) without gaps, and no two free blocks
// touch. The answers depend on nothing but the sequence of calls, so that all PEs get the same
// offsets. Called by the symmetric heaps, one allocator for each; the caller holds their lock.
#ifndef MESHMEM_MEMORY_ALLOCATOR_HPP_
#define MESHMEM_MEMORY_ALLOCATOR_HPP_

#include <cstddef>
#include <cstdint>
#include <list>
#include <optional>

#include "memory/sorted_pages.hpp"

namespace meshmem {

inline constexpr std::size_t kMinAlignment = 64;
inline constexpr std::size_t kMinDeviceAlignment = 256;  // as GPUs' own allocators have it

// Cost of a call: O(log blocks) comparisons for each alignment used so far (programs use two or
// three). The first use of an alignment also indexes the free blocks once. Memory is proportional
// to the live blocks: free blocks merge, so there is at most one more of them than of live ones.
// std::bad_alloc is the only exception; after it the allocator must not be used any more.
class OffsetAllocator {
 public:
  // Blocks are multiples of `unit`, a power of two, in place and size; any other capacity is
  // rounded down. Behind every block at least `gap` bytes stay free, unless the block fits only
  // without them.
  explicit OffsetAllocator(std::size_t capacity, std::size_t gap = 0,
                           std::size_t unit = kMinAlignment);
  OffsetAllocator(const OffsetAllocator&) = delete;
  OffsetAllocator& operator=(const OffsetAllocator&) = delete;

  // The offset of a new block, a multiple of `alignment`; nullopt if nothing fits, if `bytes` is
  // zero or if `alignment` is not a power of two. The memory at offset 0 must itself be aligned as
  // strictly.
  std::optional<std::size_t> allocate(std::size_t bytes, std::size_t alignment = 1, long hints = 0);

  // False if no live block starts at `offset`; nothing has changed then.
  bool release(std::size_t offset);

  // Shrinks the block, or grows it into the free block behind it. False, and nothing has changed,
  // if that cannot be done, if `bytes` is zero or if no live block starts at `offset`.
  bool try_resize(std::size_t offset, std::size_t bytes);

  std::optional<std::size_t> size_of(std::size_t offset) const;  // bytes as asked for, not rounded
  std::optional<long> hints_of(std::size_t offset) const;        // the lower 31 bits

  std::optional<std::size_t> start_of_block_at(std::size_t offset) const;  // of the live one there

  std::size_t capacity() const { return capacity_; }
  std::size_t free_bytes() const { return free_bytes_; }
  std::size_t largest_free() const;
  std::size_t end_of_blocks() const;  // no block lies beyond
  std::size_t live_blocks() const { return live_blocks_; }

  // For the tests of the promises above: entries held now, key comparisons made so far.
  std::size_t nodes() const;
  std::uint64_t comparisons() const { return comparisons_; }

 private:
  // Of eight bytes, since blocks of a page move when others come or go.
  struct Block {
    std::uint32_t unused = 0;  // bytes behind those that were asked for
    std::uint32_t hints : 31 = 0;
    std::uint32_t is_live : 1 = 0;
  };
  using Blocks = SortedPages<std::size_t, Block>;  // by offset; each ends where the next begins
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
  // Only for bytes up to a capacity, which is a multiple of the unit: then it cannot overflow.
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
  std::size_t live_blocks_ = 0;
  std::uint64_t comparisons_ = 0;
  Blocks blocks_;
  std::list<Index> indexes_;  // the one for the unit first
};

}  // namespace meshmem

#endif  // MESHMEM_MEMORY_ALLOCATOR_HPP_
