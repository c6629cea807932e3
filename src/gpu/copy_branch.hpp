// SPDX-License-Identifier: Apache-2.0
//
// Copies by a copy engine that run beside the other work that a call puts on its stream.
// Invariant: the copies begin when the stream's earlier work is over, and work that is put there
// after join() begins when they are over too. In a graph that captures the stream they are nodes of
// their own; otherwise they are on a side, a stream of the library. Used by collectives/.
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

  // Begins a copy. On the targets without copy engines it is part of the stream's own work.
  hipError_t begin(void* to, const void* from, std::size_t bytes);
  // Called after the last begin(): the stream's later work waits for the copies.
  hipError_t join();

  struct Side;  // a stream of the library and its events

 private:
  hipError_t fork();

  hipStream_t stream_;
  std::vector<CopyNode> nodes_;  // of a graph
  std::unique_ptr<Side> side_;
};

}  // namespace meshmem

#endif  // MESHMEM_GPU_COPY_BRANCH_HPP_
