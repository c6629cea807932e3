// SPDX-License-Identifier: Apache-2.0
// Streams: queues of operations, each run in order by a thread of its own, which comes with the first operation and
// goes after a second without any.
// Invariant: an operation begins after all that its tickets name; tickets name operations that were submitted before,
// so that waiting for them never goes in a circle. Used by all that is asynchronous; capture.hpp records instead.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "capture.hpp"
#include "devices.hpp"
#include "handles.hpp"
#include "hip/hip_runtime_api.h"

namespace hip_on_cpu {

class Stream;

// "After this stream has done its first `number` operations."
struct Ticket {
  std::shared_ptr<Stream> stream;
  std::uint64_t number;

  void wait() const;
};

class Stream : public std::enable_shared_from_this<Stream> {
 public:
  Stream(int device, bool blocking) : device_(device), blocking_(blocking) {}

  int device() const { return device_; }
  bool blocking() const { return blocking_; }  // in order with the default stream

  hipError_t enqueue(Operation operation, std::vector<Ticket> after);
  Ticket last();
  bool is_idle();
  void wait(std::uint64_t number);
  hipError_t take_error();

  std::shared_ptr<Capture> capture;  // guarded by Streams::mutex

 private:
  struct Task {
    Operation operation;
    std::vector<Ticket> after;
  };
  void work();
  static hipError_t run(Task task);

  const int device_;
  const bool blocking_;
  std::mutex mutex_;
  std::condition_variable submitted_, done_;
  std::deque<Task> tasks_;
  std::uint64_t last_ = 0, completed_ = 0;
  bool has_worker_ = false;
  hipError_t error_ = hipSuccess;
};

// All streams of the process. `mutex` gives submissions one order and guards the captures.
class Streams {
 public:
  static Streams& get();
  Streams();

  std::shared_ptr<Stream> find(hipStream_t handle) const;  // null for a handle that is none
  bool is_default(const std::shared_ptr<Stream>& stream) const {
    return stream == defaults_[stream->device()];
  }
  std::vector<Ticket> before(
      const std::shared_ptr<Stream>& stream);  // what its next operation comes after
  std::vector<Ticket> pending(int device);
  bool blocking_stream_captures(int device) const;

  Handles<hipStream_t, Stream> handles;
  std::mutex mutex;
  Captures captures;
  std::vector<std::shared_ptr<Stream>> destroyed;  // until what was submitted to them is done

 private:
  std::shared_ptr<Stream> defaults_[kMaxDevices];
};

// Appends to the stream, or to the graph that it is being captured into.
hipError_t submit(hipStream_t stream, Operation operation);
// The same, behind what `ticket` names, which then names this operation; a capture has no tickets.
hipError_t submit_after(std::optional<Ticket>& ticket, hipStream_t stream, Operation operation);
// Runs it as the default stream would, and waits for it.
hipError_t run_in_default_stream(Operation operation);
hipError_t synchronize_device(int device);

}  // namespace hip_on_cpu
