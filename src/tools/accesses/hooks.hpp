// SPDX-License-Identifier: Apache-2.0
//
// Calls the hooks, if there are any. The functions of this library do so before and after an
// access.
// Invariant: without hooks such a call is one load and one branch.
#ifndef MESHMEM_TOOLS_ACCESSES_HOOKS_HPP_
#define MESHMEM_TOOLS_ACCESSES_HOOKS_HPP_

#include <atomic>

#include "base/hooks/access_hooks.hpp"

#define VISIBLE extern "C" __attribute__((visibility("default")))
// The address in the program to which the function that uses this macro returns.
#define CALLER __builtin_return_address(0)

namespace meshmem::accesses {

// Also for the code that programs contain (loads.cpp).
extern constinit std::atomic<const AccessHooks*> hooks __attribute__((visibility("default")));

[[gnu::always_inline]] inline void note(const volatile void* address, std::size_t bytes,
                                        AccessKind kind, const void* caller) {
  if (const AccessHooks* set = hooks.load(std::memory_order_acquire)) [[unlikely]]
    set->note(const_cast<const void*>(address), bytes, kind, caller);
}

[[gnu::always_inline]] inline void saw(const volatile void* address, std::size_t bytes) {
  if (const AccessHooks* set = hooks.load(std::memory_order_acquire)) [[unlikely]]
    set->saw(const_cast<const void*>(address), bytes);
}

// As access_hooks.hpp says.
template <typename Hook, typename... Arguments>
[[gnu::always_inline]] inline void call_hook(Hook AccessHooks::*hook, Arguments... arguments) {
  if (const AccessHooks* set = hooks.load(std::memory_order_acquire)) [[unlikely]]
    (set->*hook)(arguments...);
}
inline void release(const void* object) { call_hook(&AccessHooks::release, object); }
inline void acquire(const void* object) { call_hook(&AccessHooks::acquire, object); }
// Acquires the object at the end of its life: after the function that a wrapper returns from.
struct AcquireAfter {
  ~AcquireAfter() { acquire(object); }
  const void* object;
};
inline void change_parallel(int change) { call_hook(&AccessHooks::change_parallel, change); }

// Threads that have begun until now no longer count, and their joins are not reported.
void forget_counted_threads();

// While this lives, the thread that has made it works as a strand of its own (begin_strand).
class Strand {
 public:
  Strand(const void* begin, const void* end, const void* frame) : end_(end) {
    call_hook(&AccessHooks::begin_strand, begin, frame);
  }
  ~Strand() { call_hook(&AccessHooks::end_strand, end_); }
  Strand(const Strand&) = delete;
  Strand& operator=(const Strand&) = delete;

 private:
  const void* end_;
};

}  // namespace meshmem::accesses

// Define wrappers of functions that order the program's threads. WRAP_x(result, name, parameters,
// arguments, object): the wrapper releases the object before the function, acquires it after the
// function, or does both.
#define WRAP_ACQUIRE(R, name, params, args, object)         \
  VISIBLE R __wrap_##name params {                          \
    const meshmem::accesses::AcquireAfter acquires{object}; \
    return name args;                                       \
  }
#define WRAP_RELEASE(R, name, params, args, object) \
  VISIBLE R __wrap_##name params {                  \
    meshmem::accesses::release(object);             \
    return name args;                               \
  }
#define WRAP_BOTH(R, name, params, args, object)            \
  VISIBLE R __wrap_##name params {                          \
    meshmem::accesses::release(object);                     \
    const meshmem::accesses::AcquireAfter acquires{object}; \
    return name args;                                       \
  }

#endif  // MESHMEM_TOOLS_ACCESSES_HOOKS_HPP_
