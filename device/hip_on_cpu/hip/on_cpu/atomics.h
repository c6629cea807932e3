// SPDX-License-Identifier: Apache-2.0
// HIP's atomics and fences. As on a GPU, an atomic orders only accesses to its own word. Fences
// order accesses to other memory.
// Invariant: an atomic takes the types that HIP takes (integers of 32 and 64 bits; float and double
// for add and exchange). Others do not compile. Included by hip_runtime.h only.
#pragma once

#include <type_traits>

#include "hip/hip_runtime_api.h"

#if defined(__SANITIZE_THREAD__)
#define HIP_ON_CPU_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define HIP_ON_CPU_TSAN 1
#endif
#endif

namespace hip_on_cpu {

template <typename T>
inline constexpr bool is_word = std::is_integral<T>::value && !std::is_same<T, bool>::value &&
                                (sizeof(T) == 4 || sizeof(T) == 8);
template <typename T>
using Word = std::enable_if_t<is_word<T>, T>;
template <typename T>
using WordOrReal =
    std::enable_if_t<is_word<T> || std::is_same<T, float>::value || std::is_same<T, double>::value,
                     T>;
template <typename T>
struct Exactly {  // keeps an argument out of the deduction of T
  using type = T;
};

// Replaces *address by next(its value) in one atomic step. Returns the old value.
template <typename T, typename Next>
inline T atomic_update(T* address, Next next) {
  T old, desired;
  __atomic_load(address, &old, __ATOMIC_RELAXED);
  do {
    desired = next(old);
  } while (!__atomic_compare_exchange(address, &old, &desired, true, __ATOMIC_RELAXED,
                                      __ATOMIC_RELAXED));
  return old;
}

#ifdef HIP_ON_CPU_TSAN
// ThreadSanitizer does not understand fences. So here a fence is an atomic add to one common word,
// which orders all threads that do it.
__attribute__((visibility("default"))) inline unsigned fence_word;
inline void fence() { __atomic_fetch_add(&fence_word, 1u, __ATOMIC_SEQ_CST); }
#else
inline void fence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
#endif

}  // namespace hip_on_cpu

// Defines the atomic `name`, and the same as name##_system. Constraint: Word or WordOrReal. The
// rest is its body, which uses (T* address, T value).
#define HIP_ON_CPU_ATOMIC(name, Constraint, ...)                                                   \
  template <typename T>                                                                            \
  inline hip_on_cpu::Constraint<T> name(T* address, typename hip_on_cpu::Exactly<T>::type value) { \
    __VA_ARGS__                                                                                    \
  }                                                                                                \
  template <typename T>                                                                            \
  inline hip_on_cpu::Constraint<T> name##_system(T* address,                                       \
                                                 typename hip_on_cpu::Exactly<T>::type value) {    \
    return name(address, value);                                                                   \
  }

HIP_ON_CPU_ATOMIC(atomicAdd, WordOrReal, {
  if constexpr (std::is_integral<T>::value) {
    return __atomic_fetch_add(address, value, __ATOMIC_RELAXED);
  } else {
    return hip_on_cpu::atomic_update(address, [value](T old) { return old + value; });
  }
})
HIP_ON_CPU_ATOMIC(atomicExch, WordOrReal, {
  T old;
  __atomic_exchange(address, &value, &old, __ATOMIC_RELAXED);
  return old;
})
HIP_ON_CPU_ATOMIC(atomicSub, Word, { return __atomic_fetch_sub(address, value, __ATOMIC_RELAXED); })
HIP_ON_CPU_ATOMIC(atomicAnd, Word, { return __atomic_fetch_and(address, value, __ATOMIC_RELAXED); })
HIP_ON_CPU_ATOMIC(atomicOr, Word, { return __atomic_fetch_or(address, value, __ATOMIC_RELAXED); })
HIP_ON_CPU_ATOMIC(atomicXor, Word, { return __atomic_fetch_xor(address, value, __ATOMIC_RELAXED); })
HIP_ON_CPU_ATOMIC(atomicMin, Word, {
  return hip_on_cpu::atomic_update(address, [value](T old) { return value < old ? value : old; });
})
HIP_ON_CPU_ATOMIC(atomicMax, Word, {
  return hip_on_cpu::atomic_update(address, [value](T old) { return value > old ? value : old; });
})
#undef HIP_ON_CPU_ATOMIC

// atomicInc adds 1 and wraps from `most` to 0. atomicDec subtracts 1 and wraps from 0 to `most`.
inline unsigned atomicInc(unsigned* address, unsigned most) {
  return hip_on_cpu::atomic_update(address,
                                   [most](unsigned old) { return old >= most ? 0 : old + 1; });
}
inline unsigned atomicDec(unsigned* address, unsigned most) {
  return hip_on_cpu::atomic_update(
      address, [most](unsigned old) { return old == 0 || old > most ? most : old - 1; });
}

template <typename T>
inline hip_on_cpu::Word<T> atomicCAS(T* address, typename hip_on_cpu::Exactly<T>::type expected,
                                     typename hip_on_cpu::Exactly<T>::type desired) {
  __atomic_compare_exchange(address, &expected, &desired, false, __ATOMIC_RELAXED,
                            __ATOMIC_RELAXED);
  return expected;
}
template <typename T>
inline hip_on_cpu::Word<T> atomicCAS_system(T* address,
                                            typename hip_on_cpu::Exactly<T>::type expected,
                                            typename hip_on_cpu::Exactly<T>::type desired) {
  return atomicCAS(address, expected, desired);
}

inline void __threadfence_block() { hip_on_cpu::fence(); }
inline void __threadfence() { hip_on_cpu::fence(); }
inline void __threadfence_system() { hip_on_cpu::fence(); }
