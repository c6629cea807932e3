// SPDX-License-Identifier: Apache-2.0
//
// The tool that looks for wrong accesses to memory while this program runs, if there is one:
// valgrind's memcheck or AddressSanitizer. It is told what of symmetric memory may be touched.
// Invariant: found out when the program runs, so that one library serves all programs; without a
// checker nothing happens. Called by start-up and by what keeps the books of the symmetric heaps.
#ifndef MESHMEM_BASE_HOOKS_MEMORY_CHECKER_HPP_
#define MESHMEM_BASE_HOOKS_MEMORY_CHECKER_HPP_

#include <cstddef>

namespace meshmem {

enum class MemoryChecker { none, valgrind, address_sanitizer };
MemoryChecker memory_checker();

// From here on an access to these bytes by this process is an error.
void forbid_access(const void* memory, std::size_t bytes);
// From here on it is right, and the bytes have values: those that other PEs write are not seen.
void allow_access(const void* memory, std::size_t bytes);

// A block that the program allocates and frees; also told to those who look for lost memory, since
// pointers may be kept in it. Reports name the block and, under valgrind, who made and freed it.
void begin_block(const void* block, std::size_t bytes);
void resize_block(const void* block, std::size_t before, std::size_t after);  // in place
void end_block(const void* block, std::size_t bytes);

// Between these two a library that this one calls allocates what it keeps until the process ends,
// which is not lost. They nest.
struct IgnoreLeaks {
  IgnoreLeaks();
  ~IgnoreLeaks();
  IgnoreLeaks(const IgnoreLeaks&) = delete;
  IgnoreLeaks& operator=(const IgnoreLeaks&) = delete;
};

}  // namespace meshmem

#endif  // MESHMEM_BASE_HOOKS_MEMORY_CHECKER_HPP_
