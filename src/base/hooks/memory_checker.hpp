// SPDX-License-Identifier: Apache-2.0
//
// Tells valgrind's memcheck or AddressSanitizer, if one of them checks this process, which
// symmetric memory the program may access.
// Invariant: the tool is found at run time, so one library serves all programs; without a tool the
// functions do nothing. Called by start-up, by memory/heap_watch.cpp for each block, and around
// calls of libraries that keep memory.
#ifndef MESHMEM_BASE_HOOKS_MEMORY_CHECKER_HPP_
#define MESHMEM_BASE_HOOKS_MEMORY_CHECKER_HPP_

#include <cstddef>

namespace meshmem {

enum class MemoryChecker { none, valgrind, address_sanitizer };
MemoryChecker memory_checker();

// From here on an access to these bytes by this process is an error.
void forbid_access(const void* memory, std::size_t bytes);
// From here on it is allowed, and the bytes count as written: the tool does not see what other PEs
// write.
void allow_access(const void* memory, std::size_t bytes);

// A block that the program allocates and frees. Checkers for leaks look for pointers in it. Reports
// name the block and, under valgrind, the calls that allocated and freed it.
void begin_block(const void* block, std::size_t bytes);
void resize_block(const void* block, std::size_t before, std::size_t after);  // in place
void end_block(const void* block, std::size_t bytes);

// Memory that is allocated while an IgnoreLeaks exists is not reported as a leak: a library that
// this one calls keeps it until the process ends. They nest.
struct IgnoreLeaks {
  IgnoreLeaks();
  ~IgnoreLeaks();
  IgnoreLeaks(const IgnoreLeaks&) = delete;
  IgnoreLeaks& operator=(const IgnoreLeaks&) = delete;
};

}  // namespace meshmem

#endif  // MESHMEM_BASE_HOOKS_MEMORY_CHECKER_HPP_
