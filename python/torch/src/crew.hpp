// SPDX-License-Identifier: Apache-2.0
//
// Threads that do a group's work on the host while the program does something else.
// Invariant: only these threads run callbacks of the program, and hold no lock meanwhile. Another
// one takes the place of a thread that runs a callback, so the callback may wait for more work.
#pragma once
#include <sys/types.h>

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <torch/csrc/distributed/c10d/Work.hpp>
#include <utility>
#include <vector>

#include "group.hpp"

namespace meshmem::pytorch {

class Crew;

// An operation that a thread of the host completes.
class TensorWork : public c10d::Work {
 public:
  TensorWork(int rank, c10d::OpType type, const char* name, std::vector<at::Tensor> outputs)
      : Work(rank, type, name), name_(name), outputs_(std::move(outputs)) {}
  std::vector<at::Tensor> result() override { return outputs_; }
  c10::intrusive_ptr<c10::ivalue::Future> getFuture() override;
  bool has_future();  // that is not complete
  // Whether the operation is done. Its future may be complete only later.
  bool is_finished() { return Work::isCompleted(); }
  bool isCompleted() override;
  // Drops the inputs and completes the future, which runs callbacks. Called once, after finish().
  void complete();

 protected:
  virtual void drop_inputs() {}
  // Waits until another thread has finished it. False after `time`.
  bool wait_for_other(std::chrono::microseconds time);
  // Waits until another thread has completed the future of a finished work. Its callbacks may still
  // run.
  void wait_for_future(const Crew& crew);

  const char* name_;

 private:
  std::vector<at::Tensor> outputs_;
  c10::intrusive_ptr<c10::ivalue::Future> future_;
};
using TensorWorkPtr = c10::intrusive_ptr<TensorWork>;

class Crew : public std::enable_shared_from_this<Crew> {
 public:
  explicit Crew(std::shared_ptr<Group> group);
  virtual ~Crew() = default;
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;
  const Group& group() const { return *group_; }
  // A child of fork has none of the threads, and is no PE.
  bool is_in_child() const;
  void require_no_child() const;

 protected:
  virtual bool has_work() const = 0;  // called with mutex_
  virtual bool do_some() = 0;         // called with running_; false if there was nothing to do
  // Runs the callbacks of a work. Called on a thread of the crew, without a lock.
  virtual void call_back(TensorWorkPtr work);

  bool do_some_and_drop(std::unique_lock<std::mutex> running);
  // Takes a finished work, called with mutex_. True if it has a future, which a thread completes.
  bool hand_over(TensorWorkPtr work);
  // Drops works without a future, which may need Python's lock. Called without a lock.
  void drop_finished();
  void wake();  // called with mutex_: there is work for the threads
  // Ends the threads when there is no more work. On one of them it does not wait for the others.
  void stop_threads();
  void require_open() const;         // called with mutex_; throws if the group has ended
  static const Crew* of_callback();  // whose callback this thread runs, or null

  std::shared_ptr<Group> group_;
  std::mutex running_;  // of the thread that does some work
  std::mutex mutex_;    // of the work, and of all members below
  bool ends_ = false;

 private:
  void serve();

  const pid_t process_;
  std::condition_variable more_, ended_;
  std::deque<TensorWorkPtr> done_;       // with callbacks that no thread has begun
  std::vector<TensorWorkPtr> finished_;  // without a future
  int n_threads_ = 0, n_free_ = 0;       // free: runs no callbacks
};

// Python ends: from now on threads keep tensors and run no callbacks, but those that a running
// callback waits for. A thread that cannot get Python's lock any more would end the process.
void leave_python();

}  // namespace meshmem::pytorch
