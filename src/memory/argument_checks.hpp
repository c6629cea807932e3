// SPDX-License-Identifier: Apache-2.0
//
// Checks arguments: whether a count of elements is possible, the word of an atomic is aligned, and
// the buffers of a collective are symmetric to their ends.
// Invariant: each check is one comparison if all is right; otherwise the job ends with a line.
// Called by the API and the collectives. Puts and gets check the segment when they translate the
// address.
#ifndef MESHMEM_MEMORY_ARGUMENT_CHECKS_HPP_
#define MESHMEM_MEMORY_ARGUMENT_CHECKS_HPP_

#include <cstddef>
#include <cstdint>

#include "memory/address_map.hpp"

namespace meshmem {

[[noreturn, gnu::cold, gnu::noinline]] void refuse_count(const char* routine, std::size_t count,
                                                         std::size_t elem_bytes);

// `name`: the standard's name for the stride.
[[noreturn, gnu::cold, gnu::noinline]] void refuse_stride(const char* routine, const char* name,
                                                          std::ptrdiff_t stride, std::size_t count);

// The bytes of `count` elements. Refuses a count that was negative before it became a size_t, or
// whose bytes are more than any memory has.
[[gnu::always_inline]] inline std::size_t bytes_of(const char* routine, std::size_t count,
                                                   std::size_t elem_bytes) {
  std::ptrdiff_t bytes = 0;
  if (__builtin_mul_overflow(count, elem_bytes, &bytes)) [[unlikely]]
    refuse_count(routine, count, elem_bytes);
  return static_cast<std::size_t>(bytes);
}

// Refuses the word of an atomic, signal, wait or lock unless its address is a multiple of its
// bytes. An atomic across two cache lines is slow, and Linux may end the process for it.
[[noreturn, gnu::cold, gnu::noinline]] void refuse_unaligned(const char* routine,
                                                             const void* address,
                                                             std::size_t bytes);
[[gnu::always_inline]] inline void check_alignment(const char* routine, const void* address,
                                                   std::size_t bytes) {
  if (reinterpret_cast<std::uintptr_t>(address) % bytes != 0) [[unlikely]]
    refuse_unaligned(routine, address, bytes);
}

// Refuses a buffer of a collective unless its `bytes` bytes are symmetric; 0 bytes may be anywhere.
// The rule is the same for all algorithms, also for those that could use any memory. `argument`:
// the standard's name for the buffer.
[[gnu::cold, gnu::noinline]] void check_rare(const char* routine, const char* argument,
                                             const void* address, std::size_t bytes);
[[gnu::always_inline]] inline void check_room(const char* routine, const char* argument,
                                              const void* address, std::size_t bytes) {
  if (bytes != 0 && !is_in_segment(direct_map, address, bytes)) [[unlikely]]
    check_rare(routine, argument, address, bytes);
}
// The same for a buffer that this PE does not touch: checks only its first byte.
inline void check_untouched(const char* routine, const char* argument, const void* address,
                            std::size_t bytes) {
  if (bytes != 0 && !is_symmetric(address_map, address, 1)) [[unlikely]]
    refuse_address(address_map, address, 1, routine, argument);
}

// Makes direct_map from address_map. Under MESHMEM_CHECK start-up passes the heaps whose blocks are
// to be checked. Then direct_map lacks the host heap, so that the slow paths check its addresses.
// With nullptr direct_map is the same as address_map.
class SymmetricHeap;
void watch_blocks(SymmetricHeap* host_heap, SymmetricHeap* device_heap);
// Checks that bytes in a watched heap lie within one allocated block. Other memory is not checked.
void check_block(const char* routine, const void* address, std::size_t bytes);

// Called when direct_map does not hold the address. Calls check_block(), and returns where PE
// `pe`'s copy is mapped here. kFar if blocks are not watched, or the bytes are not in a mapped
// segment.
[[gnu::cold, gnu::noinline]] std::byte* find_in_block(const char* routine, const void* address,
                                                      std::size_t bytes, int pe);

}  // namespace meshmem

#endif  // MESHMEM_MEMORY_ARGUMENT_CHECKS_HPP_
