// SPDX-License-Identifier: Apache-2.0
//
// Buffers of the program's own that become symmetric (include/shmemx.h). Invariant: all PEs make
// the same calls.
#include "api/entry.hpp"
#include "library/buffer_registration.hpp"
#include "shmemx.h"

namespace meshmem {

MESHMEM_EXTENSION_ENTRY(int, buffer_register, (void* ptr, std::size_t bytes)) {
  return register_buffer(collective_team(SHMEM_TEAM_WORLD, "shmemx_buffer_register"), ptr, bytes);
}
MESHMEM_EXTENSION_ENTRY(int, buffer_unregister, (void* ptr)) {
  return unregister_buffer(collective_team(SHMEM_TEAM_WORLD, "shmemx_buffer_unregister"), ptr);
}
MESHMEM_EXTENSION_ENTRY(int, reached_on_stream, (const void* ptr, std::size_t bytes)) {
  require_active("shmemx_reached_on_stream");
  return is_reached_on_stream(ptr, bytes) ? 1 : 0;
}

}  // namespace meshmem
