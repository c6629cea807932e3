// SPDX-License-Identifier: Apache-2.0
//
// The end of a program that prints. Invariant: text that did not get to where standard output leads
// (a full disk) is never a success. Called by the launcher's programs, once, last.
#ifndef MESHMEM_BASE_MACHINE_STANDARD_OUTPUT_HPP_
#define MESHMEM_BASE_MACHINE_STANDARD_OUTPUT_HPP_

namespace meshmem {

// Writes out what is printed. The status of the program: `status`, or where the text is lost a line
// of `program` on standard error and nonzero.
int close_standard_output(const char* program, int status);

}  // namespace meshmem

#endif  // MESHMEM_BASE_MACHINE_STANDARD_OUTPUT_HPP_
