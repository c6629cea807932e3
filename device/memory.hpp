// SPDX-License-Identifier: Apache-2.0
//
// Ordered access to memory that other PEs see: the verbs that all device code is written in.
// Invariant: a thread that publishes releases before it stores the flag; a thread that uses the
// data acquires after it has polled the flag. On AMD every thread of a group does so itself, since
// a wave can neither write back nor invalidate caches for another. On NVIDIA the barrier of the
// group passes the others' stores on, so the threads that store or poll the flags fence for all.
#ifndef MESHMEM_DEVICE_MEMORY_HPP_
#define MESHMEM_DEVICE_MEMORY_HPP_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "device/target.hpp"

//   load_relaxed, store_relaxed   one access, single-copy atomic, system scope, no order
//   load_pair, store_pair         the same for two words of 8 bytes side by side, in one access
//                                 where the target has one; each word by itself is single-copy
//                                 atomic
//   store_next                    store_relaxed of last + 1. `last` may still be under way from
//                                 memory: an earlier fence does not wait for it
//   raise_to                      raises a word of this device's memory to at least a value. On
//                                 NVIDIA GPUs the thread does not wait for that
//   release_all, release_mine     before a flag is stored; see below
//   acquire_mine, acquire_all     after a flag was polled; acquire_shared also shares a value
//   complete_all                  quiet: all that the group has stored has arrived when it returns,
//                                 and any of its threads may announce that
//   pause                         between two polls
//   pause_for, has_waited         pause with find(), which returns the address that the caller
//                                 waits for; has_waited is called after the last poll. The cpu
//                                 target shows such waits; checks on GPUs limit those of routines
//   host_reaches                  whether the host can use the address too: false for shared memory
//                                 and the stack
//   load_plain, store_plain       one ordinary access to memory whose declared type only the user
//                                 knows: the compiler assumes that it may alias any object
//
// To publish what a group of threads has stored:
//   release_all(group);
//   one thread or a few: release_mine(); store the flags
// To use what a flag announced:
//   one thread or a few: poll by load_relaxed until it is there; acquire_mine()
//   acquire_all(group);
//
// kEachFences says which of these fence. If true, release_all and acquire_all do, in every thread;
// else release_mine and acquire_mine do, in the threads that store or poll the flags.

namespace meshmem {
namespace device {

struct alignas(16) [[gnu::may_alias]] Bits128 {
  std::uint64_t word[2];
};
// The unsigned integer of a size, and 16 bytes as the widest piece of a copy.
template <std::size_t bytes>
using Bits = std::conditional_t<
    bytes == 16, Bits128,
    std::conditional_t<
        bytes == 8, std::uint64_t,
        std::conditional_t<bytes == 4, std::uint32_t,
                           std::conditional_t<bytes == 2, std::uint16_t, std::uint8_t>>>>;

template <typename To, typename From>
MESHMEM_DEVICE To bit_cast(From from) {
  static_assert(sizeof(To) == sizeof(From), "the same size");
  To to;
  memcpy(&to, &from, sizeof to);
  return to;
}

// An access to it may alias an object of any type.
template <typename T>
struct [[gnu::may_alias]] OfAnyType {
  T value;
};
template <typename T>
MESHMEM_DEVICE T load_plain(const T* from) {
  return reinterpret_cast<const OfAnyType<T>*>(from)->value;
}
template <typename T>
MESHMEM_DEVICE void store_plain(T* to, T value) {
  reinterpret_cast<OfAnyType<T>*>(to)->value = value;
}

}  // namespace device
}  // namespace meshmem

#if defined(MESHMEM_TARGET_IS_CUDA)
#include "device/memory_cuda.hpp"
#else
#if defined(MESHMEM_TARGET_IS_HIP)
#include "device/memory_hip.hpp"
#else
#include "device/memory_cpu.hpp"
#endif
#include "device/memory_each_fences.hpp"
#endif

#if !defined(MESHMEM_TARGET_IS_CPU)
namespace meshmem {
namespace device {

#if MESHMEM_KERNEL_CHECKS  // late_waits.hpp
template <typename Find>
MESHMEM_DEVICE void pause_for(const Find& find);
MESHMEM_DEVICE void has_waited();
#else
template <typename Find>
MESHMEM_DEVICE void pause_for(const Find&) {
  pause();
}
MESHMEM_DEVICE void has_waited() {}
#endif

}  // namespace device
}  // namespace meshmem
#endif

#endif  // MESHMEM_DEVICE_MEMORY_HPP_
