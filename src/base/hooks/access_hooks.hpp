// SPDX-License-Identifier: Apache-2.0
//
// How the library that instrumented programs call (src/tools/accesses/) tells the library of races
// (src/tools/races/) of a program's own loads and stores. All that the two share.
// Invariant: no hooks are set but while a job is checked. Both libraries stay loaded.
#ifndef MESHMEM_BASE_HOOKS_ACCESS_HOOKS_HPP_
#define MESHMEM_BASE_HOOKS_ACCESS_HOOKS_HPP_

#include <cstddef>
#include <cstdint>

namespace meshmem {

enum class AccessKind : std::uint8_t {
  load,
  store,
  volatile_load,  // happens behind the call of note, and there is no call of saw
  volatile_store,
  atomic_store,  // or an operation that both loads and stores
};
inline constexpr unsigned kAccessKinds = 5;

struct AccessHooks {
  // Before the access. caller: behind the place in the program.
  void (*note)(const void* address, std::size_t bytes, AccessKind kind, const void* caller);
  // Behind an atomic load, also that of an operation that stores too.
  void (*saw)(const void* address, std::size_t bytes);
  // 1 before a thread begins that the caller does not wait for, -1 behind the wait for it.
  void (*change_parallel)(int change);
  // All before a release of an object is before all behind a later acquire of it.
  void (*release)(const void* object);
  void (*acquire)(const void* object);
  // This thread does work of its own, behind what was released to `object`, until the end, which
  // releases. frame: where its stack for it begins; nullptr: where it was.
  void (*begin_strand)(const void* object, const void* frame);
  void (*end_strand)(const void* object);
  // The memory is free, or new.
  void (*forget)(void* begin, std::size_t bytes);
};

// nullptr: none from now on.
using SetAccessHooks = void (*)(const AccessHooks* hooks);
inline constexpr char kSetAccessHooksSymbol[] = "meshmem_set_access_hooks";

}  // namespace meshmem

#endif  // MESHMEM_BASE_HOOKS_ACCESS_HOOKS_HPP_
