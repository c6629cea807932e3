// SPDX-License-Identifier: Apache-2.0
//
// The hooks by which src/tools/accesses/, the library that instrumented programs call, tells
// src/tools/races/ of a program's own loads and stores. The two share these and the ledger alone.
// Invariant: hooks are set only while a job is checked. Both libraries stay loaded. Programs have
// code that calls note() by AccessKind, so these two stay as they are.
#ifndef MESHMEM_BASE_HOOKS_ACCESS_HOOKS_HPP_
#define MESHMEM_BASE_HOOKS_ACCESS_HOOKS_HPP_

#include <cstddef>
#include <cstdint>

namespace meshmem {

struct Ledger;

enum class AccessKind : std::uint8_t {
  load,
  store,
  volatile_load,  // happens after the call of note(); saw() is not called
  volatile_store,
  atomic_store,  // or an atomic operation that loads and stores
};
inline constexpr unsigned kAccessKinds = 5;

struct AccessHooks {
  // Called before the access. caller: the address to which the call in the program returns. The
  // result is the ledger if this thread may write it, else nullptr.
  Ledger* (*note)(const void* address, std::size_t bytes, AccessKind kind, const void* caller);
  // Called after an atomic load, and after an operation that loads and stores.
  void (*saw)(const void* address, std::size_t bytes);
  // 1: a thread starts, or a parallel region begins. -1: it has been joined, or has ended.
  void (*change_parallel)(int change);
  // Work before a release of an object happens before the work after a later acquire of it.
  void (*release)(const void* object);
  void (*acquire)(const void* object);
  // Between these two the thread's work counts as a strand of its own. The begin acquires `object`,
  // and the end releases its own. frame: where the stack of this work begins; nullptr: where it
  // was.
  void (*begin_strand)(const void* object, const void* frame);
  void (*end_strand)(const void* object);
  // The memory was freed, or is new.
  void (*forget)(void* begin, std::size_t bytes);
  // Names a caller that is no address of code. An interpreter's callers are its program's lines.
  void (*name_caller)(const void* caller, const char* name);
};

// nullptr: no hooks from now on. Each change of AccessHooks changes the number in the name, so a
// library of another build sets no hooks.
using SetAccessHooks = void (*)(const AccessHooks* hooks);
inline constexpr char kSetAccessHooksSymbol[] = "meshmem_set_access_hooks2";

}  // namespace meshmem

#endif  // MESHMEM_BASE_HOOKS_ACCESS_HOOKS_HPP_
