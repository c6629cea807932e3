// SPDX-License-Identifier: Apache-2.0
//
// Copies by a copy engine beside what else a call puts on its stream.
// Invariant: the copies begin when the stream's earlier work is over, and work that is put there
// after join() begins when they are over too. In a graph that captures the stream they are nodes of
// their own; else they are on a stream of the library's. Used by collectives/.
#ifndef MESHMEM_GPU_COPY_BRANCH_HPP_
#define MESHMEM_GPU_COPY_BRANCH_HPP_

#include <hip/hip_runtime_api.h>

#include <cstddef>
#include <memory>
#include <vector>

#include "gpu/device_target.hpp"

namespace meshmem {

class CopyBranch {
 public:
  // For a stream of the current device.
  explicit CopyBranch(hipStream_t stream);
  CopyBranch(const CopyBranch&) = delete;
  CopyBranch& operator=(const CopyBranch&) = delete;
  ~CopyBranch();

  hipError_t begin(void* to, const void* from, std::size_t bytes);
  // After the last begin().
  hipError_t join();

  struct Side;  // a stream of the library's and its events

 private:
  hipError_t fork();

  hipStream_t stream_;
  std::vector<CopyNode> nodes_;  // of a graph
  std::unique_ptr<Side> side_;
};

}  // namespace meshmem

#endif  // MESHMEM_GPU_COPY_BRANCH_HPP_
