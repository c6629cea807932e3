// SPDX-License-Identifier: Apache-2.0
//
// The allocator has all blocks sorted by offset, and an index for each alignment in use. An index
// has the free blocks, sorted by the bytes that are usable at its alignment, which begin at the
// first aligned offset. So the tightest fit is the first entry that is large enough. In an index by
// plain size, a search would have to skip blocks that are large enough but badly placed.
// Called by the symmetric heaps, under their lock.
#include "memory/allocator.hpp"

#include <algorithm>
#include <bit>

namespace meshmem {
namespace {

// The bytes from `offset` to the next multiple of `alignment`. Modular, so that no sum overflows.
constexpr std::size_t padding(std::size_t offset, std::size_t alignment) {
  return (std::size_t{0} - offset) & (alignment - 1);
}

constexpr std::size_t usable(std::size_t offset, std::size_t size, std::size_t alignment) {
  const std::size_t pad = padding(offset, alignment);
  return pad < size ? size - pad : 0;
}

}  // namespace

OffsetAllocator::OffsetAllocator(std::size_t capacity, std::size_t gap, std::size_t unit)
    : unit_(unit), capacity_(round_down(capacity)), gap_(gap), blocks_(&comparisons_) {
  index_for(unit_);
  if (capacity_ == 0) return;
  blocks_.insert(0, {});
  add_to_indexes(0, capacity_);
  free_bytes_ = capacity_;
}

std::optional<std::size_t> OffsetAllocator::allocate(std::size_t bytes, std::size_t alignment,
                                                     long hints) {
  if (bytes == 0 || bytes > capacity_ || !std::has_single_bit(alignment)) return std::nullopt;
  alignment = std::max(alignment, unit_);
  std::size_t size = round_up(bytes + gap_);

  const Fits& fits = index_for(alignment).fits;
  auto fit = fits.lower_bound({size, 0});
  if (fits.is_end(fit)) fit = fits.lower_bound({size = round_up(bytes), 0});
  if (fits.is_end(fit)) return std::nullopt;
  const std::size_t free_start = fits.at(fit).key.offset;
  const Place block = blocks_.find(free_start);
  const std::size_t whole = size_at(block);
  const std::size_t pad = padding(free_start, alignment);
  const std::size_t start = free_start + pad;
  const Block live{.unused = static_cast<std::uint32_t>(size - bytes),
                   .hints = static_cast<std::uint32_t>(hints) & 0x7fffffff,
                   .is_live = 1};
  remove_from_indexes(free_start, whole);

  if (pad == 0) {
    blocks_.value_at(block) = live;
  } else {
    add_to_indexes(free_start, pad);
    blocks_.insert(start, live);
  }
  if (const std::size_t tail = whole - pad - size; tail != 0) {
    blocks_.insert(start + size, {});
    add_to_indexes(start + size, tail);
  }
  free_bytes_ -= size;
  return start;
}

bool OffsetAllocator::release(std::size_t offset) {
  const std::optional<Place> live = find_live(offset);
  if (!live) return false;
  const Place block = *live;
  const std::size_t size = size_at(block);
  std::size_t start = offset, end = offset + size;
  if (const Place next = blocks_.next(block); is_free_at(next)) end += absorb_free(next);
  if (!blocks_.is_begin(block) && is_free_at(blocks_.previous(block))) {
    start = blocks_.at(blocks_.previous(block)).key;
    remove_from_indexes(start, offset - start);
    blocks_.erase(block);
  } else {
    blocks_.value_at(block) = {};
  }
  add_to_indexes(start, end - start);
  free_bytes_ += size;
  return true;
}

bool OffsetAllocator::try_resize(std::size_t offset, std::size_t bytes) {
  if (bytes == 0 || bytes > capacity_) return false;
  const std::optional<Place> block = find_live(offset);
  if (!block) return false;
  if (!fit_in_place(*block, round_up(bytes + gap_)) && !fit_in_place(*block, round_up(bytes)))
    return false;
  const Place fitted = blocks_.find(offset);
  blocks_.value_at(fitted).unused = static_cast<std::uint32_t>(size_at(fitted) - bytes);
  return true;
}

std::optional<std::size_t> OffsetAllocator::start_of_block_at(std::size_t offset) const {
  if (offset >= capacity_) return std::nullopt;
  const Place block = blocks_.previous(blocks_.lower_bound(offset + 1));
  return is_free_at(block) ? std::nullopt : std::optional(blocks_.at(block).key);
}

std::optional<std::size_t> OffsetAllocator::size_of(std::size_t offset) const {
  const std::optional<Place> block = find_live(offset);
  if (!block) return std::nullopt;
  return size_at(*block) - blocks_.at(*block).value.unused;
}

std::optional<long> OffsetAllocator::hints_of(std::size_t offset) const {
  const std::optional<Place> block = find_live(offset);
  if (!block) return std::nullopt;
  return blocks_.at(*block).value.hints;
}

std::size_t OffsetAllocator::largest_free() const {
  const Fits& by_size = indexes_.front().fits;  // all bytes of a block are usable at the unit
  return by_size.size() == 0 ? 0 : by_size.last().key.bytes;
}

std::size_t OffsetAllocator::end_of_blocks() const {
  if (blocks_.size() == 0 || blocks_.last().value.is_live) return capacity_;
  return blocks_.last().key;
}

std::size_t OffsetAllocator::nodes() const {
  std::size_t count = blocks_.size();
  for (const Index& index : indexes_) count += index.fits.size();
  return count;
}

std::size_t OffsetAllocator::size_at(Place place) const {
  const Place next = blocks_.next(place);
  return (blocks_.is_end(next) ? capacity_ : blocks_.at(next).key) - blocks_.at(place).key;
}

std::optional<OffsetAllocator::Place> OffsetAllocator::find_live(std::size_t offset) const {
  const Place block = blocks_.find(offset);
  return blocks_.is_end(block) || is_free_at(block) ? std::nullopt : std::optional(block);
}

OffsetAllocator::Index& OffsetAllocator::index_for(std::size_t alignment) {
  for (Index& index : indexes_) {
    if (index.alignment == alignment) return index;
  }
  Index& index = indexes_.emplace_back(Index{alignment, Fits(&comparisons_)});
  for (Place at = blocks_.begin(); !blocks_.is_end(at); at = blocks_.next(at)) {
    const std::size_t offset = blocks_.at(at).key;
    const std::size_t bytes = is_free_at(at) ? usable(offset, size_at(at), alignment) : 0;
    if (bytes != 0) index.fits.insert({bytes, offset}, {});
  }
  return index;
}

void OffsetAllocator::add_to_indexes(std::size_t offset, std::size_t size) {
  for (auto& [alignment, fits] : indexes_) {
    const std::size_t bytes = usable(offset, size, alignment);
    if (bytes != 0) fits.insert({bytes, offset}, {});
  }
}

void OffsetAllocator::remove_from_indexes(std::size_t offset, std::size_t size) {
  for (auto& [alignment, fits] : indexes_) {
    const std::size_t bytes = usable(offset, size, alignment);
    if (bytes != 0) fits.erase(fits.find({bytes, offset}));
  }
}

// Makes the free block part of the block before it, and returns its size.
std::size_t OffsetAllocator::absorb_free(Place place) {
  const std::size_t size = size_at(place);
  remove_from_indexes(blocks_.at(place).key, size);
  blocks_.erase(place);
  return size;
}

bool OffsetAllocator::fit_in_place(Place live, std::size_t size) {
  const std::size_t before = size_at(live);
  const Place next = blocks_.next(live);
  const std::size_t behind = is_free_at(next) ? size_at(next) : 0;
  if (size > before + behind) return false;
  if (size == before) return true;
  if (behind != 0) absorb_free(next);
  free_bytes_ += before;
  free_bytes_ -= size;
  if (const std::size_t tail = before + behind - size; tail != 0) {
    const std::size_t start = blocks_.at(live).key + size;
    blocks_.insert(start, {});
    add_to_indexes(start, tail);
  }
  return true;
}

}  // namespace meshmem
