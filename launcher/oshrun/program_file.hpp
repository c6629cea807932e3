// SPDX-License-Identifier: Apache-2.0
// The file of the program that PEs run, and why it cannot be run.
// Invariant: a name without a slash is looked for as execvpe does, in the PATH of oshrun.
// Used by running_job.cpp.
#ifndef MESHMEM_OSHRUN_PROGRAM_FILE_HPP_
#define MESHMEM_OSHRUN_PROGRAM_FILE_HPP_

#include <string>

namespace meshmem {

// The program's file if it is machine code, else empty. A shell would read machine code of another
// processor as a script, and say that it does not find its own first bytes.
std::string find_machine_code(const std::string& program);

// Why exec gave this error; the error's own text unless that would mislead.
std::string explain_exec_error(const std::string& program, int error);

}  // namespace meshmem

#endif  // MESHMEM_OSHRUN_PROGRAM_FILE_HPP_
