// SPDX-License-Identifier: Apache-2.0
//
// Ordered access to memory that other PEs see: the verbs that all device code is written in.
// Invariant: a thread that publishes releases before it stores the flag; a thread that uses the
// data acquires after it has polled the flag. On AMD every thread of a group does so itself, since
// a wave can neither write back nor invalidate for another. On NVIDIA the barrier of the group
// passes the others' stores on, so the threads that store or poll the flags fence for all.
#ifndef MESHMEM_DEVICE_MEMORY_HPP_
#define MESHMEM_DEVICE_MEMORY_HPP_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "device/target.hpp"

//   load_relaxed, store_relaxed   one access, single-copy atomic, system scope, no order
//   load_pair, store_pair         the same for two words of 8 bytes side by side, in one access
//                                 where the target has one; each word for itself is single-copy
//                                 atomic
//   store_next                    store_relaxed of the number after `last`, which may still be on
//                                 its way from memory: what comes before does not wait for it
//   raise_to                      a word of this device's memory becomes at least so much. On
//                                 NVIDIA GPUs nobody waits for that
//   release_all, release_mine     before a flag is stored; see below
//   acquire_mine, acquire_all     after a flag was polled; acquire_shared hands on a value as well
//   complete_all                  quiet: all that the group has stored has arrived, and any of its
//                                 threads may say so
//   pause                         between two polls
//   pause_for, has_waited         the same by one who tells, by find(), the address that it waits
//                                 for; and after the last. Only processors ask for it
//   host_reaches                  whether the address is one that the host knows as well, so no
//                                 shared memory and no stack
//   load_plain, store_plain       of memory that the user has declared as what he likes: one
//                                 access, which no compiler takes to be of another object than his
//                                 own of float
//
// To publish what a group of threads has stored:   To use what a flag announced:
//   release_all(group);                              one or a few: poll by load_relaxed until it is
//   one or a few: release_mine(); store the flags      there; acquire_mine()
//                                                    acquire_all(group);
//
// kEachFences says which of the two the target needs: release_all and acquire_all fence, in every
// thread; or release_mine and acquire_mine do, once by the threads that store the flags and once by
// those that poll them.

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

// Compilers take an access to it for an access to a value of whatever type is there.
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

template <typename Find>
MESHMEM_DEVICE void pause_for(const Find&) {
  pause();
}
MESHMEM_DEVICE void has_waited() {}

}  // namespace device
}  // namespace meshmem
#endif

#endif  // MESHMEM_DEVICE_MEMORY_HPP_
