// SPDX-License-Identifier: Apache-2.0
// A stream: a queue of operations that a thread of its own runs in order. The thread starts with
// the first operation and ends after a second without any.
// Invariant: an operation begins after all that its tickets name. Tickets name operations that were
// submitted before, so waits for them never form a cycle. Made and found by streams.hpp.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "hip/hip_runtime_api.h"

namespace hip_on_cpu {

using Operation = std::function<hipError_t()>;
class Stream;
struct Capture;

// "After this stream has done its first `number` operations."
struct Ticket {
  std::shared_ptr<Stream> stream;
  std::uint64_t number;

  void wait() const;
  bool is_done() const;
};

class Stream : public std::enable_shared_from_this<Stream> {
 public:
  Stream(int device, bool blocking) : device_(device), blocking_(blocking) {}

  int device() const { return device_; }
  bool blocking() const { return blocking_; }  // in order with the default stream

  hipError_t enqueue(Operation operation, std::vector<Ticket> after);
  Ticket last();
  bool is_idle();
  bool has_done(std::uint64_t number);
  void wait(std::uint64_t number);
  hipError_t take_error();  // returns and forgets the first error of its operations

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
  std::uint64_t last_ = 0, completed_ = 0;  // numbers of operations, counted from 1
  bool has_worker_ = false;
  hipError_t error_ = hipSuccess;
};

}  // namespace hip_on_cpu
