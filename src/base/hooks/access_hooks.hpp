// SPDX-License-Identifier: Apache-2.0
//
// The hooks by which src/tools/accesses/, the library that instrumented programs call, reports a
// program's own loads and stores to src/tools/races/. The two libraries share only these hooks and
// the ledger.
// Invariant: hooks are set only while a job is checked. Both libraries stay loaded. Programs
// contain calls of note() with an AccessKind, so these two never change.
#ifndef MESHMEM_BASE_HOOKS_ACCESS_HOOKS_HPP_
#define MESHMEM_BASE_HOOKS_ACCESS_HOOKS_HPP_

#include <cstddef>
#include <cstdint>

namespace meshmem {

struct Ledger;

enum class AccessKind : std::uint8_t {
  load,
  store,
  volatile_load,  // the load happens after the call of note(), and saw() is not called
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
  // Work before a release of an object happens before work after a later acquire of this object.
  void (*release)(const void* object);
  void (*acquire)(const void* object);
  // Between these two the thread's work counts as a strand of its own. begin_strand() acquires its
  // `object`, and end_strand() releases its own. frame: where the stack of this work begins;
  // nullptr: where it has begun before.
  void (*begin_strand)(const void* object, const void* frame);
  void (*end_strand)(const void* object);
  // The memory was freed, or is new.
  void (*forget)(void* begin, std::size_t bytes);
  // Names a `caller` that is not an address of code: an interpreter makes one for each line of the
  // program that it runs.
  void (*name_caller)(const void* caller, const char* name);
};

// nullptr: no hooks from now on. Each change of AccessHooks changes the number in the name, so a
// library of another build sets no hooks.
using SetAccessHooks = void (*)(const AccessHooks* hooks);
inline constexpr char kSetAccessHooksSymbol[] = "meshmem_set_access_hooks2";

}  // namespace meshmem

#endif  // MESHMEM_BASE_HOOKS_ACCESS_HOOKS_HPP_
