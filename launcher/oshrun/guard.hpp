// SPDX-License-Identifier: Apache-2.0
// A second process that outlives a SIGKILL of oshrun just long enough to end what it started.
// Invariant: it acts only when oshrun is gone without having dismissed it, and then kills exactly
// the process groups listed and removes the scratch folder.
// Started by main() before any thread exists; told of PEs by running_job.cpp.
#ifndef MESHMEM_OSHRUN_GUARD_HPP_
#define MESHMEM_OSHRUN_GUARD_HPP_

#include <sys/types.h>

#include <atomic>
#include <string>

#include "unique_fd.hpp"

namespace meshmem {

class Guard {
 public:
  Guard(int pes, const std::string& scratch_path);
  ~Guard();  // dismisses it
  Guard(const Guard&) = delete;

  void watch(int pe, pid_t group) { groups_[pe].store(group, std::memory_order_relaxed); }
  void forget(int pe) { groups_[pe].store(0, std::memory_order_relaxed); }

 private:
  void keep_watch(const std::string& scratch_path);

  int pes_;
  std::atomic<pid_t>* groups_;  // shared with the guard process; 0: no such group
  pid_t process_ = -1;
  Pipe line_;  // the guard reads; end of file says that oshrun is gone
};

}  // namespace meshmem

#endif  // MESHMEM_OSHRUN_GUARD_HPP_
