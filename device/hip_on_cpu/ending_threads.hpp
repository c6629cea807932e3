// SPDX-License-Identifier: Apache-2.0
// The end of the process waits for threads that destroy their fibers. Meanwhile these threads run
// on stacks of their own. A sanitizer that looks for leaks at that moment would report objects that
// only the stack of their OS thread refers to.
// Invariant: once the end of the process has waited, no thread destroys fibers any more.
// Used by block.cpp.
#pragma once

namespace hip_on_cpu {

// To be called before the first EndingThread can be made.
void watch_end_of_process();

// Lives while a thread destroys its fibers.
class EndingThread {
 public:
  EndingThread();
  ~EndingThread();
  EndingThread(const EndingThread&) = delete;
  EndingThread& operator=(const EndingThread&) = delete;

  // Whether the end of the process waits for this thread. Else its fibers are left as they are: the
  // kernel takes their memory with the process.
  bool is_in_time() const { return is_in_time_; }

 private:
  bool is_in_time_;
};

}  // namespace hip_on_cpu
