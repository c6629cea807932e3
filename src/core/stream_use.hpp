// SPDX-License-Identifier: Apache-2.0
//
// The memory that a call on a stream uses, so that MESHMEM_CHECK finds who frees it too early.
// Invariant: without the check nothing but a branch; captured streams say nothing. Called by the
// routines on streams of core/ and collectives/.
#ifndef MESHMEM_CORE_STREAM_USE_HPP_
#define MESHMEM_CORE_STREAM_USE_HPP_

#include <cstddef>
#include <utility>
#include <vector>

#include "core/runtime.hpp"
#include "gpu/stream_uses.hpp"
#include "gpu/stream_work.hpp"

namespace meshmem {

// The memory that a call uses; its work is on the stream when this goes. Nothing without
// MESHMEM_CHECK.
class StreamUse {
 public:
  StreamUse(const char* routine, hipStream_t stream)
      : is_kept_(runtime().environment().check == Check::calls),
        routine_(routine),
        stream_(stream) {}
  StreamUse(const StreamUse&) = delete;
  StreamUse& operator=(const StreamUse&) = delete;
  ~StreamUse() {
    if (!ranges_.empty() && !is_captured(stream_))
      keep_stream_use(routine_, stream_, runtime().device_memory().device(), std::move(ranges_));
  }
  void of(const void* address, std::size_t bytes) {
    if (is_kept_ && bytes > 0) [[unlikely]]
      ranges_.push_back({address, bytes});
  }

 private:
  bool is_kept_;
  const char* routine_;
  hipStream_t stream_;
  std::vector<UsedRange> ranges_;
};

}  // namespace meshmem

#endif  // MESHMEM_CORE_STREAM_USE_HPP_
