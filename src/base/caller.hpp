// SPDX-License-Identifier: Apache-2.0
//
// Which function of the program has called the library.
// Invariant: takes time (it reads the program's symbols), so only waits that have lasted long
// already and allocations that fail call it; never fails, and answers with what is known.
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
