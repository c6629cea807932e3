// SPDX-License-Identifier: Apache-2.0
//
// Replaces what the C++ runtime does where it would throw std::bad_alloc: ends the job with a line,
// since no exception may pass through the C API. The linker (--wrap) sends each call of operator
// new in libmeshmem.so to the functions below, and __real_* to the operators that the program has.
// So memory comes from the program's operators and goes back to them, also where the C++ runtime is
// linked statically.
#include <new>

#include "base/error.hpp"

// operator new(size_t), operator new[](size_t), operator new(size_t, align_val_t)
extern "C" {
void* __real__Znwm(std::size_t bytes);
void* __real__Znam(std::size_t bytes);
void* __real__ZnwmSt11align_val_t(std::size_t bytes, std::align_val_t alignment);
void* __wrap__Znwm(std::size_t bytes);
void* __wrap__Znam(std::size_t bytes);
void* __wrap__ZnwmSt11align_val_t(std::size_t bytes, std::align_val_t alignment);
}

void* __wrap__Znwm(std::size_t bytes) try {
  return __real__Znwm(bytes);
} catch (const std::bad_alloc&) {
  meshmem::fatal_without_memory();
}
void* __wrap__Znam(std::size_t bytes) try {
  return __real__Znam(bytes);
} catch (const std::bad_alloc&) {
  meshmem::fatal_without_memory();
}
void* __wrap__ZnwmSt11align_val_t(std::size_t bytes, std::align_val_t alignment) try {
  return __real__ZnwmSt11align_val_t(bytes, alignment);
} catch (const std::bad_alloc&) {
  meshmem::fatal_without_memory();
}
