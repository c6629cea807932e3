// SPDX-License-Identifier: Apache-2.0
//
// The verbs of memory.hpp where a kernel's blocks are threads of the process.
// Invariant: the order of the steps is that of AMD GPUs, so that this target shows the mistakes
// that matter there. ThreadSanitizer knows no fences; under it the flags themselves release and
// acquire, which still shows every access that no flag orders. Included by memory.hpp.
#ifndef MESHMEM_DEVICE_MEMORY_CPU_HPP_
#define MESHMEM_DEVICE_MEMORY_CPU_HPP_

#include <cstdio>
#include <cstdlib>

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define MESHMEM_UNDER_TSAN 1
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define MESHMEM_UNDER_TSAN 1
#endif

namespace meshmem {
namespace device {

#ifdef MESHMEM_UNDER_TSAN
constexpr int kLoadOrder = __ATOMIC_ACQUIRE, kStoreOrder = __ATOMIC_RELEASE,
              kBothOrders = __ATOMIC_ACQ_REL;
inline void thread_fence(int) {}
#else
constexpr int kLoadOrder = __ATOMIC_RELAXED, kStoreOrder = __ATOMIC_RELAXED,
              kBothOrders = __ATOMIC_RELAXED;
inline void thread_fence(int order) { __atomic_thread_fence(order); }
#endif

template <typename T>
inline T load_relaxed(const T* from) {
  T value;
  __atomic_load(from, &value, kLoadOrder);
  return value;
}
template <typename T>
inline void store_relaxed(T* to, T value) {
  __atomic_store(to, &value, kStoreOrder);
}

inline Bits128 load_pair(const Bits128* from) {
  return {{load_relaxed(&from->word[0]), load_relaxed(&from->word[1])}};
}
inline void store_pair(Bits128* to, Bits128 value) {
  store_relaxed(&to->word[0], value.word[0]);
  store_relaxed(&to->word[1], value.word[1]);
}

inline void release_fence() { thread_fence(__ATOMIC_RELEASE); }
inline void acquire_fence() { thread_fence(__ATOMIC_ACQUIRE); }
inline void full_fence() { thread_fence(__ATOMIC_SEQ_CST); }
inline void pause() { hip_on_cpu::yield(); }
template <typename Find>
inline void pause_for(const Find& find) {
  hip_on_cpu::yield_for(find());
}
inline void has_waited() { hip_on_cpu::has_waited(); }

inline bool host_reaches(const void*) { return true; }

inline void before_get() { acquire_fence(); }
template <typename T>
inline T load_of_get(const T* from) {
  return load_plain(from);
}

template <typename T>
inline T fetch_add(T* at, T value) {
  return __atomic_fetch_add(at, value, kBothOrders);
}
template <typename T>
inline T exchange(T* at, T value) {
  return __atomic_exchange_n(at, value, kBothOrders);
}
template <typename T>
inline T compare_exchange(T* at, T expected, T desired) {
  __atomic_compare_exchange_n(at, &expected, desired, false, kBothOrders, kLoadOrder);
  return expected;
}

inline void raise_to(std::uint64_t* at, std::uint64_t value) {
  std::uint64_t old = load_relaxed(at);
  while (old < value &&
         !__atomic_compare_exchange_n(at, &old, value, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
  }
}

[[noreturn]] MESHMEM_DEVICE void trap() {
#if !MESHMEM_KERNEL_CHECKS
  static bool has_said = false;
  if (!__atomic_exchange_n(&has_said, true, __ATOMIC_RELAXED))
    std::fputs(
        "meshmem: a kernel called the library with a mistake; compile it with oshhip --check to be "
        "told which\n",
        stderr);
#endif
  std::fflush(stdout);  // the kernel's output
  std::abort();
}

}  // namespace device
}  // namespace meshmem

#endif  // MESHMEM_DEVICE_MEMORY_CPU_HPP_
