// SPDX-License-Identifier: Apache-2.0
//
// Asks which memory checker runs, and tells valgrind and the sanitizers about memory.
// Invariant: needs no library. Valgrind recognizes a request by its code, which does nothing
// elsewhere. Only programs that are built with a sanitizer have its functions.
#include "base/hooks/memory_checker.hpp"

// The header is of the Debian package valgrind, which ./mesh installs.
#if !defined(MESHMEM_WITHOUT_VALGRIND) && __has_include(<valgrind/memcheck.h>)
#include <valgrind/memcheck.h>
#else
#define RUNNING_ON_VALGRIND 0
#define VALGRIND_MAKE_MEM_NOACCESS(memory, bytes) 0
#define VALGRIND_MAKE_MEM_DEFINED(memory, bytes) 0
#define VALGRIND_MALLOCLIKE_BLOCK(block, bytes, red_zone, is_zeroed)
#define VALGRIND_RESIZEINPLACE_BLOCK(block, before, after, red_zone)
#define VALGRIND_FREELIKE_BLOCK(block, red_zone)
#endif

extern "C" {
[[gnu::weak]] void __asan_poison_memory_region(const volatile void* memory, std::size_t bytes);
[[gnu::weak]] void __asan_unpoison_memory_region(const volatile void* memory, std::size_t bytes);
[[gnu::weak]] void __lsan_register_root_region(const void* memory, std::size_t bytes);
[[gnu::weak]] void __lsan_unregister_root_region(const void* memory, std::size_t bytes);
[[gnu::weak]] void __lsan_disable();
[[gnu::weak]] void __lsan_enable();
}

namespace meshmem {

MemoryChecker memory_checker() {
  static const MemoryChecker checker = __asan_poison_memory_region
                                           ? MemoryChecker::address_sanitizer
                                       : RUNNING_ON_VALGRIND ? MemoryChecker::valgrind
                                                             : MemoryChecker::none;
  return checker;
}

void forbid_access(const void* memory, std::size_t bytes) {
  if (__asan_poison_memory_region) __asan_poison_memory_region(memory, bytes);
  (void)VALGRIND_MAKE_MEM_NOACCESS(memory, bytes);
}

void allow_access(const void* memory, std::size_t bytes) {
  if (__asan_unpoison_memory_region) __asan_unpoison_memory_region(memory, bytes);
  (void)VALGRIND_MAKE_MEM_DEFINED(memory, bytes);
}

void begin_block(const void* block, std::size_t bytes) {
  if (__asan_unpoison_memory_region) __asan_unpoison_memory_region(block, bytes);
  if (__lsan_register_root_region) __lsan_register_root_region(block, bytes);
  VALGRIND_MALLOCLIKE_BLOCK(block, bytes, 0, 1);
}

void resize_block(const void* block, std::size_t before, std::size_t after) {
  const auto* start = static_cast<const std::byte*>(block);
  if (__lsan_unregister_root_region) __lsan_unregister_root_region(block, before);
  if (__lsan_register_root_region) __lsan_register_root_region(block, after);
  VALGRIND_RESIZEINPLACE_BLOCK(block, before, after, 0);
  if (after > before)
    allow_access(start + before, after - before);
  else
    forbid_access(start + after, before - after);
}

void end_block(const void* block, std::size_t bytes) {
  if (__lsan_unregister_root_region) __lsan_unregister_root_region(block, bytes);
  if (__asan_poison_memory_region) __asan_poison_memory_region(block, bytes);
  VALGRIND_FREELIKE_BLOCK(block, 0);
}

IgnoreLeaks::IgnoreLeaks() {
  if (__lsan_disable) __lsan_disable();
}
IgnoreLeaks::~IgnoreLeaks() {
  if (__lsan_enable) __lsan_enable();
}

}  // namespace meshmem
