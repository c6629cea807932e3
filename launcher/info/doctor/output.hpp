// SPDX-License-Identifier: Apache-2.0
//
// Runs programs, and reads what they print. Invariant: a program has five seconds, and what it
// cannot say is empty. Called by Machine and by checks.
#ifndef MESHMEM_INFO_DOCTOR_OUTPUT_HPP_
#define MESHMEM_INFO_DOCTOR_OUTPUT_HPP_

#include <string>

namespace meshmem::doctor {

// Without blanks at its ends.
std::string trimmed(std::string text);

// 1000 * major + 10 * minor of a text as "6.3.0-39", as NVIDIA writes versions of CUDA.
int version_in(const std::string& text);

// `program` is a path, and needs no quotes; `words` are for the shell: options and redirections.
std::string output_of(const std::string& program, const std::string& words);

}  // namespace meshmem::doctor

#endif  // MESHMEM_INFO_DOCTOR_OUTPUT_HPP_
