// SPDX-License-Identifier: Apache-2.0
//
// Which function of the program has called the library.
// Invariant: slow (it reads the program's symbols), so only waits that have already lasted long and
// failed allocations call it. Never fails: returns what it could find out.
#ifndef MESHMEM_BASE_CALLER_HPP_
#define MESHMEM_BASE_CALLER_HPP_

#include <cstdint>
#include <string>

namespace meshmem {

// "exchange_halos (heat+0x2f41)", where the second is for addr2line -e heat; "" if there is no such
// function.
std::string calling_function();

// The same of a given return address.
std::string function_at(std::uintptr_t address);

}  // namespace meshmem

#endif  // MESHMEM_BASE_CALLER_HPP_
