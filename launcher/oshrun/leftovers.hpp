// SPDX-License-Identifier: Apache-2.0
// The PMIx server's folder and the PEs' processes, which a sudden end of oshrun would leave behind.
// main() makes both, the guard before any thread exists. running_job.cpp tells the guard of PEs.
#ifndef MESHMEM_OSHRUN_LEFTOVERS_HPP_
#define MESHMEM_OSHRUN_LEFTOVERS_HPP_

#include <sys/types.h>

#include <atomic>
#include <string>

#include "pipe.hpp"

namespace meshmem {

// The temporary folder in which the PMIx server keeps its files. It is locked as long as a process
// of its oshrun lives, so an unlocked folder is a dead oshrun's. (Process ids would not do:
// containers that share /tmp number processes each their own way.) Removed by main(), by the guard,
// or by the user's next oshrun.
class ScratchFolder {
 public:
  ScratchFolder();  // also removes the stale ones
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
  UniqueFd lock_;
};

// A second process that outlives a SIGKILL of oshrun just long enough to end what it started. It
// acts only when oshrun is gone without having dismissed it, and then kills exactly the process
// groups listed and removes the scratch folder.
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
  Pipe pipe_;  // the guard reads it; its end of file says that oshrun is gone
};

}  // namespace meshmem

#endif  // MESHMEM_OSHRUN_LEFTOVERS_HPP_
