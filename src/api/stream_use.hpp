// SPDX-License-Identifier: Apache-2.0
//
// What a routine that puts something on a stream tells MESHMEM_CHECK: its arguments, to compare
// them with the other members', and the memory that it uses, so that nobody frees it too early.
// Invariant: without the check nothing but a branch; captured streams say nothing. Included by
// on_stream.cpp.
#ifndef MESHMEM_API_STREAM_USE_HPP_
#define MESHMEM_API_STREAM_USE_HPP_

#include <cstddef>
#include <utility>
#include <vector>

#include "collectives/device_collectives.hpp"
#include "collectives/same_call.hpp"
#include "core/runtime.hpp"
#include "gpu/hip_error.hpp"
#include "gpu/stream_uses.hpp"
#include "shmemx.h"

namespace meshmem {

inline hipStream_t stream_of(shmemx_stream_t stream) {
  return reinterpret_cast<hipStream_t>(stream);
}

inline bool is_captured(hipStream_t stream) {
  hipStreamCaptureStatus status = hipStreamCaptureStatusNone;
  return succeeds(hipStreamIsCapturing(stream, &status)) && status == hipStreamCaptureStatusActive;
}

// What a call uses; it is on the stream when this goes. Nothing without MESHMEM_CHECK.
class StreamUse {
 public:
  StreamUse(const char* routine, shmemx_stream_t stream)
      : routine_(routine), stream_(stream_of(stream)) {}
  StreamUse(const StreamUse&) = delete;
  StreamUse& operator=(const StreamUse&) = delete;
  ~StreamUse() {
    if (!ranges_.empty() && !is_captured(stream_))
      keep_stream_use(routine_, stream_, runtime().device_memory().device(), std::move(ranges_));
  }
  void of(const void* dest, const void* source, std::size_t bytes) {
    of(dest, bytes);
    of(source, bytes);
  }
  void of(const void* address, std::size_t bytes) {
    if (calls_are_compared && bytes > 0) [[unlikely]]
      ranges_.push_back({address, bytes});
  }
  // The same for a buffer of kernels, which must reach it.
  void by_kernel(const void* address, std::size_t count, std::size_t elem_bytes) {
    on_device::check_reach(routine_, address, count, elem_bytes);
    of(address, count * elem_bytes);
  }

 private:
  const char* routine_;
  hipStream_t stream_;
  std::vector<UsedRange> ranges_;
};

// What is captured is compared neither now nor when it is replayed: other calls may come between.
template <typename... Values>
void expect_same(Team& team, shmemx_stream_t stream, fmt::format_string<const Values&...> arguments,
                 const Values&... values) {
  if (calls_are_compared && !is_captured(stream_of(stream))) [[unlikely]]
    compare_stream_call(team, arguments, fmt::make_format_args(values...));
}

}  // namespace meshmem

#endif  // MESHMEM_API_STREAM_USE_HPP_
