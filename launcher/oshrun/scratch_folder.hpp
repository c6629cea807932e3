// SPDX-License-Identifier: Apache-2.0
// The temporary folder in which the PMIx server keeps its files.
// Invariant: the folder is locked as long as a process of its oshrun lives, so an unlocked folder
// is a dead oshrun's. (Process ids would not do: containers that share /tmp number processes each
// their own way.) Made by main(); removed by it, by the guard, or by the user's next oshrun.
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
