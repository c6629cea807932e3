// SPDX-License-Identifier: Apache-2.0
//
// What the library does where the C++ runtime would throw std::bad_alloc: it ends the job with a
// line, since no exception may pass through the C API.
// Invariant: these operators serve the library alone. Its list of exported names hides them, so the
// program's own stay as they are; memory still comes from those, and goes back to them. Linked into
// libmeshmem.so only, and called by every allocation in it.
#include <new>

#include "base/error.hpp"

void* operator new(std::size_t bytes) {
  void* const memory = ::operator new(bytes, std::nothrow);
  if (!memory) [[unlikely]]
    meshmem::fatal_without_memory();
  return memory;
}
void* operator new[](std::size_t bytes) {
  void* const memory = ::operator new[](bytes, std::nothrow);
  if (!memory) [[unlikely]]
    meshmem::fatal_without_memory();
  return memory;
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  void* const memory = ::operator new(bytes, alignment, std::nothrow);
  if (!memory) [[unlikely]]
    meshmem::fatal_without_memory();
  return memory;
}
