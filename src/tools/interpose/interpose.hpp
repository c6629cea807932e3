// SPDX-License-Identifier: Apache-2.0
//
// Puts the wrappers in the place of the routines: in the tables by which the program and the
// libraries that are loaded reach the functions of others. So a program that is not traced has
// nothing in its way.
// Invariant: only what leads to the library's own routine is changed; a tool's wrapper stays.
#ifndef MESHMEM_TOOLS_INTERPOSE_INTERPOSE_HPP_
#define MESHMEM_TOOLS_INTERPOSE_INTERPOSE_HPP_

#include <span>

namespace meshmem::tracing {

// A wrapper makes one record and calls the routine's pshmem_ twin once.
struct Entry {
  const char* name;
  void* wrapper;
  void* routine;  // of the library: shmem_x and pshmem_x are one
};
// Of all routines. Each library of wrappers defines its own.
std::span<const Entry> entries();

// Where it has been done before, it does nothing more.
void put_wrappers_in_place();

}  // namespace meshmem::tracing

#endif  // MESHMEM_TOOLS_INTERPOSE_INTERPOSE_HPP_
