// SPDX-License-Identifier: Apache-2.0
//
// Wrappers of the functions that allocate and free memory. The checker forgets the accesses to a
// block that is freed, since its next user does not race with earlier users. Programs are linked
// with --wrap for each (races.wraps).
// Invariant: each wrapper does what its function does. Accesses to new blocks are forgotten, too:
// libraries free some blocks without these wrappers.
#include <dlfcn.h>
#include <malloc.h>

#include <cstdlib>
#include <new>

#include "tools/accesses/hooks.hpp"

namespace meshmem::accesses {
namespace {

void forget_block(void* block, std::size_t bytes) {
  if (block) call_hook(&AccessHooks::forget, block, bytes);
}
void* forget_new(void* block, std::size_t bytes) {
  forget_block(block, bytes);
  return block;
}

// True if the program has replaced the library's function. Then the C library does not know the
// sizes of its blocks.
template <typename Function>
bool is_replaced(Function* used, const char* name) {
  return reinterpret_cast<void*>(used) != dlsym(RTLD_NEXT, name);
}
void forget_freed(void* block) {
  static const bool has_size = !is_replaced(free, "free");
  if (block) forget_block(block, has_size ? malloc_usable_size(block) : 1);
}
void forget_deleted(void* block) {
  static const bool is_freed = !is_replaced<void(void*) noexcept>(::operator delete, "_ZdlPv") &&
                               !is_replaced<void(void*) noexcept>(::operator delete[], "_ZdaPv");
  if (is_freed)
    forget_freed(block);
  else
    forget_block(block, 1);
}

}  // namespace
}  // namespace meshmem::accesses

using namespace meshmem::accesses;

VISIBLE void __wrap_free(void* block) {
  if (hooks.load(std::memory_order_acquire)) forget_freed(block);
  free(block);
}
VISIBLE void* __wrap_realloc(void* block, std::size_t bytes) {
  if (hooks.load(std::memory_order_acquire)) forget_freed(block);
  return forget_new(realloc(block, bytes), bytes);
}
VISIBLE void* __wrap_malloc(std::size_t bytes) { return forget_new(malloc(bytes), bytes); }
VISIBLE void* __wrap_calloc(std::size_t n, std::size_t bytes) {
  return forget_new(calloc(n, bytes), n * bytes);
}
VISIBLE void* __wrap_aligned_alloc(std::size_t alignment, std::size_t bytes) {
  return forget_new(aligned_alloc(alignment, bytes), bytes);
}
VISIBLE int __wrap_posix_memalign(void** block, std::size_t alignment, std::size_t bytes) {
  const int error = posix_memalign(block, alignment, bytes);
  if (error == 0) forget_block(*block, bytes);
  return error;
}

#define WRAP_NEW(symbol, operation, params, ...)                \
  VISIBLE void* __wrap_##symbol params {                        \
    return forget_new(::operator operation __VA_ARGS__, bytes); \
  }
#define WRAP_NEWS(symbol, operation)                                                               \
  WRAP_NEW(symbol##m, operation, (std::size_t bytes), (bytes))                                     \
  WRAP_NEW(symbol##mRKSt9nothrow_t, operation, (std::size_t bytes, const std::nothrow_t& nothrow), \
           (bytes, nothrow))                                                                       \
  WRAP_NEW(symbol##mSt11align_val_t, operation, (std::size_t bytes, std::align_val_t alignment),   \
           (bytes, alignment))                                                                     \
  WRAP_NEW(symbol##mSt11align_val_tRKSt9nothrow_t, operation,                                      \
           (std::size_t bytes, std::align_val_t alignment, const std::nothrow_t& nothrow),         \
           (bytes, alignment, nothrow))
WRAP_NEWS(_Znw, new)
WRAP_NEWS(_Zna, new[])
#undef WRAP_NEWS
#undef WRAP_NEW

#define WRAP_DELETE(symbol, operation, params, ...)                   \
  VISIBLE void __wrap_##symbol params {                               \
    if (hooks.load(std::memory_order_acquire)) forget_deleted(block); \
    ::operator operation __VA_ARGS__;                                 \
  }
#define WRAP_SIZED_DELETE(symbol, operation, params, ...) \
  VISIBLE void __wrap_##symbol params {                   \
    forget_block(block, bytes);                           \
    ::operator operation __VA_ARGS__;                     \
  }
#define WRAP_DELETES(symbol, operation)                                                        \
  WRAP_DELETE(symbol, operation, (void* block), (block))                                       \
  WRAP_SIZED_DELETE(symbol##m, operation, (void* block, std::size_t bytes), (block))           \
  WRAP_DELETE(symbol##RKSt9nothrow_t, operation, (void* block, const std::nothrow_t& nothrow), \
              (block, nothrow))                                                                \
  WRAP_DELETE(symbol##St11align_val_t, operation, (void* block, std::align_val_t alignment),   \
              (block, alignment))                                                              \
  WRAP_SIZED_DELETE(symbol##mSt11align_val_t, operation,                                       \
                    (void* block, std::size_t bytes, std::align_val_t alignment),              \
                    (block, alignment))                                                        \
  WRAP_DELETE(symbol##St11align_val_tRKSt9nothrow_t, operation,                                \
              (void* block, std::align_val_t alignment, const std::nothrow_t& nothrow),        \
              (block, alignment, nothrow))
WRAP_DELETES(_ZdlPv, delete)
WRAP_DELETES(_ZdaPv, delete[])
#undef WRAP_DELETES
#undef WRAP_SIZED_DELETE
#undef WRAP_DELETE
