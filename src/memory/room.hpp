// SPDX-License-Identifier: Apache-2.0
//
// Whether what a caller asks for can be: a number of elements has a number of bytes, and these lie
// within one symmetric segment.
// Invariant: one comparison where all is right; what is wrong ends the job with a line. Called by
// the API and the collectives; puts and gets make the second comparison where they translate.
#ifndef MESHMEM_MEMORY_ROOM_HPP_
#define MESHMEM_MEMORY_ROOM_HPP_

#include <cstddef>

#include "base/trace.hpp"
#include "memory/address_map.hpp"

namespace meshmem {

[[noreturn, gnu::cold, gnu::noinline]] void refuse_count(const char* routine, std::size_t count,
                                                         std::size_t elem_bytes);

// `name`: what the standard calls the stride.
[[noreturn, gnu::cold, gnu::noinline]] void refuse_stride(const char* routine, const char* name,
                                                          std::ptrdiff_t stride, std::size_t count);

// Bytes of `count` elements: of no count that was negative, or whose bytes are more than there are.
[[gnu::always_inline]] inline std::size_t bytes_of(const char* routine, std::size_t count,
                                                   std::size_t elem_bytes) {
  std::ptrdiff_t bytes = 0;
  if (__builtin_mul_overflow(count, elem_bytes, &bytes)) [[unlikely]]
    refuse_count(routine, count, elem_bytes);
  return static_cast<std::size_t>(bytes);
}

// The bytes of a buffer of a collective, which may be 0. Of memory that is not symmetric nothing is
// known: MESHMEM_CHECK refuses it, else it is left to whoever needs a peer's copy of it.
[[gnu::cold, gnu::noinline]] void check_rare(const char* routine, const void* address,
                                             std::size_t bytes);
[[gnu::always_inline]] inline void check_room(const char* routine, const void* address,
                                              std::size_t bytes) {
  note_access(AccessKind::collective, address, bytes, address_map.my_pe);
  if (bytes != 0 && !is_in_segment(direct_map, address, bytes)) [[unlikely]]
    check_rare(routine, address, bytes);
}

// Under MESHMEM_CHECK: that bytes in a symmetric heap lie within one block that is allocated. Of
// other memory nothing is known. Makes direct_map of address_map: without the heap if there are
// blocks to look at. nullptr, as without the check: nobody looks.
class SymmetricHeap;
void watch_blocks(SymmetricHeap* host_heap, SymmetricHeap* device_heap);
void check_block(const char* routine, const void* address, std::size_t bytes);

// For those whom direct_map has sent away: where the bytes are in PE `pe` if they are in such a
// block of the host heap; not is_mapped() where that is not looked at, or they are not in the heap.
[[gnu::cold, gnu::noinline]] std::byte* find_in_block(const char* routine, const void* address,
                                                      std::size_t bytes, int pe);

}  // namespace meshmem

#endif  // MESHMEM_MEMORY_ROOM_HPP_
