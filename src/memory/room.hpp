// SPDX-License-Identifier: Apache-2.0
//
// Whether what a caller asks for can be: a number of elements has a number of bytes, and these lie
// within one symmetric segment.
// Invariant: one comparison where all is right; what is wrong ends the job with a line. Called by
// the API and the collectives; puts and gets make the second comparison where they translate.
#ifndef MESHMEM_MEMORY_ROOM_HPP_
#define MESHMEM_MEMORY_ROOM_HPP_

#include <cstddef>

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
void check_room(const char* routine, const void* address, std::size_t bytes);
void refuse_unsymmetric_buffers(bool refuse);  // what check_room does with them

}  // namespace meshmem

#endif  // MESHMEM_MEMORY_ROOM_HPP_
