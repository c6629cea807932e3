// SPDX-License-Identifier: Apache-2.0
//
// The verbs of memory.hpp on AMD GPUs, by builtins whose memory model the compiler knows.
// Invariant: system scope everywhere; no assembly, nothing volatile or non-temporal (neither makes
// memory coherent). Included by memory.hpp.
#ifndef MESHMEM_DEVICE_MEMORY_HIP_HPP_
#define MESHMEM_DEVICE_MEMORY_HIP_HPP_

namespace meshmem {
namespace device {

template <typename T>
MESHMEM_DEVICE T load_relaxed(const T* from) {
  return __hip_atomic_load(from, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
}
template <typename T>
MESHMEM_DEVICE void store_relaxed(T* to, T value) {
  __hip_atomic_store(to, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
}

MESHMEM_DEVICE Bits128 load_pair(const Bits128* from) {
  return {{load_relaxed(&from->word[0]), load_relaxed(&from->word[1])}};
}
MESHMEM_DEVICE void store_pair(Bits128* to, Bits128 value) {
  store_relaxed(&to->word[0], value.word[0]);
  store_relaxed(&to->word[1], value.word[1]);
}

// A release fence writes the caches back and waits until that is done. Clang 19 leaves out this
// wait in two cases where it is needed. On GFX9: if the thread's own stores have arrived, even if
// only in caches. On other GPUs, which write through: in a loop whose stores follow the fence,
// although they precede the fence of the next turn. A wave barrier makes no instruction, but clang
// keeps the waits before it.
MESHMEM_DEVICE void await_write_back() {
#if defined(__GFX9__)
  __builtin_amdgcn_s_waitcnt(0);
#else
  __builtin_amdgcn_wave_barrier();
#endif
}
MESHMEM_DEVICE void release_fence() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "");
  await_write_back();
}
MESHMEM_DEVICE void acquire_fence() { __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, ""); }

// A load after it must not read an older value than that of a store before it. So all stores have
// arrived before the caches are invalidated. A single fence for both has no place for
// await_write_back() in between.
MESHMEM_DEVICE void full_fence() {
  release_fence();
  acquire_fence();
}
MESHMEM_DEVICE void pause() { __builtin_amdgcn_s_sleep(1); }

MESHMEM_DEVICE bool host_reaches(const void* address) {
  const auto* flat = (const __attribute__((address_space(0))) void*)address;
  return !__builtin_amdgcn_is_shared(flat) && !__builtin_amdgcn_is_private(flat);
}

// A get must not read a cache's older value, so it acquires first. And its loads are no plain ones:
// a plain load of one address by all threads may go through the scalar cache, which a fence does
// not invalidate.
MESHMEM_DEVICE void before_get() { acquire_fence(); }
template <typename T>
MESHMEM_DEVICE T load_of_get(const T* from) {
  return load_relaxed(from);
}
MESHMEM_DEVICE Bits128 load_of_get(const Bits128* from) { return load_pair(from); }

// PCIe carries only integer add, swap and compare-and-swap.
template <typename T>
MESHMEM_DEVICE T fetch_add(T* at, T value) {
  return __hip_atomic_fetch_add(at, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
}
template <typename T>
MESHMEM_DEVICE T exchange(T* at, T value) {
  return __hip_atomic_exchange(at, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
}
template <typename T>
MESHMEM_DEVICE T compare_exchange(T* at, T expected, T desired) {
  __hip_atomic_compare_exchange_strong(at, &expected, desired, __ATOMIC_RELAXED, __ATOMIC_RELAXED,
                                       __HIP_MEMORY_SCOPE_SYSTEM);
  return expected;
}

MESHMEM_DEVICE void raise_to(std::uint64_t* at, std::uint64_t value) {
  std::uint64_t old = load_relaxed(at);
  while (old < value) {
    const std::uint64_t found = compare_exchange(at, old, value);
    if (found == old) return;
    old = found;
  }
}

[[noreturn]] MESHMEM_DEVICE void trap() { __builtin_trap(); }

}  // namespace device
}  // namespace meshmem

#endif  // MESHMEM_DEVICE_MEMORY_HIP_HPP_
