// SPDX-License-Identifier: Apache-2.0
// Stream capture: operations that are submitted to a capturing stream are recorded, in the order of
// submission, and run by graphs.
// Invariant: all streams of one capture record into one list. Each knows how much of the others it
// has seen through events, so the end of the capture finds a stream that was never joined. Guarded
// by Streams::mutex.
#pragma once

#include <map>
#include <memory>
#include <thread>
#include <vector>

#include "hip/hip_runtime_api.h"
#include "stream.hpp"

namespace hip_on_cpu {

using Operations = std::vector<Operation>;

// For each stream of a capture: how many of its operations come before this point.
using Seen = std::map<const Stream*, std::size_t>;

struct Capture {
  hipStreamCaptureMode mode;
  std::shared_ptr<Stream> origin;
  std::thread::id thread = std::this_thread::get_id();
  bool active = true;
  bool invalid = false;
  Operations operations;
  std::map<std::shared_ptr<Stream>, Seen> streams;

  hipError_t record(const std::shared_ptr<Stream>& stream, Operation operation);
  hipError_t invalidate(hipError_t reason);
  bool is_joined() const;
};

class Captures {
 public:
  hipError_t begin(const std::shared_ptr<Stream>& stream, hipStreamCaptureMode mode);
  hipError_t end(const std::shared_ptr<Stream>& stream, Operations* operations);
  // Called by calls that wait or allocate. A Global capture forbids them to all threads, a
  // ThreadLocal one to its own thread. A forbidden call returns hipErrorStreamCaptureUnsupported
  // and invalidates the capture. A thread's mode can exempt its calls from this.
  hipError_t refuse_unsafe_call();
  hipStreamCaptureMode exchange_mode_of_thread(hipStreamCaptureMode mode);

 private:
  std::vector<std::shared_ptr<Capture>> active_;
};

}  // namespace hip_on_cpu
