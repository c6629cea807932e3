// SPDX-License-Identifier: Apache-2.0
//
// Requests for symmetric memory (OpenSHMEM 1.6, section 9.3), which all PEs make alike.
// Invariant: the same memory is free on all PEs, so an allocation fails on all PEs or on none.
// Calls have the barriers of the standard, but no barrier if they request nothing. Called by
// api/memory.cpp while the library is active.
#ifndef MESHMEM_LIBRARY_ALLOCATION_HPP_
#define MESHMEM_LIBRARY_ALLOCATION_HPP_

#include <cstddef>

#include "memory/allocator.hpp"

namespace meshmem {

// Returns nullptr for 0 bytes, and if no free block is large enough. `hints`: SHMEMX_MALLOC_*.
void* allocate(std::size_t bytes, std::size_t alignment, long hints, const char* routine);
// The same for `count` times `size` bytes, all set to 0, with default hints.
void* allocate_cleared(std::size_t count, std::size_t size, const char* routine);
// Does nothing for nullptr.
void release(void* block, const char* routine);
// Moves the block if it cannot grow in place. If there is no room, returns nullptr and leaves the
// block as it is. Without a block it allocates; 0 bytes release the block.
void* resize(void* block, std::size_t bytes, const char* routine);

}  // namespace meshmem

#endif  // MESHMEM_LIBRARY_ALLOCATION_HPP_
