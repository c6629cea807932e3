// SPDX-License-Identifier: Apache-2.0
//
// The wrappers of all routines, for those who put them in the place of the routines.
// Invariant: a wrapper makes one record and calls the routine's pshmem_ twin once.
#ifndef MESHMEM_TOOLS_INTERPOSE_ENTRIES_HPP_
#define MESHMEM_TOOLS_INTERPOSE_ENTRIES_HPP_

#include <span>

namespace meshmem::tracing {

struct Entry {
  const char* name;
  void* wrapper;
  void* routine;  // of the library: shmem_x and pshmem_x are one
};
std::span<const Entry> entries();

}  // namespace meshmem::tracing

#endif  // MESHMEM_TOOLS_INTERPOSE_ENTRIES_HPP_
