// SPDX-License-Identifier: Apache-2.0
//
// A mark behind the newest work on a program's stream. Before a routine frees memory or teams that
// the work uses, it waits for the mark.
// Invariant: the mark is an event, which outlives the stream. Used for the teams whose collectives
// are put on streams.
#ifndef MESHMEM_GPU_STREAM_MARK_HPP_
#define MESHMEM_GPU_STREAM_MARK_HPP_

#include "base/waiting/wait.hpp"
#include "gpu/device_target.hpp"
#include "gpu/hip_error.hpp"
#include "gpu/launch_on_stream.hpp"

namespace meshmem {

class StreamMark {
 public:
  explicit StreamMark(int device) : device_(device) {
    const OnDevice current(device_);
    event_ = make_event(device_);
  }
  ~StreamMark() { (void)hipEventDestroy(event_); }
  StreamMark(const StreamMark&) = delete;
  StreamMark& operator=(const StreamMark&) = delete;

  void set(hipStream_t stream) {
    const OnDevice current(device_);
    check(hipEventRecord(event_, stream), "record an event on device {}", device_);
    stream_ = stream;
  }
  bool is_on(hipStream_t stream) const { return stream == stream_; }
  // Returns false while the stream is captured, if a query would end the capture.
  bool may_be_asked() const { return !kQueriesEndCaptures || !is_captured(stream_); }
  bool is_over() const {
    const RelaxedCapture allowed;
    return state_of(event_) != hipErrorNotReady;
  }
  // Returns when the work before the mark is over.
  void wait(const char* routine) const {
    const RelaxedCapture allowed;
    hipError_t state = hipErrorNotReady;
    wait_until_ready(
        [&] {
          state = state_of(event_);
          return state != hipErrorNotReady;
        },
        [&] { return fmt::format("the work on a stream of device {}, in {}", device_, routine); });
    if (state == hipErrorCapturedEvent)
      fatal("{}: the stream of the work that it waits for is being captured; end the capture first",
            routine);
    check(state, "complete the work on a stream of device {}, in {}", device_, routine);
  }

 private:
  int device_;
  hipEvent_t event_ = nullptr;
  hipStream_t stream_ = nullptr;  // of the last mark; the program may have destroyed it
};

}  // namespace meshmem

#endif  // MESHMEM_GPU_STREAM_MARK_HPP_
