// SPDX-License-Identifier: Apache-2.0
//
// Requests for symmetric memory (OpenSHMEM 1.6, section 9.3), which all PEs make alike.
// Invariant: the same memory is free on all PEs, so an allocation fails on all PEs or on none.
// Calls have the barriers of the standard, but no barrier if they request nothing. Called by
// api/memory.cpp while the library is active.
#ifndef MESHMEM_LIBRARY_ALLOCATION_HPP_
#define MESHMEM_LIBRARY_ALLOCATION_HPP_

#include <cstddef>
#include <string>

#include "core/team.hpp"
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

// ---- Buffers that the program allocated itself (buffer_registration.cpp)

// Make such a buffer symmetric, and end that. Collectives of the world. Both return 0, or 1 with
// the reason in a line of debug(). All PEs come to the same answer.
int register_buffer(Team& world, void* address, std::size_t bytes);
int unregister_buffer(Team& world, void* address);
// True if kernels of all PEs reach all bytes, so that a collective on a stream accepts the buffer.
bool is_reached_on_stream(const void* address, std::size_t bytes);

// ---- Saving symmetric memory to files (checkpoint.cpp)

// Collectives of the team. Both return 0, or 1 after one line of one PE that says why. All PEs come
// to the same answer.
int save_memory(Team& team, const std::string& folder);
int restore_memory(Team& team, const std::string& folder);

}  // namespace meshmem

#endif  // MESHMEM_LIBRARY_ALLOCATION_HPP_
