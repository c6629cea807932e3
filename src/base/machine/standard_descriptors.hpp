// SPDX-License-Identifier: Apache-2.0
//
// Descriptors 0, 1 and 2, at the begin and at the end of a program.
// Invariant: no other file gets such a number. Text that did not get to where standard output leads
// (a full disk) is never a success. Called by the launcher's programs and by start-up of the
// library.
#ifndef MESHMEM_BASE_MACHINE_STANDARD_DESCRIPTORS_HPP_
#define MESHMEM_BASE_MACHINE_STANDARD_DESCRIPTORS_HPP_

namespace meshmem {

// Those that the caller of this process has closed lead to /dev/null. Otherwise the next file that
// is opened would get such a number, and the program's output would go there: into shared memory,
// or to a launcher. Before anything is opened.
void open_standard_descriptors();

// Writes out what is printed; once, last. The status of the program: `status`, or where the text is
// lost a line of `program` on standard error and nonzero.
int close_standard_output(const char* program, int status);

}  // namespace meshmem

#endif  // MESHMEM_BASE_MACHINE_STANDARD_DESCRIPTORS_HPP_
