// SPDX-License-Identifier: Apache-2.0
//
// The functions that compilers call in place of the atomics of C and C++ in a program that they
// instrument for ThreadSanitizer.
// Invariant: each does what the atomic does, sequentially consistent whatever order is asked for.
// Called by programs that were built by `oshcc --races`.
#include "tools/accesses/hooks.hpp"

namespace meshmem::accesses {
namespace {

__extension__ using Int128 = unsigned __int128;

// Compilers leave atomics of 16 bytes to a library, but for this one.
template <typename T>
T compare_exchange(volatile T* at, T expected, T desired) {
  return __sync_val_compare_and_swap(at, expected, desired);
}

template <typename T>
T load(const volatile T* at) {
  if constexpr (sizeof(T) <= sizeof(std::uint64_t)) {
    return __atomic_load_n(at, __ATOMIC_SEQ_CST);
  } else {
    return compare_exchange(const_cast<volatile T*>(at), T{0}, T{0});
  }
}

template <typename T, typename Change>
T update(volatile T* at, Change change) {
  T old = load(at);
  for (;;) {
    const T found = compare_exchange(at, old, static_cast<T>(change(old)));
    if (found == old) return old;
    old = found;
  }
}

template <typename T>
T load_noted(const volatile T* at) {
  const T value = load(at);
  saw(at, sizeof(T));
  return value;
}

template <typename T, typename Change>
T update_noted(volatile T* at, const void* caller, Change change) {
  note(at, sizeof(T), AccessKind::atomic_store, caller);
  const T old = update(at, change);
  saw(at, sizeof(T));
  return old;
}

// Where the first look finds another value than is expected, that is the result: such an operation
// only loads.
template <typename T>
T compare_exchange_noted(volatile T* at, T expected, T desired, const void* caller) {
  T old = load(at);
  if (old == expected) {
    note(at, sizeof(T), AccessKind::atomic_store, caller);
    old = compare_exchange(at, expected, desired);
  }
  saw(at, sizeof(T));
  return old;
}

template <typename T>
int try_exchange(volatile T* at, T* expected, T desired, const void* caller) {
  const T old = compare_exchange_noted(at, *expected, desired, caller);
  if (old == *expected) return 1;
  *expected = old;
  return 0;
}

}  // namespace
}  // namespace meshmem::accesses

using namespace meshmem::accesses;

#define FETCH(bits, T, op, change)                                                       \
  VISIBLE T __tsan_atomic##bits##_##op(volatile T* at, T value, int) {                   \
    return update_noted(at, CALLER, [value]([[maybe_unused]] T old) { return change; }); \
  }
#define ATOMICS(bits, T)                                                                           \
  VISIBLE T __tsan_atomic##bits##_load(const volatile T* at, int) { return load_noted(at); }       \
  VISIBLE void __tsan_atomic##bits##_store(volatile T* at, T value, int) {                         \
    note(at, sizeof(T), meshmem::AccessKind::atomic_store, CALLER);                                \
    update(at, [value](T) { return value; });                                                      \
  }                                                                                                \
  FETCH(bits, T, exchange, value)                                                                  \
  FETCH(bits, T, fetch_add, old + value)                                                           \
  FETCH(bits, T, fetch_sub, old - value)                                                           \
  FETCH(bits, T, fetch_and, old& value)                                                            \
  FETCH(bits, T, fetch_or, old | value)                                                            \
  FETCH(bits, T, fetch_xor, old ^ value)                                                           \
  FETCH(bits, T, fetch_nand, ~(old & value))                                                       \
  VISIBLE int __tsan_atomic##bits##_compare_exchange_strong(volatile T* at, T* expected,           \
                                                            T desired, int, int) {                 \
    return try_exchange(at, expected, desired, CALLER);                                            \
  }                                                                                                \
  VISIBLE int __tsan_atomic##bits##_compare_exchange_weak(volatile T* at, T* expected, T desired,  \
                                                          int, int) {                              \
    return try_exchange(at, expected, desired, CALLER);                                            \
  }                                                                                                \
  VISIBLE T __tsan_atomic##bits##_compare_exchange_val(volatile T* at, T expected, T desired, int, \
                                                       int) {                                      \
    return compare_exchange_noted(at, expected, desired, CALLER);                                  \
  }
ATOMICS(8, std::uint8_t)
ATOMICS(16, std::uint16_t)
ATOMICS(32, std::uint32_t)
ATOMICS(64, std::uint64_t)
ATOMICS(128, Int128)
#undef ATOMICS
#undef FETCH

VISIBLE void __tsan_atomic_thread_fence(int) { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
VISIBLE void __tsan_atomic_signal_fence(int) { __atomic_signal_fence(__ATOMIC_SEQ_CST); }
