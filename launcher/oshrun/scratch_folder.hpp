// SPDX-License-Identifier: Apache-2.0
// The temporary folder in which the PMIx server keeps its files.
// Invariant: it is locked as long as a process of its oshrun lives; an unlocked one is a dead
// oshrun's. (A lock, not a process id: containers that share /tmp number processes differently.)
// Made by main(); removed by it, by the guard, or by the next oshrun of the same user.
#ifndef MESHMEM_OSHRUN_SCRATCH_FOLDER_HPP_
#define MESHMEM_OSHRUN_SCRATCH_FOLDER_HPP_

#include <string>

#include "unique_fd.hpp"

namespace meshmem {

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

}  // namespace meshmem

#endif  // MESHMEM_OSHRUN_SCRATCH_FOLDER_HPP_
