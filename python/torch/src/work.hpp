// SPDX-License-Identifier: Apache-2.0
//
// Operations on tensors of the processor: a queue for each group, which runs them in order.
// Operations that a callback submits come directly behind the callback's own operation, so all
// members have one order, whatever their threads' timing is.
// Invariant: one thread at a time runs operations of a queue. It is a thread of the queue, or a
// thread that waits for one of them.
#pragma once
#include <chrono>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <vector>

#include "crew.hpp"
#include "lane.hpp"

namespace meshmem::pytorch {

using Clock = std::chrono::steady_clock;
using Milliseconds = std::chrono::milliseconds;

constexpr Milliseconds kLongestTimeout = std::chrono::hours{24 * 365};

class Queue;

// A collective. `body` moves the data.
class HostWork final : public TensorWork {
 public:
  using Body = std::function<void(Lane&)>;
  HostWork(std::shared_ptr<Queue> queue, c10d::OpType type, const char* name, Milliseconds timeout,
           std::vector<at::Tensor> outputs, Body body);
  bool wait(Milliseconds timeout = kNoTimeout) override;
  bool is_of_all = true;  // else this member alone has it, so it does not count as an operation

 private:
  friend class Queue;
  void drop_inputs() override { body_ = nullptr; }
  void run(Lane& lane);

  std::shared_ptr<Queue> queue_;
  Milliseconds timeout_;
  Clock::time_point submitted_;
  Body body_;
};

class Queue final : public Crew {
 public:
  explicit Queue(std::shared_ptr<Group> group) : Crew(std::move(group)), lane_(*group_) {}
  // Runs what was submitted and ends the threads.
  void stop();
  // Appends an operation. Returns when it is done if `now`, else at once.
  void submit(const c10::intrusive_ptr<HostWork>& work, bool now);
  // Runs operations until this one is done, or waits while another thread does.
  void help(HostWork& work);
  bool is_idle();
  // Ends the job with a line if an operation has taken longer than its timeout, or has waited
  // longer for a callback. Called by the watchdog.
  void check_time();

 private:
  using Level = std::deque<c10::intrusive_ptr<HostWork>>;
  bool has_work() const override { return !levels_.back().empty(); }
  bool do_some() override;
  void call_back(TensorWorkPtr work) override;
  const HostWork* held_up() const;  // the first operation that waits for a callback, or null
  [[noreturn]] void end_job(const char* name, Milliseconds waited);

  HostLane lane_;
  // Operations that wait: first the program's, then a level for each operation whose callbacks are
  // not through, of the operations that these submit. Only the last level's may run.
  std::list<Level> levels_{1};
  static thread_local Level* level_of_thread_;  // of the callback that it runs, or null
  const char* running_name_ = nullptr;          // null: nothing runs
  Clock::time_point since_;                     // the last operation has begun or ended
  Milliseconds running_timeout_{0};
};

// Has the watchdog look at the queue for as long as it lives.
void watch(const std::shared_ptr<Queue>& queue);

}  // namespace meshmem::pytorch
