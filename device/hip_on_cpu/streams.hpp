// SPDX-License-Identifier: Apache-2.0
// All streams of the process, and the functions that submit operations to them.
// Invariant: operations are submitted one at a time, under one mutex. A stream that is being
// captured records its operations (capture.hpp) and runs nothing. Used by all asynchronous calls.
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
  std::vector<Ticket> pending(int device);     // the last operations of streams that are not idle
  // True if a blocking stream is being captured, which makes that capture invalid.
  bool blocking_stream_captures(int device) const;

  Handles<hipStream_t, Stream> handles;
  std::mutex mutex;
  Captures captures;
  std::vector<std::shared_ptr<Stream>> destroyed;  // kept until their operations are done

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

// Appends the operation to the stream, or to the graph into which the stream is being captured.
hipError_t submit(hipStream_t stream, Operation operation);
// The same, but the operation also waits for the one that `ticket` names. Afterwards `ticket` names
// the new operation. A captured stream ignores `ticket`.
hipError_t submit_after(std::optional<Ticket>& ticket, hipStream_t stream, Operation operation);
// Runs the operation on this thread, after all operations for which the default stream would wait.
hipError_t run_in_default_stream(const Operation& operation);
hipError_t synchronize_device(int device);
// Returns an error if a capture forbids calls that wait, allocate or free (Captures). Such calls
// begin with this.
hipError_t refuse_while_capturing();

}  // namespace hip_on_cpu
