// SPDX-License-Identifier: Apache-2.0
//
// The calls that led to here: all of them for MESHMEM_ABORT=core, and for other messages the one by
// which the program has come into the library.
// Invariant: slow, as code_place.hpp.
#ifndef MESHMEM_BASE_STACK_HPP_
#define MESHMEM_BASE_STACK_HPP_

#include <string>

namespace meshmem {

// A line for each call, innermost first: names where the program has them, files and lines with -g.
std::string stack_text();

// "exchange_halos at heat.c:42"; "" if no function of the program has called, as in threads of the
// library.
std::string calling_place();

// The same of the call that returns to this address.
std::string place_of_call(const void* return_address);

}  // namespace meshmem

#endif  // MESHMEM_BASE_STACK_HPP_
