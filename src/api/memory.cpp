// SPDX-License-Identifier: Apache-2.0
//
// Symmetric memory (OpenSHMEM 1.6, section 9.3), and buffers of the program's own that become
// symmetric (include/shmemx.h). Invariant: all PEs make the same calls. A call that is not between
// init and finalize ends the job.
#include "api/entry.hpp"
#include "core/runtime.hpp"
#include "library/allocation.hpp"
#include "meshmem/compat/other_names.h"
#include "shmemx.h"

namespace meshmem {
namespace {

// Returns `routine`. Ends the job if the library is not active.
const char* active(const char* routine) {
  require_active(routine);
  return routine;
}

// Returns 1 for SHMEM_TEAM_INVALID.
int in_folder(int (*act)(Team&, const std::string&), shmem_team_t handle, const char* folder,
              const char* routine) {
  Team* team = begin_call_on(handle, routine);
  return team ? act(*team, folder ? folder : "") : 1;
}

}  // namespace

MESHMEM_ENTRY(void*, malloc, (std::size_t size)) {
  return allocate(size, kMinAlignment, 0, active("shmem_malloc"));
}
MESHMEM_ENTRY(void*, align, (std::size_t alignment, std::size_t size)) {
  return allocate(size, alignment, 0, active("shmem_align"));
}
MESHMEM_ENTRY(void*, malloc_with_hints, (std::size_t size, long hints)) {
  return allocate(size, kMinAlignment, hints, active("shmem_malloc_with_hints"));
}
MESHMEM_EXTENSION_ENTRY(void*, align_with_hints,
                        (std::size_t alignment, std::size_t size, long hints)) {
  return allocate(size, alignment, hints, active("shmemx_align_with_hints"));
}
MESHMEM_ENTRY(void*, calloc, (std::size_t count, std::size_t size)) {
  return allocate_cleared(count, size, active("shmem_calloc"));
}
MESHMEM_ENTRY(void, free, (void* ptr)) { release(ptr, active("shmem_free")); }
MESHMEM_ENTRY(void*, realloc, (void* ptr, std::size_t size)) {
  return resize(ptr, size, active("shmem_realloc"));
}

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

MESHMEM_EXTENSION_ENTRY(int, heap_save, (shmem_team_t team, const char* folder)) {
  return in_folder(&save_memory, team, folder, "shmemx_heap_save");
}
MESHMEM_EXTENSION_ENTRY(int, heap_restore, (shmem_team_t team, const char* folder)) {
  return in_folder(&restore_memory, team, folder, "shmemx_heap_restore");
}

// For other libraries' names (include/meshmem/compat/), whose symmetric memory is the device's.
extern "C" MESHMEM_VISIBLE int shmemx_has_device_memory(void) {
  return runtime().has_devices() ? 1 : 0;
}

// Deprecated names.
MESHMEM_NAMED_ENTRY(void*, shmalloc, (std::size_t size)) {
  return allocate(size, kMinAlignment, 0, active("shmalloc"));
}
MESHMEM_NAMED_ENTRY(void*, shmemalign, (std::size_t alignment, std::size_t size)) {
  return allocate(size, alignment, 0, active("shmemalign"));
}
MESHMEM_NAMED_ENTRY(void, shfree, (void* ptr)) { release(ptr, active("shfree")); }
MESHMEM_NAMED_ENTRY(void*, shrealloc, (void* ptr, std::size_t size)) {
  return resize(ptr, size, active("shrealloc"));
}

}  // namespace meshmem
