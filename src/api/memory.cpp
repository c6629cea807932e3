// SPDX-License-Identifier: Apache-2.0
//
// Symmetric memory (OpenSHMEM 1.6, section 9.3). All PEs make the same calls.
// Invariant: what is free on one PE is free on all, so an allocation fails on all PEs or on none;
// barriers are where the standard has them, and nowhere if nothing is asked for.
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>

#include "api/entry.hpp"
#include "base/error.hpp"
#include "collectives/same_call.hpp"
#include "collectives/sync.hpp"
#include "gpu/stream_uses.hpp"
#include "shmemx.h"
#include "transport/completion.hpp"
#include "transport/one_sided.hpp"

namespace meshmem {
namespace {

// All PEs meet.
void meet(const char* routine) {
  complete_transfers(routine);  // completes the default context's puts, as barrier_all does
  sync(collective_team(SHMEM_TEAM_WORLD, routine));
}

// Under MESHMEM_CHECK they compare what they ask for first, so that their heaps stay alike.
template <typename... Values>
void expect_same_request(const char* routine, fmt::format_string<const Values&...> arguments,
                         const Values&... values) {
  expect_same_call(collective_team(SHMEM_TEAM_WORLD, routine), arguments, values...);
}

// nullptr for what is not to be had, on all PEs alike. Hints that contradict each other say nothing.
SymmetricHeap* heap_for(long hints, const char* routine) {
  const bool asks_device = hints & SHMEMX_MALLOC_DEVICE, asks_host = hints & SHMEMX_MALLOC_HOST;
  const bool by_default = runtime().environment().heap == HeapPlace::device;
  const bool on_device = asks_device == asks_host ? by_default : asks_device;
  if (!on_device) return &runtime().heap();
  if (runtime().has_devices()) return &runtime().device_heap();
  debug("{}: there is no device memory", routine);
  return nullptr;
}
SymmetricHeap& heap_of(const void* block) {
  SymmetricHeap& device_heap = runtime().device_heap();
  return device_heap.holds(block) ? device_heap : runtime().heap();
}

// Under MESHMEM_CHECK: by what is on a stream.
[[gnu::cold, gnu::noinline]] void expect_unused(void* block, const char* routine) {
  const std::size_t bytes = heap_of(block).size_of(block, routine);
  const char* user = stream_user_of(block, bytes);
  if (!user) return;
  only_one_speaks(runtime().world());
  fatal("{}: {} still uses the block of {} bytes at {} on a stream; synchronize the stream before",
        routine, user, bytes, block);
}

void* allocate(std::size_t bytes, std::size_t alignment, long hints, const char* routine) {
  require_active(routine);
  if (bytes == 0) return nullptr;
  expect_same_request(routine, "size {}, alignment {}, hints {}", bytes, alignment, hints);
  SymmetricHeap* heap = heap_for(hints, routine);
  if (std::has_single_bit(alignment)) alignment = std::max(alignment, kMinAlignment);
  void* block = heap ? heap->allocate(bytes, alignment, hints, routine) : nullptr;
  meet(routine);
  return block;
}

void release(void* block, const char* routine) {
  require_active(routine);
  if (!block) return;
  if (calls_are_compared) [[unlikely]] {
    expect_same_request(routine, "ptr {}", symmetric_name(block));
    expect_unused(block, routine);
  }
  meet(routine);
  heap_of(block).release(block, routine);
}

void* reallocate(void* block, std::size_t bytes, const char* routine) {
  SymmetricHeap& heap = heap_of(block);
  const std::size_t old_bytes = heap.size_of(block, routine);
  meet(routine);  // nobody writes to the block any more
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

void* resize(void* block, std::size_t bytes, const char* routine) {
  if (!block) return allocate(bytes, kMinAlignment, 0, routine);
  if (bytes == 0) {
    release(block, routine);
    return nullptr;
  }
  require_active(routine);
  if (calls_are_compared) [[unlikely]] {
    expect_same_request(routine, "ptr {}, size {}", symmetric_name(block), bytes);
    expect_unused(block, routine);
  }
  return reallocate(block, bytes, routine);
}

}  // namespace

MESHMEM_ENTRY(void*, malloc, (std::size_t size)) {
  return allocate(size, kMinAlignment, 0, "shmem_malloc");
}

MESHMEM_ENTRY(void*, align, (std::size_t alignment, std::size_t size)) {
  return allocate(size, alignment, 0, "shmem_align");
}

MESHMEM_ENTRY(void*, malloc_with_hints, (std::size_t size, long hints)) {
  return allocate(size, kMinAlignment, hints, "shmem_malloc_with_hints");
}

MESHMEM_ENTRY(void*, calloc, (std::size_t count, std::size_t size)) {
  constexpr const char* kRoutine = "shmem_calloc";
  require_active(kRoutine);
  std::size_t bytes = 0;
  if (__builtin_mul_overflow(count, size, &bytes)) bytes = ~std::size_t{0};  // fits nowhere
  if (bytes == 0) return nullptr;
  expect_same_request(kRoutine, "count {}, size {}", count, size);
  SymmetricHeap* heap = heap_for(0, kRoutine);
  void* block = heap ? heap->allocate(bytes, kMinAlignment, 0, kRoutine) : nullptr;
  if (block && is_on_device(block)) {
    device_transfer().clear(block, bytes, kRoutine);
  } else if (block) {
    std::memset(block, 0, bytes);
  }
  meet(kRoutine);
  return block;
}

MESHMEM_ENTRY(void, free, (void* ptr)) { release(ptr, "shmem_free"); }

MESHMEM_ENTRY(void*, realloc, (void* ptr, std::size_t size)) {
  return resize(ptr, size, "shmem_realloc");
}

// Deprecated names.
MESHMEM_NAMED_ENTRY(void*, shmalloc, (std::size_t size)) {
  return allocate(size, kMinAlignment, 0, "shmalloc");
}
MESHMEM_NAMED_ENTRY(void*, shmemalign, (std::size_t alignment, std::size_t size)) {
  return allocate(size, alignment, 0, "shmemalign");
}
MESHMEM_NAMED_ENTRY(void, shfree, (void* ptr)) { release(ptr, "shfree"); }
MESHMEM_NAMED_ENTRY(void*, shrealloc, (void* ptr, std::size_t size)) {
  return resize(ptr, size, "shrealloc");
}

}  // namespace meshmem
