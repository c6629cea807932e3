// SPDX-License-Identifier: Apache-2.0
//
// Turns offsets of the allocator into pointers and back, and says why a call fails.
// Invariant: a heap is open while the library is initialized.
#include "memory/symmetric_heap.hpp"

#include <sys/mman.h>

#include <bit>

#include "base/error.hpp"
#include "memory/failed_allocation.hpp"

namespace meshmem {

void SymmetricHeap::open(std::byte* base, std::size_t bytes, std::size_t alignment, std::size_t gap,
                         std::optional<std::size_t> below) {
  base_ = base;
  bytes_ = bytes;
  alignment_ = alignment;
  allocator_.emplace(bytes, gap, unit_);
  if (below) watch_.open(base, bytes, *below);
}

// Only tries to lock: the thread that ends the process may already hold the lock.
void SymmetricHeap::put_in_core_file() {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (lock && allocator_) madvise(base_, allocator_->end_of_blocks(), MADV_DODUMP);
}

void SymmetricHeap::return_pages() { madvise(base_, bytes_, MADV_REMOVE); }

void SymmetricHeap::close() {
  watch_.close();
  allocator_.reset();
}

void* SymmetricHeap::allocate(std::size_t bytes, std::size_t alignment, long hints,
                              const char* routine) {
  const std::lock_guard lock(mutex_);
  const std::optional<std::size_t> offset =
      alignment <= alignment_ ? allocator_->allocate(bytes, alignment, hints) : std::nullopt;
  if (!offset) {
    note_failed_allocation(routine, bytes, why_not(alignment));
    return nullptr;
  }
  watch_.add(*offset, bytes);
  return base_ + *offset;
}

std::string SymmetricHeap::why_not(std::size_t alignment) const {
  if (!std::has_single_bit(alignment))
    return fmt::format("alignment {} is not a power of two", alignment);
  if (alignment > alignment_)  // the same offset would not be aligned in every PE
    return fmt::format("alignment {} is more than the {} that the {}s of all PEs have", alignment,
                       alignment_, name_);
  return fmt::format(
      "{} of the {} bytes of the {} are free, at most {} of them in one piece; {} sets its size",
      allocator_->free_bytes(), allocator_->capacity(), name_, allocator_->largest_free(),
      size_variable_);
}

void SymmetricHeap::release(void* block, const char* routine) {
  const std::lock_guard lock(mutex_);
  if (!allocator_->release(offset_of(block))) refuse(block, routine);
  watch_.remove(offset_of(block));
}

bool SymmetricHeap::try_resize(void* block, std::size_t bytes, const char* routine) {
  const std::lock_guard lock(mutex_);
  if (!allocator_->size_of(offset_of(block))) refuse(block, routine);
  if (!allocator_->try_resize(offset_of(block), bytes)) return false;
  watch_.resize(offset_of(block), bytes);
  return true;
}

std::size_t SymmetricHeap::size_of(void* block, const char* routine) {
  const std::lock_guard lock(mutex_);
  const std::optional<std::size_t> bytes = allocator_->size_of(offset_of(block));
  if (!bytes) refuse(block, routine);
  return *bytes;
}

long SymmetricHeap::hints_of(void* block) {
  const std::lock_guard lock(mutex_);
  return allocator_->hints_of(offset_of(block)).value_or(0);
}

std::optional<SymmetricHeap::Block> SymmetricHeap::block_at(const void* address) {
  const std::lock_guard lock(mutex_);
  const std::optional<std::size_t> start = allocator_->start_of_block_at(offset_of(address));
  if (!start) return std::nullopt;
  return Block{base_ + *start, *allocator_->size_of(*start)};
}

std::vector<SymmetricHeap::Block> SymmetricHeap::blocks() {
  const std::lock_guard lock(mutex_);
  std::vector<Block> all;
  if (!allocator_) return all;
  allocator_->for_each_live([&](std::size_t offset, std::size_t bytes) {
    all.push_back({base_ + offset, bytes});
  });
  return all;
}

void SymmetricHeap::refuse(void* block, const char* routine) const {
  fatal(
      "{}: {} is not the start of a block of the symmetric heap (freed already, or never "
      "allocated)",
      routine, block);
}

}  // namespace meshmem
