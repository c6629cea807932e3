// SPDX-License-Identifier: Apache-2.0
//
// The allocator on offsets: one tree of all blocks by offset, and for every alignment in use one
// tree of the free blocks by the bytes they can offer at that alignment.
//
// Why an index for each alignment: what a free block has to give depends on the alignment, since
// the bytes before its first aligned offset are of no use. In a tree ordered by plain size, the
// block that fits exactly once aligned may hide behind many that are as large but badly placed.
// Ordered by the usable bytes, the tightest fit is the first entry that is not too small: one
// descent, no scan. Called by the symmetric heaps, under their lock.
#include "memory/allocator.hpp"

#include <bit>
#include <iterator>

namespace meshmem {
namespace {

constexpr std::size_t round_down(std::size_t bytes) { return bytes & ~(kMinAlignment - 1); }

// Only for bytes up to a capacity, which is a multiple of kMinAlignment: then it cannot overflow.
constexpr std::size_t round_up_to_unit(std::size_t bytes) {
  return round_down(bytes + kMinAlignment - 1);
}

// From `offset` to the next multiple of `alignment`; modular, so that no sum can overflow.
constexpr std::size_t padding(std::size_t offset, std::size_t alignment) {
  return (std::size_t{0} - offset) & (alignment - 1);
}

constexpr std::size_t usable(std::size_t offset, std::size_t size, std::size_t alignment) {
  const std::size_t pad = padding(offset, alignment);
  return pad < size ? size - pad : 0;
}

}  // namespace

OffsetAllocator::OffsetAllocator(std::size_t capacity, std::size_t gap)
    : capacity_(round_down(capacity)),
      gap_(gap),
      blocks_(CountingLess<std::size_t>{&comparisons_}) {
  index_for(kMinAlignment);
  if (capacity_ == 0) return;
  make_free(0, capacity_);
  free_bytes_ = capacity_;
}

std::optional<std::size_t> OffsetAllocator::allocate(std::size_t bytes, std::size_t alignment,
                                                     long hints) {
  if (bytes == 0 || bytes > capacity_ || !std::has_single_bit(alignment)) return std::nullopt;
  if (alignment < kMinAlignment) alignment = kMinAlignment;
  std::size_t size = round_up_to_unit(bytes + gap_);

  Fits& fits = index_for(alignment).fits;
  auto fit = fits.lower_bound({size, 0});
  if (fit == fits.end()) fit = fits.lower_bound({size = round_up_to_unit(bytes), 0});
  if (fit == fits.end()) return std::nullopt;
  const auto block = blocks_.find(fit->second);
  const auto [start, whole] = std::pair(block->first, block->second.size);
  const std::size_t pad = padding(start, alignment);
  remove_from_indexes(start, whole);

  auto live = block;
  if (pad != 0) {
    block->second.size = pad;
    add_to_indexes(start, pad);
    live = blocks_.emplace_hint(std::next(block), start + pad, Block{});
  }
  live->second = {whole - pad, bytes, hints};
  give_back_tail(live, size);
  free_bytes_ -= size;
  ++live_blocks_;
  return start + pad;
}

bool OffsetAllocator::release(std::size_t offset) {
  const auto block = blocks_.find(offset);
  if (block == blocks_.end() || block->second.is_free()) return false;
  const std::size_t size = block->second.size;
  blocks_.erase(block);
  make_free(offset, size);
  free_bytes_ += size;
  --live_blocks_;
  return true;
}

bool OffsetAllocator::try_resize(std::size_t offset, std::size_t bytes) {
  if (bytes == 0 || bytes > capacity_) return false;
  const auto block = blocks_.find(offset);
  if (block == blocks_.end() || block->second.is_free()) return false;
  if (!fit_in_place(block, round_up_to_unit(bytes + gap_)) &&
      !fit_in_place(block, round_up_to_unit(bytes)))
    return false;
  block->second.requested = bytes;
  return true;
}

std::optional<std::size_t> OffsetAllocator::start_of_block_at(std::size_t offset) const {
  if (offset >= capacity_) return std::nullopt;
  const auto block = std::prev(blocks_.upper_bound(offset));
  return block->second.is_free() ? std::nullopt : std::optional(block->first);
}

std::optional<std::size_t> OffsetAllocator::size_of(std::size_t offset) const {
  const Block* block = find_live(offset);
  return block ? std::optional(block->requested) : std::nullopt;
}

std::optional<long> OffsetAllocator::hints_of(std::size_t offset) const {
  const Block* block = find_live(offset);
  return block ? std::optional(block->hints) : std::nullopt;
}

std::size_t OffsetAllocator::largest_free() const {
  const Fits& by_size = indexes_.front().fits;  // at kMinAlignment all of a block is usable
  return by_size.empty() ? 0 : by_size.rbegin()->first;
}

std::size_t OffsetAllocator::end_of_blocks() const {
  if (blocks_.empty() || !blocks_.rbegin()->second.is_free()) return capacity_;
  return blocks_.rbegin()->first;
}

std::size_t OffsetAllocator::nodes() const {
  std::size_t count = blocks_.size();
  for (const Index& index : indexes_) count += index.fits.size();
  return count;
}

const OffsetAllocator::Block* OffsetAllocator::find_live(std::size_t offset) const {
  const auto block = blocks_.find(offset);
  return block == blocks_.end() || block->second.is_free() ? nullptr : &block->second;
}

OffsetAllocator::Index& OffsetAllocator::index_for(std::size_t alignment) {
  for (Index& index : indexes_) {
    if (index.alignment == alignment) return index;
  }
  Index& index = indexes_.emplace_back(Index{alignment, Fits(CountingLess<Fit>{&comparisons_})});
  for (const auto& [offset, block] : blocks_) {
    const std::size_t bytes = block.is_free() ? usable(offset, block.size, alignment) : 0;
    if (bytes != 0) index.fits.emplace(bytes, offset);
  }
  return index;
}

void OffsetAllocator::add_to_indexes(std::size_t offset, std::size_t size) {
  for (auto& [alignment, fits] : indexes_) {
    const std::size_t bytes = usable(offset, size, alignment);
    if (bytes != 0) fits.emplace(bytes, offset);
  }
}

void OffsetAllocator::remove_from_indexes(std::size_t offset, std::size_t size) {
  for (auto& [alignment, fits] : indexes_) {
    const std::size_t bytes = usable(offset, size, alignment);
    if (bytes != 0) fits.erase({bytes, offset});
  }
}

// Enters a range that no block holds at the moment as free, merged with its free neighbours.
void OffsetAllocator::make_free(std::size_t offset, std::size_t size) {
  auto next = blocks_.lower_bound(offset);
  if (next != blocks_.end() && next->second.is_free()) {
    remove_from_indexes(next->first, next->second.size);
    size += next->second.size;
    next = blocks_.erase(next);
  }
  if (next != blocks_.begin() && std::prev(next)->second.is_free()) {
    const auto previous = std::prev(next);
    remove_from_indexes(previous->first, previous->second.size);
    previous->second.size += size;
    add_to_indexes(previous->first, previous->second.size);
    return;
  }
  blocks_.emplace_hint(next, offset, Block{size});
  add_to_indexes(offset, size);
}

bool OffsetAllocator::fit_in_place(Blocks::iterator live, std::size_t size) {
  const std::size_t before = live->second.size;
  if (size > before) {
    const auto next = std::next(live);
    if (next == blocks_.end() || !next->second.is_free()) return false;
    if (size - before > next->second.size) return false;
    remove_from_indexes(next->first, next->second.size);
    live->second.size += next->second.size;
    blocks_.erase(next);
  }
  give_back_tail(live, size);
  free_bytes_ += before;
  free_bytes_ -= size;
  return true;
}

void OffsetAllocator::give_back_tail(Blocks::iterator live, std::size_t size) {
  const std::size_t tail = live->second.size - size;
  if (tail == 0) return;
  live->second.size = size;
  make_free(live->first + size, tail);
}

}  // namespace meshmem
