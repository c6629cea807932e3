// SPDX-License-Identifier: Apache-2.0
//
// Finds the names for an address of code, and the calls that led to the present one. The names are
// function, file and line if the program was compiled with -g. Otherwise they are the function and
// the offset in the program's file, as far as these are known.
// Invariant: slow; it allocates memory and takes the loader's locks. So only errors, checks and
// waits that have already lasted long call it.
#ifndef MESHMEM_BASE_CODE_PLACE_HPP_
#define MESHMEM_BASE_CODE_PLACE_HPP_

#include <cstdint>
#include <string>
#include <vector>

namespace meshmem {

struct CodePlace {
  std::string function{};    // without its parameters; "" if it is not known
  std::string line{};        // "heat.c:42", or ""
  std::string object{};      // "heat": the program's or library's file
  std::uint64_t offset = 0;  // in that file, for addr2line -e heat

  // "exchange_halos at heat.c:42"; without -g "exchange_halos at heat+0x2f41".
  std::string text() const;
};

// Returns the function at `address`, and those inlined into it, innermost first. Empty if no loaded
// file has this address.
std::vector<CodePlace> functions_at(std::uintptr_t address);

// Returns the variable at `address`, as in "flags + 0x8", or "" if it is not known. Also "" before
// the first look-up of a place in the program, which reads its debug information.
std::string variable_at(const void* address);
// From now on variable_at() may read the debug information. For lines that end the job.
void allow_variable_names();

// The stack: a line for each call, innermost first. A handler of the library's own leaves itself
// out: the stack then begins with the function that was interrupted, if one was.
enum class StackOf { caller, interrupted };
std::string stack_text(StackOf whose);

// Where the program called the library, as in "exchange_halos at heat.c:42". "" if no function of
// the program did, as in the library's own threads.
std::string program_call_text();

// The place of the call that returns to this address, in the same form.
std::string return_address_text(const void* return_address);

}  // namespace meshmem

#endif  // MESHMEM_BASE_CODE_PLACE_HPP_
