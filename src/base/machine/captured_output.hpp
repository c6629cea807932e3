// SPDX-License-Identifier: Apache-2.0
//
// Takes what this process writes to a standard descriptor for a while: the pages of text that PMIx
// prints where one line of ours says the cause.
// Invariant: nobody waits for a reader: what exceeds a pipe is lost. Used around calls of PMIx at
// start-up, by the library and by oshrun.
#ifndef MESHMEM_BASE_MACHINE_CAPTURED_OUTPUT_HPP_
#define MESHMEM_BASE_MACHINE_CAPTURED_OUTPUT_HPP_

#include <string>
#include <string_view>

namespace meshmem {

class CapturedOutput {
 public:
  explicit CapturedOutput(int fd);  // captures nothing where there is no descriptor for it
  ~CapturedOutput() { end(); }
  CapturedOutput(const CapturedOutput&) = delete;

  std::string end();  // the descriptor leads where it led before; what was written meanwhile

 private:
  int fd_;
  int saved_ = -1;
  int pipe_ = -1;
};

// Returns the lines of such a text that are not PMIx's or its event library's: another thread may
// have written.
std::string without_pmix(std::string_view text);

}  // namespace meshmem

#endif  // MESHMEM_BASE_MACHINE_CAPTURED_OUTPUT_HPP_
