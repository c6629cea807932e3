// SPDX-License-Identifier: Apache-2.0
//
// Makes a buffer that the program allocated itself symmetric (shmemx_buffer_register), and ends
// that.
// Invariant: all PEs come to the same answer: the buffer is symmetric on all PEs or on none. Called
// by api/memory.cpp.
#ifndef MESHMEM_LIBRARY_BUFFER_REGISTRATION_HPP_
#define MESHMEM_LIBRARY_BUFFER_REGISTRATION_HPP_

#include <cstddef>

#include "core/team.hpp"

namespace meshmem {

// Collectives of the world. Both return 0, or 1 with the reason in a line of debug().
int register_buffer(Team& world, void* address, std::size_t bytes);
int unregister_buffer(Team& world, void* address);

// True if kernels of all PEs reach all bytes, so that a collective on a stream accepts the buffer.
bool is_reached_on_stream(const void* address, std::size_t bytes);

}  // namespace meshmem

#endif  // MESHMEM_LIBRARY_BUFFER_REGISTRATION_HPP_
