// SPDX-License-Identifier: Apache-2.0
//
// Chooses the heap for a request, and makes all PEs meet where the standard demands it.
// Invariant: each PE takes or returns the block in its own heap, and none asks another where it is.
#include "library/allocation.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/error.hpp"
#include "collectives/same_call.hpp"
#include "collectives/sync.hpp"
#include "core/runtime.hpp"
#include "gpu/device_transfer.hpp"
#include "gpu/unfinished_uses.hpp"
#include "memory/failed_allocation.hpp"
#include "one_sided/completion.hpp"
#include "one_sided/one_sided.hpp"
#include "shmemx.h"

namespace meshmem {
namespace {

Team& world_in(const char* routine) {
  Team& world = runtime().world();
  world.begin_call(routine);
  return world;
}

// All PEs meet.
void meet(const char* routine) {
  complete_transfers(routine);  // completes the default context's puts, as barrier_all does
  sync(world_in(routine));
}

// Under MESHMEM_CHECK the PEs first compare what they ask for, so that their heaps stay alike.
template <typename... Values>
void expect_same_request(const char* routine, fmt::format_string<const Values&...> arguments,
                         const Values&... values) {
  expect_same_call(world_in(routine), arguments, values...);
}

// Returns the heap that the hints ask for; nullptr, on all PEs alike, if there is no such heap.
// Hints that contradict each other do not count.
SymmetricHeap* heap_for(std::size_t bytes, long hints, const char* routine) {
  const bool asks_device = hints & SHMEMX_MALLOC_DEVICE, asks_host = hints & SHMEMX_MALLOC_HOST;
  const bool by_default = runtime().environment().heap == HeapKind::device;
  const bool on_device = asks_device == asks_host ? by_default : asks_device;
  if (!on_device) return &runtime().heap();
  if (runtime().has_devices()) return &runtime().device_heap();
  note_failed_allocation(routine, bytes, "there is no device memory");
  return nullptr;
}
SymmetricHeap& heap_of(const void* block) {
  SymmetricHeap& device_heap = runtime().device_heap();
  return device_heap.holds(block) ? device_heap : runtime().heap();
}

// Under MESHMEM_CHECK: ends the job if unfinished work on a stream uses the block.
[[gnu::cold, gnu::noinline]] void expect_unused(void* block, const char* routine) {
  const std::size_t bytes = heap_of(block).size_of(block, routine);
  const char* user = unfinished_user_of(block, bytes);
  if (!user) return;
  only_one_speaks(runtime().world());
  fatal("{}: {} still uses the block of {} bytes at {} on a stream; synchronize the stream first",
        routine, user, bytes, block);
}

void clear(void* block, std::size_t bytes, const char* routine) {
  if (is_on_device(block)) {
    device_transfer().clear(block, bytes, routine);
  } else {
    std::memset(block, 0, bytes);
  }
}

void* reallocate(void* block, std::size_t bytes, const char* routine) {
  SymmetricHeap& heap = heap_of(block);
  const std::size_t old_bytes = heap.size_of(block, routine);
  meet(routine);  // no PE writes to the block any more
  if (heap.try_resize(block, bytes, routine)) {
    meet(routine);
    return block;
  }
  void* moved = heap.allocate(bytes, kMinAlignment, heap.hints_of(block), routine);
  if (moved) {
    copy_local(routine, moved, block, std::min(old_bytes, bytes));
    heap.release(block, routine);
  }
  meet(routine);
  return moved;
}

}  // namespace

void* allocate(std::size_t bytes, std::size_t alignment, long hints, const char* routine) {
  if (bytes == 0) return nullptr;
  expect_same_request(routine, "size {}, alignment {}, hints {}", bytes, alignment, hints);
  SymmetricHeap* heap = heap_for(bytes, hints, routine);
  if (std::has_single_bit(alignment)) alignment = std::max(alignment, kMinAlignment);
  void* block = heap ? heap->allocate(bytes, alignment, hints, routine) : nullptr;
  meet(routine);
  return block;
}

void* allocate_cleared(std::size_t count, std::size_t size, const char* routine) {
  std::size_t bytes = 0;
  if (__builtin_mul_overflow(count, size, &bytes)) bytes = ~std::size_t{0};  // fits nowhere
  if (bytes == 0) return nullptr;
  expect_same_request(routine, "count {}, size {}", count, size);
  SymmetricHeap* heap = heap_for(bytes, 0, routine);
  void* block = heap ? heap->allocate(bytes, kMinAlignment, 0, routine) : nullptr;
  if (block) clear(block, bytes, routine);
  meet(routine);
  return block;
}

void release(void* block, const char* routine) {
  if (!block) return;
  if (calls_are_compared) [[unlikely]] {
    expect_same_request(routine, "ptr {}", symmetric_name(block));
    expect_unused(block, routine);
  }
  meet(routine);
  heap_of(block).release(block, routine);
}

void* resize(void* block, std::size_t bytes, const char* routine) {
  if (!block) return allocate(bytes, kMinAlignment, 0, routine);
  if (bytes == 0) {
    release(block, routine);
    return nullptr;
  }
  if (calls_are_compared) [[unlikely]] {
    expect_same_request(routine, "ptr {}, size {}", symmetric_name(block), bytes);
    expect_unused(block, routine);
  }
  return reallocate(block, bytes, routine);
}

}  // namespace meshmem
