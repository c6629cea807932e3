// SPDX-License-Identifier: Apache-2.0
//
// The functions that compilers call before copies, and before loads and stores of large objects, in
// a program that they instrument for ThreadSanitizer. Those of others are in loads.cpp. Also those
// that an interpreter calls.
// Invariant: the names and arguments are those of GCC and clang. Called by programs that were built
// by `oshcc --races`, and by the Python package while Triton interprets kernels.
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "tools/accesses/hooks.hpp"

namespace meshmem::accesses {

constinit std::atomic<const AccessHooks*> hooks{nullptr};

namespace {

void note_copy(void* to, const void* from, std::size_t bytes, const void* caller) {
  note(from, bytes, AccessKind::load, caller);
  note(to, bytes, AccessKind::store, caller);
}

}  // namespace
}  // namespace meshmem::accesses

using meshmem::AccessKind;
using meshmem::accesses::note;
using meshmem::accesses::note_copy;

VISIBLE void meshmem_set_access_hooks2(const meshmem::AccessHooks* hooks) {
  if (hooks) meshmem::accesses::forget_counted_threads();
  meshmem::accesses::hooks.store(hooks, std::memory_order_release);
}

VISIBLE void __tsan_read_range(void* at, std::size_t bytes) {
  note(at, bytes, AccessKind::load, CALLER);
}
VISIBLE void __tsan_write_range(void* at, std::size_t bytes) {
  note(at, bytes, AccessKind::store, CALLER);
}

// Constructors store the same again.
VISIBLE void __tsan_vptr_update(void** at, void* value) {
  if (*at != value) note(at, sizeof *at, AccessKind::store, CALLER);
}
VISIBLE void __tsan_vptr_read(void** at) { note(at, sizeof *at, AccessKind::load, CALLER); }

VISIBLE void __tsan_init() {}
VISIBLE void __tsan_func_entry(void*) {}
VISIBLE void __tsan_func_exit() {}
VISIBLE void __tsan_ignore_thread_begin() {}
VISIBLE void __tsan_ignore_thread_end() {}

// Copies by the C library: by these names from newer versions of clang, by their own from others,
// whose programs are linked with --wrap.
#define COPY(name, copy)                                              \
  VISIBLE void* name(void* to, const void* from, std::size_t bytes) { \
    note_copy(to, from, bytes, CALLER);                               \
    return copy(to, from, bytes);                                     \
  }
COPY(__tsan_memcpy, memcpy)
COPY(__tsan_memmove, memmove)
COPY(__wrap_memcpy, memcpy)
COPY(__wrap_memmove, memmove)
#undef COPY
#define SET(name)                                              \
  VISIBLE void* name(void* to, int value, std::size_t bytes) { \
    note(to, bytes, AccessKind::store, CALLER);                \
    return memset(to, value, bytes);                           \
  }
SET(__tsan_memset)
SET(__wrap_memset)
#undef SET

// Functions of the C library by which programs print.
VISIBLE int __wrap_puts(const char* text) {
  note(text, std::strlen(text) + 1, AccessKind::load, CALLER);
  return std::puts(text);
}
VISIBLE int __wrap_fputs(const char* text, std::FILE* file) {
  note(text, std::strlen(text) + 1, AccessKind::load, CALLER);
  return std::fputs(text, file);
}
VISIBLE std::size_t __wrap_fwrite(const void* from, std::size_t bytes, std::size_t count,
                                  std::FILE* file) {
  note(from, bytes * count, AccessKind::load, CALLER);
  return std::fwrite(from, bytes, count, file);
}
VISIBLE ssize_t __wrap_write(int descriptor, const void* from, std::size_t bytes) {
  note(from, bytes, AccessKind::load, CALLER);
  return ::write(descriptor, from, bytes);
}

// Those that compilers call where _FORTIFY_SOURCE is set. The C library does the check.
extern "C" {
void* __memcpy_chk(void* to, const void* from, std::size_t bytes, std::size_t room);
void* __memmove_chk(void* to, const void* from, std::size_t bytes, std::size_t room);
void* __memset_chk(void* to, int value, std::size_t bytes, std::size_t room);
}
#define CHECKED_COPY(name)                                                                       \
  VISIBLE void* __wrap_##name(void* to, const void* from, std::size_t bytes, std::size_t room) { \
    note_copy(to, from, bytes, CALLER);                                                          \
    return name(to, from, bytes, room);                                                          \
  }
CHECKED_COPY(__memcpy_chk)
CHECKED_COPY(__memmove_chk)
#undef CHECKED_COPY
VISIBLE void* __wrap___memset_chk(void* to, int value, std::size_t bytes, std::size_t room) {
  note(to, bytes, AccessKind::store, CALLER);
  return __memset_chk(to, value, bytes, room);
}

// An interpreter calls these two for each load and store that it executes. Such an access has no
// address of code, so a text names its place, as in "kernel at prog.py:12". The caller keeps the
// text where it is, and unchanged.

// Before an access. kind: one of AccessKind.
VISIBLE void meshmem_note_access(const void* address, std::size_t bytes, int kind,
                                 const char* place) {
  meshmem::accesses::call_hook(&meshmem::AccessHooks::name_caller, static_cast<const void*>(place),
                               place);
  note(address, bytes, static_cast<AccessKind>(kind), place);
}

// After an atomic load, and after an atomic that loads and stores.
VISIBLE void meshmem_note_seen(const void* address, std::size_t bytes) {
  meshmem::accesses::saw(address, bytes);
}
