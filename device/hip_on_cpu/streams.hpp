// SPDX-License-Identifier: Apache-2.0
// All streams of the process, and the submission of operations to them.
// Invariant: one mutex gives submissions one order. A stream that is being captured records its
// operations (capture.hpp) and runs nothing. Used by all asynchronous calls.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "capture.hpp"
#include "devices.hpp"
#include "handles.hpp"
#include "stream.hpp"

namespace hip_on_cpu {

// `mutex` also guards the captures.
class Streams {
 public:
  static Streams& get();
  Streams();

  std::shared_ptr<Stream> find(hipStream_t handle) const;  // null for an unknown handle
  bool is_default(const std::shared_ptr<Stream>& stream) const {
    return stream == defaults_[stream->device()];
  }
  std::vector<Ticket> before(
      const std::shared_ptr<Stream>& stream);  // what its next operation waits for
  std::vector<Ticket> pending(int device);
  bool blocking_stream_captures(int device) const;

  Handles<hipStream_t, Stream> handles;
  std::mutex mutex;
  Captures captures;
  std::vector<std::shared_ptr<Stream>> destroyed;  // until their operations are done

 private:
  std::shared_ptr<Stream> defaults_[kMaxDevices];
};

// Calls use(streams, stream) under the mutex, with the stream of this handle.
template <typename Use>
hipError_t with_stream(hipStream_t handle, const Use& use) {
  Streams& streams = Streams::get();
  const std::lock_guard lock(streams.mutex);
  const auto stream = streams.find(handle);
  return stream == nullptr ? hipErrorInvalidHandle : use(streams, stream);
}

// Appends to the stream, or to the graph that it is being captured into.
hipError_t submit(hipStream_t stream, Operation operation);
// The same, behind the operation that `ticket` names; afterwards `ticket` names this one. A capture
// ignores it.
hipError_t submit_after(std::optional<Ticket>& ticket, hipStream_t stream, Operation operation);
// Runs it on this thread, after all that the default stream would wait for.
hipError_t run_in_default_stream(const Operation& operation);
hipError_t synchronize_device(int device);
// Calls that wait, allocate or free ask this first.
hipError_t refuse_while_capturing();

}  // namespace hip_on_cpu
