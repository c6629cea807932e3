// SPDX-License-Identifier: Apache-2.0
//
// Tells memory checkers which bytes of a heap are in blocks.
// Invariant: each byte below `watched_` is either in a block or forbidden. Called under the heap's
// lock.
#include "memory/heap_watch.hpp"

#include <algorithm>

#include "base/hooks/memory_checker.hpp"

namespace meshmem {
namespace {

constexpr std::size_t kWatchedBeyond = std::size_t{16} << 20;  // bytes behind the last block so far

}  // namespace

void HeapWatch::open(std::byte* base, std::size_t bytes, std::size_t below) {
  if (memory_checker() == MemoryChecker::none) return;
  base_ = base;
  bytes_ = bytes;
  forbid_access(base - below, below);
  watch_up_to(0);
}

// The bytes stay forbidden until a later shmem_init hands them out again.
void HeapWatch::close() {
  while (!blocks_.empty()) remove(blocks_.begin()->first);
  base_ = nullptr;
}

void HeapWatch::watch_up_to(std::size_t end) {
  const std::size_t wanted = end + std::min(kWatchedBeyond, bytes_ - end);
  if (wanted <= watched_) return;
  forbid_access(base_ + watched_, wanted - watched_);
  watched_ = wanted;
}

void HeapWatch::add(std::size_t offset, std::size_t bytes) {
  if (!base_) return;
  watch_up_to(offset + bytes);
  begin_block(base_ + offset, bytes);
  blocks_[offset] = bytes;
}

void HeapWatch::resize(std::size_t offset, std::size_t bytes) {
  if (!base_) return;
  watch_up_to(offset + bytes);
  resize_block(base_ + offset, blocks_[offset], bytes);
  blocks_[offset] = bytes;
}

void HeapWatch::remove(std::size_t offset) {
  if (!base_) return;
  end_block(base_ + offset, blocks_[offset]);
  blocks_.erase(offset);
}

}  // namespace meshmem
