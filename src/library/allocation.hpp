// SPDX-License-Identifier: Apache-2.0
//
// Requests for symmetric memory (OpenSHMEM 1.6, section 9.3), which all PEs make alike.
// Invariant: what is free on one PE is free on all, so an allocation fails on all PEs or on none.
// Barriers are where the standard has them, and nowhere if nothing is asked for. Called by
// api/memory.cpp while the library is active.
#ifndef MESHMEM_LIBRARY_ALLOCATION_HPP_
#define MESHMEM_LIBRARY_ALLOCATION_HPP_

#include <cstddef>

#include "memory/allocator.hpp"

namespace meshmem {

// nullptr for 0 bytes, and for more than there are. `hints`: SHMEMX_MALLOC_*.
void* allocate(std::size_t bytes, std::size_t alignment, long hints, const char* routine);
// `count` times `size` bytes, all 0.
void* allocate_cleared(std::size_t count, std::size_t size, const char* routine);
// nullptr is left alone.
void release(void* block, const char* routine);
// A block that does not fit any more moves; it is left as it is where there is no room.
void* resize(void* block, std::size_t bytes, const char* routine);

}  // namespace meshmem

#endif  // MESHMEM_LIBRARY_ALLOCATION_HPP_
