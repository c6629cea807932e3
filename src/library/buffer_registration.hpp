// SPDX-License-Identifier: Apache-2.0
//
// Buffers of the program's own that become symmetric (include/shmemx.h).
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

// Whether kernels of all PEs reach all of it, so that it may be given to collectives on streams.
bool is_reached_on_stream(const void* address, std::size_t bytes);

}  // namespace meshmem

#endif  // MESHMEM_LIBRARY_BUFFER_REGISTRATION_HPP_
