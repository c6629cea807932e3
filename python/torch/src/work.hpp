// SPDX-License-Identifier: Apache-2.0
//
// Operations on tensors of the processor: a queue for each group, which runs them in order.
// Invariant: one thread at a time runs operations of a queue. It is the thread of the queue, or a
// thread that waits for one of them.
#pragma once
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <torch/csrc/distributed/c10d/Work.hpp>
#include <utility>
#include <vector>

#include "group.hpp"

namespace meshmem::pytorch {

using Clock = std::chrono::steady_clock;
using Milliseconds = std::chrono::milliseconds;

// An operation that a thread of the host completes.
class TensorWork : public c10d::Work {
 public:
  TensorWork(int rank, c10d::OpType type, const char* name, std::vector<at::Tensor> outputs)
      : Work(rank, type, name), name_(name), outputs_(std::move(outputs)) {}
  std::vector<at::Tensor> result() override { return outputs_; }
  c10::intrusive_ptr<c10::ivalue::Future> getFuture() override;

 protected:
  void complete(const std::exception_ptr& error);
  // Waits until another thread has completed it. False after `time`.
  bool wait_for_other(Milliseconds time);

  const char* name_;

 private:
  std::vector<at::Tensor> outputs_;
  c10::intrusive_ptr<c10::ivalue::Future> future_;
};

class Queue;

// A collective. `body` moves the data.
class HostWork final : public TensorWork {
 public:
  HostWork(std::shared_ptr<Queue> queue, c10d::OpType type, const char* name, Milliseconds timeout,
           std::vector<at::Tensor> outputs, std::function<void()> body);
  bool wait(Milliseconds timeout = kNoTimeout) override;

 private:
  friend class Queue;
  void run();

  std::shared_ptr<Queue> queue_;
  Milliseconds timeout_;
  std::function<void()> body_;
};

class Queue {
 public:
  explicit Queue(std::shared_ptr<Group> group);
  // Runs what was submitted and ends the thread. The last one to drop the queue must not be it.
  void stop();
  // Appends an operation. Returns when it is done if `now`, else at once.
  void submit(const c10::intrusive_ptr<HostWork>& work, bool now);
  // Runs operations until this one is done, or waits while another thread does. False after
  // `timeout` (0: never).
  bool help(HostWork& work, Milliseconds timeout);
  // Runs all that was submitted.
  void drain();
  bool is_idle();
  // Ends the job with a line if an operation has taken longer than its timeout. Called by the
  // watchdog.
  void check_time();
  const Group& group() const { return *group_; }

 private:
  bool run_next();  // false if there is none. The caller has `running_`.
  void serve();
  [[noreturn]] void end_job(const char* name, Milliseconds waited);

  std::shared_ptr<Group> group_;
  std::mutex running_;
  std::mutex mutex_;  // of what follows
  std::condition_variable more_;
  std::deque<c10::intrusive_ptr<HostWork>> waiting_;
  const char* running_name_ = nullptr;  // null: nothing runs
  Clock::time_point running_since_;
  Milliseconds running_timeout_{0};
  bool ends_ = false;
  std::thread thread_;
};

// Has the watchdog look at the queue for as long as it lives.
void watch(const std::shared_ptr<Queue>& queue);

}  // namespace meshmem::pytorch
