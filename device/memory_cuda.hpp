// SPDX-License-Identifier: Apache-2.0
//
// The verbs of memory.hpp on NVIDIA GPUs (compute capability 7.0 and later), in PTX of its memory
// model.
// Invariant: system scope everywhere. Fences are cumulative, and so are barriers of the block. One
// fence, by the thread that stores or has polled the flag, speaks for all threads that synchronized
// with it. Included by memory.hpp.
#ifndef MESHMEM_DEVICE_MEMORY_CUDA_HPP_
#define MESHMEM_DEVICE_MEMORY_CUDA_HPP_

namespace meshmem {
namespace device {

// All that PEs share is global memory.
template <typename T>
MESHMEM_DEVICE std::size_t global(const T* address) {
  return __cvta_generic_to_global(address);
}

// A load and a store of Type: its name in PTX, and the register that it moves through.
#define MESHMEM_ACCESS_BITS(Type, ptx, Register, letter)                      \
  MESHMEM_DEVICE Type load_bits(const Type* from) {                           \
    Register value;                                                           \
    asm volatile("ld.relaxed.sys.global." ptx " %0, [%1];"                    \
                 : "=" letter(value)                                          \
                 : "l"(global(from))                                          \
                 : "memory");                                                 \
    return static_cast<Type>(value);                                          \
  }                                                                           \
  MESHMEM_DEVICE void store_bits(Type* to, Type value) {                      \
    asm volatile("st.relaxed.sys.global." ptx " [%0], %1;" ::"l"(global(to)), \
                 letter(static_cast<Register>(value))                         \
                 : "memory");                                                 \
  }
MESHMEM_ACCESS_BITS(std::uint8_t, "u8", std::uint32_t, "r")
MESHMEM_ACCESS_BITS(std::uint16_t, "u16", std::uint16_t, "h")
MESHMEM_ACCESS_BITS(std::uint32_t, "u32", std::uint32_t, "r")
MESHMEM_ACCESS_BITS(std::uint64_t, "u64", std::uint64_t, "l")
#undef MESHMEM_ACCESS_BITS
MESHMEM_DEVICE Bits128 load_bits(const Bits128* from) {
  Bits128 value;
  asm volatile("ld.relaxed.sys.global.v2.u64 {%0, %1}, [%2];"
               : "=l"(value.word[0]), "=l"(value.word[1])
               : "l"(global(from))
               : "memory");
  return value;
}
MESHMEM_DEVICE void store_bits(Bits128* to, Bits128 value) {
  asm volatile("st.relaxed.sys.global.v2.u64 [%0], {%1, %2};" ::"l"(global(to)), "l"(value.word[0]),
               "l"(value.word[1])
               : "memory");
}

template <typename T>
MESHMEM_DEVICE T load_relaxed(const T* from) {
  return bit_cast<T>(load_bits(reinterpret_cast<const Bits<sizeof(T)>*>(from)));
}
template <typename T>
MESHMEM_DEVICE void store_relaxed(T* to, T value) {
  store_bits(reinterpret_cast<Bits<sizeof(T)>*>(to), bit_cast<Bits<sizeof(T)>>(value));
}

// Adds in the assembly. Otherwise ptxas would add before an earlier fence, which would then wait
// for `last` too.
MESHMEM_DEVICE void store_next(std::uint64_t* to, std::uint64_t last) {
  asm volatile("{.reg .u64 next; add.u64 next, %1, 1; st.relaxed.sys.global.u64 [%0], next;}" ::"l"(
                   global(to)),
               "l"(last)
               : "memory");
}

MESHMEM_DEVICE Bits128 load_pair(const Bits128* from) { return load_bits(from); }
MESHMEM_DEVICE void store_pair(Bits128* to, Bits128 value) { store_bits(to, value); }

// One-way fences, where compiler and GPU have them: a release then leaves the first-level cache
// alone, and an acquire does not wait for this thread's own stores on their way.
#if __CUDACC_VER_MAJOR__ * 100 + __CUDACC_VER_MINOR__ >= 1208 && \
    (!defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900)
MESHMEM_DEVICE void release_fence() { asm volatile("fence.release.sys;" ::: "memory"); }
MESHMEM_DEVICE void acquire_fence() { asm volatile("fence.acquire.sys;" ::: "memory"); }
#else
MESHMEM_DEVICE void release_fence() { asm volatile("fence.acq_rel.sys;" ::: "memory"); }
MESHMEM_DEVICE void acquire_fence() { asm volatile("fence.acq_rel.sys;" ::: "memory"); }
#endif

constexpr bool kEachFences = false;

template <typename Group>
MESHMEM_DEVICE void release_all(const Group& group) {
  group.sync();
}
MESHMEM_DEVICE void release_mine() { release_fence(); }
MESHMEM_DEVICE void acquire_mine() { acquire_fence(); }
template <typename Group>
MESHMEM_DEVICE void acquire_all(const Group& group) {
  group.sync();
}
template <typename Group, typename T>
MESHMEM_DEVICE T acquire_shared(const Group& group, T value) {
  return group.share(value);
}

// Only the leader fences. Fences are cumulative, so between two barriers of the group this one
// waits for the stores of all threads, and each thread goes on only after it. Sequentially
// consistent: a load after a quiet must not be older than a store before it.
// PTX promises that to any thread that sees a flag that the leader stores. Another thread that
// stores a flag has executed no fence, so formally its flag releases nothing to a third PE. In fact
// the flag comes after the data, which has arrived by then. A program that needs the formal promise
// calls shmem_fence in that thread.
template <typename Group>
MESHMEM_DEVICE void complete_all(const Group& group) {
  group.sync();
  if (group.rank() == 0) asm volatile("fence.sc.sys;" ::: "memory");
  group.sync();
}

MESHMEM_DEVICE void pause() {}

MESHMEM_DEVICE bool host_reaches(const void* address) { return __isGlobal(address) != 0; }

// The first-level cache is not coherent; a relaxed load of system scope passes it by.
MESHMEM_DEVICE void before_get() {}
template <typename T>
MESHMEM_DEVICE T load_of_get(const T* from) {
  return load_bits(from);
}

// The type by which CUDA's atomics know a word of 4 or 8 bytes.
template <typename T>
using AtomicWord = std::conditional_t<sizeof(T) == 8, unsigned long long, unsigned>;

template <typename T>
MESHMEM_DEVICE T fetch_add(T* at, T value) {
  return atomicAdd_system(reinterpret_cast<AtomicWord<T>*>(at), AtomicWord<T>{value});
}
template <typename T>
MESHMEM_DEVICE T exchange(T* at, T value) {
  return atomicExch_system(reinterpret_cast<AtomicWord<T>*>(at), AtomicWord<T>{value});
}
template <typename T>
MESHMEM_DEVICE T compare_exchange(T* at, T expected, T desired) {
  return atomicCAS_system(reinterpret_cast<AtomicWord<T>*>(at), AtomicWord<T>{expected},
                          AtomicWord<T>{desired});
}

MESHMEM_DEVICE void raise_to(std::uint64_t* at, std::uint64_t value) {
  asm volatile("red.relaxed.gpu.global.max.u64 [%0], %1;" ::"l"(__cvta_generic_to_global(at)),
               "l"(value)
               : "memory");
}

[[noreturn]] MESHMEM_DEVICE void trap() {
  __trap();
  __builtin_unreachable();
}

}  // namespace device
}  // namespace meshmem

#endif  // MESHMEM_DEVICE_MEMORY_CUDA_HPP_
