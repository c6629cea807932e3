// SPDX-License-Identifier: Apache-2.0
//
// Operations on tensors of the processor: a queue for each group, which runs them in order.
// Invariant: one thread at a time runs operations of a queue. It is a thread of the queue, or a
// thread that waits for one of them.
#pragma once
#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "crew.hpp"
#include "lane.hpp"

namespace meshmem::pytorch {

using Clock = std::chrono::steady_clock;
using Milliseconds = std::chrono::milliseconds;

class Queue;

// A collective. `body` moves the data.
class HostWork final : public TensorWork {
 public:
  using Body = std::function<void(Lane&)>;
  HostWork(std::shared_ptr<Queue> queue, c10d::OpType type, const char* name, Milliseconds timeout,
           std::vector<at::Tensor> outputs, Body body);
  bool wait(Milliseconds timeout = kNoTimeout) override;
  void drop_inputs() override { body_ = nullptr; }

 private:
  friend class Queue;
  void run(Lane& lane);

  std::shared_ptr<Queue> queue_;
  Milliseconds timeout_;
  Body body_;
};

class Queue final : public Crew {
 public:
  explicit Queue(std::shared_ptr<Group> group) : Crew(std::move(group)), lane_(*group_) {}
  // Runs what was submitted and ends the threads.
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

 private:
  bool has_work() const override { return !waiting_.empty(); }
  Works do_some() override;
  bool try_help(HostWork& work);  // false while another thread runs the queue
  [[noreturn]] void end_job(const char* name, Milliseconds waited);

  HostLane lane_;
  std::deque<c10::intrusive_ptr<HostWork>> waiting_;
  const char* running_name_ = nullptr;  // null: nothing runs
  Clock::time_point running_since_;
  Milliseconds running_timeout_{0};
};

// Has the watchdog look at the queue for as long as it lives.
void watch(const std::shared_ptr<Queue>& queue);

}  // namespace meshmem::pytorch
