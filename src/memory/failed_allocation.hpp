// SPDX-License-Identifier: Apache-2.0
//
// The last allocation that returned NULL, for the line about a program that uses that NULL.
// Invariant: only cold code here. Written by the heaps and the API's allocations; read where an
// address is refused.
#ifndef MESHMEM_MEMORY_FAILED_ALLOCATION_HPP_
#define MESHMEM_MEMORY_FAILED_ALLOCATION_HPP_

#include <cstddef>
#include <optional>
#include <string>

namespace meshmem {

// Notes a failed allocation and its reason, and prints them with SHMEM_DEBUG.
void note_failed_allocation(const char* routine, std::size_t bytes, const std::string& why);

// Returns the text about that allocation if the address is less than the bytes that it asked for.
// The program has then most likely computed the address from the NULL. Else returns nullopt.
std::optional<std::string> failed_allocation_at(const void* address);

// Prints this line for an address that a kernel of PE `pe` has used, at most once in a process.
// Runs in signal handlers.
void print_failed_allocation_at(const void* address, int pe);

}  // namespace meshmem

#endif  // MESHMEM_MEMORY_FAILED_ALLOCATION_HPP_
