// SPDX-License-Identifier: Apache-2.0
//
// Looks after descriptors 0, 1 and 2 when a program begins and ends, and around calls of PMIx.
// Invariant: no other file gets such a number. A program whose output could not be written (a full
// disk) never reports success. Called by the launcher's programs and by start-up of the library.
#ifndef MESHMEM_BASE_MACHINE_STANDARD_DESCRIPTORS_HPP_
#define MESHMEM_BASE_MACHINE_STANDARD_DESCRIPTORS_HPP_

#include <string>
#include <string_view>

namespace meshmem {

// Opens /dev/null for those that this process's parent has closed. Otherwise the next file to be
// opened would get such a number, and output would go into it: shared memory, or a connection to a
// launcher. Called before anything is opened.
void open_standard_descriptors();

// Flushes standard output; called once, last. Returns `status`, or nonzero if text was lost. Then
// a line that begins with `program` says why, unless the reader of a pipe has left.
int close_standard_output(const char* program, int status);

// Captures what this process writes to a standard descriptor for a while: PMIx prints pages of text
// where one line of meshmem's says the cause. Writers do not wait for a reader: text that does not
// fit in the pipe is lost. Any thread may call end(); later calls do nothing.
class CapturedOutput {
 public:
  explicit CapturedOutput(int fd);  // captures nothing if no descriptor is left
  ~CapturedOutput() { end(); }
  CapturedOutput(const CapturedOutput&) = delete;

  std::string end();  // restores the descriptor and returns what was captured

 private:
  int fd_;
  int saved_ = -1;
  int pipe_ = -1;
};

// Returns the captured lines that neither PMIx nor its event library wrote: another thread may have
// written.
std::string without_pmix(std::string_view text);

}  // namespace meshmem

#endif  // MESHMEM_BASE_MACHINE_STANDARD_DESCRIPTORS_HPP_
