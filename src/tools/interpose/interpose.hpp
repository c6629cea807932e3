// SPDX-License-Identifier: Apache-2.0
//
// Replaces routines by wrappers, in the tables through which the program and loaded libraries call
// functions of others. So a program that is not traced pays nothing.
// Invariant: only slots that lead to the library's own routine change; another tool's wrapper
// stays.
#ifndef MESHMEM_TOOLS_INTERPOSE_INTERPOSE_HPP_
#define MESHMEM_TOOLS_INTERPOSE_INTERPOSE_HPP_

#include <span>

namespace meshmem::tracing {

// A wrapper makes one record and calls the routine's pshmem_ twin once.
struct Entry {
  const char* name;
  void* wrapper;
  void* routine;  // in libmeshmem.so; shmem_x and pshmem_x are one function
};
// The entries of all routines. Each library of wrappers defines this.
std::span<const Entry> entries();

// A slot that leads to a wrapper already stays as it is.
void put_wrappers_in_place();

}  // namespace meshmem::tracing

#endif  // MESHMEM_TOOLS_INTERPOSE_INTERPOSE_HPP_
