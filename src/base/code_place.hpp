// SPDX-License-Identifier: Apache-2.0
//
// The one way from an address of code to names, and the calls that led to here. Names are function,
// file and line where the program was compiled with -g, else the function and its place in the
// program's file.
// Invariant: slow, so errors, checks and waits that have already lasted long call it. It takes
// the loader's locks and memory, and finds what it can.
#ifndef MESHMEM_BASE_CODE_PLACE_HPP_
#define MESHMEM_BASE_CODE_PLACE_HPP_

#include <cstdint>
#include <string>
#include <vector>

namespace meshmem {

struct CodePlace {
  std::string function{};    // without its parameters; "" if it is not known
  std::string line{};        // "heat.c:42", or ""
  std::string object{};      // "heat"
  std::uint64_t offset = 0;  // in the object, for addr2line -e heat

  // "exchange_halos at heat.c:42"; without -g "exchange_halos at heat+0x2f41".
  std::string text() const;
};

// The innermost first: functions that the compiler has put into others are apart. None where there
// is no code.
std::vector<CodePlace> code_places(std::uintptr_t address);

// The stack: a line for each call, innermost first.
std::string stack_text();

// The place by which the program has come into the library, "exchange_halos at heat.c:42"; "" if no
// function of the program has called, as in threads of the library.
std::string calling_place();

// The same of the call that returns to this address.
std::string place_of_call(const void* return_address);

}  // namespace meshmem

#endif  // MESHMEM_BASE_CODE_PLACE_HPP_
