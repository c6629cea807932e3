// SPDX-License-Identifier: Apache-2.0
// The file of the program that PEs run, and why it cannot be run.
// Invariant: a name without a slash is looked for as execvpe does, in the PATH of oshrun.
// Used by job.cpp.
#ifndef MESHMEM_OSHRUN_PROGRAM_FILE_HPP_
#define MESHMEM_OSHRUN_PROGRAM_FILE_HPP_

#include <string>

namespace meshmem {

class ProgramFile {
 public:
  explicit ProgramFile(const std::string& program);

  // The file if it is machine code, else empty. A shell would read machine code of another
  // processor as a script, and say that it does not find its own first bytes.
  const std::string& machine_code() const { return machine_code_; }

  // Why exec gave this error, where the error alone would mislead.
  std::string explain(int error) const;

 private:
  std::string path_;  // of an existing file or folder, or empty
  std::string machine_code_;
};

}  // namespace meshmem

#endif  // MESHMEM_OSHRUN_PROGRAM_FILE_HPP_
