// SPDX-License-Identifier: Apache-2.0
//
// Descriptors 0, 1 and 2: at the begin and at the end of a program, and around calls of PMIx.
// Invariant: no other file gets such a number. Text that did not get to where standard output leads
// (a full disk) is never a success. Called by the launcher's programs and by start-up of the
// library.
#ifndef MESHMEM_BASE_MACHINE_STANDARD_DESCRIPTORS_HPP_
#define MESHMEM_BASE_MACHINE_STANDARD_DESCRIPTORS_HPP_

#include <string>
#include <string_view>

namespace meshmem {

// Those that the caller of this process has closed lead to /dev/null. Otherwise the next file that
// is opened would get such a number, and the program's output would go there: into shared memory,
// or to a launcher. Before anything is opened.
void open_standard_descriptors();

// Writes out what is printed; once, last. The status of the program: `status`, or where the text is
// lost a line of `program` on standard error and nonzero.
int close_standard_output(const char* program, int status);

// Takes what this process writes to a standard descriptor for a while: the pages of text that PMIx
// prints where one line of ours says the cause. Nobody waits for a reader: what exceeds a pipe is
// lost. The end may be asked for by any thread, once; later ends do nothing.
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

#endif  // MESHMEM_BASE_MACHINE_STANDARD_DESCRIPTORS_HPP_
