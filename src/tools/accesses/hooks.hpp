// SPDX-License-Identifier: Apache-2.0
//
// The calls that each function of this library makes before and after an access. Invariant: without
// hooks it is one load and one branch.
#ifndef MESHMEM_TOOLS_ACCESSES_HOOKS_HPP_
#define MESHMEM_TOOLS_ACCESSES_HOOKS_HPP_

#include <atomic>

#include "base/hooks/access_hooks.hpp"

#define VISIBLE extern "C" __attribute__((visibility("default")))
// The place in the program that called the function in which this stands.
#define CALLER __builtin_return_address(0)

namespace meshmem::accesses {

extern constinit std::atomic<const AccessHooks*> hooks;

[[gnu::always_inline]] inline void note(const volatile void* address, std::size_t bytes,
                                        AccessKind kind, const void* caller) {
  if (const AccessHooks* set = hooks.load(std::memory_order_acquire)) [[unlikely]]
    set->note(const_cast<const void*>(address), bytes, kind, caller);
}

[[gnu::always_inline]] inline void saw(const volatile void* address, std::size_t bytes) {
  if (const AccessHooks* set = hooks.load(std::memory_order_acquire)) [[unlikely]]
    set->saw(const_cast<const void*>(address), bytes);
}

}  // namespace meshmem::accesses

#endif  // MESHMEM_TOOLS_ACCESSES_HOOKS_HPP_
