// SPDX-License-Identifier: Apache-2.0
//
// Threads that do a group's work on the host while the program does something else.
// Invariant: no thread holds a lock while it runs callbacks of the program. Another thread takes
// its place meanwhile, so a callback may wait for more work of the same group.
#pragma once
#include <sys/types.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <torch/csrc/distributed/c10d/Work.hpp>
#include <utility>
#include <vector>

#include "group.hpp"

namespace meshmem::pytorch {

// An operation that a thread of the host completes.
class TensorWork : public c10d::Work {
 public:
  TensorWork(int rank, c10d::OpType type, const char* name, std::vector<at::Tensor> outputs)
      : Work(rank, type, name), name_(name), outputs_(std::move(outputs)) {}
  std::vector<at::Tensor> result() override { return outputs_; }
  c10::intrusive_ptr<c10::ivalue::Future> getFuture() override;
  bool has_future();
  // Completes the future, which runs the program's callbacks. Called once, after finish().
  void call_back();
  virtual void drop_inputs() {}

 protected:
  // Waits until another thread has finished it. False after `time`.
  bool wait_for_other(std::chrono::microseconds time);

  const char* name_;

 private:
  std::vector<at::Tensor> outputs_;
  c10::intrusive_ptr<c10::ivalue::Future> future_;
};

class Crew : public std::enable_shared_from_this<Crew> {
 public:
  explicit Crew(std::shared_ptr<Group> group);
  virtual ~Crew() = default;
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;
  const Group& group() const { return *group_; }

 protected:
  using Works = std::vector<c10::intrusive_ptr<TensorWork>>;
  virtual bool has_work() const = 0;  // called with mutex_
  virtual Works do_some() = 0;        // called with running_; returns what is finished

  // Does some work and releases it. False if nothing is finished.
  bool work_once();
  // Runs callbacks and drops tensors, which may need Python's lock. Called without a lock.
  void release(Works finished);
  void wake();  // called with mutex_: there is work for the threads
  // Ends the threads when there is no more work. One of them may call it.
  void stop_threads();
  // A child of fork has none of the threads, and is no PE.
  bool is_in_child() const;
  void require_open() const;  // called with mutex_; throws if the group has ended
  void require_no_child() const;

  std::shared_ptr<Group> group_;
  std::mutex running_;  // of the thread that does some work
  std::mutex mutex_;    // of the work, and of what follows
  bool ends_ = false;

 private:
  void serve();
  void call_back(Works finished);

  const pid_t process_;
  std::condition_variable more_;
  std::vector<std::thread> threads_;
  int n_free_ = 0;  // threads that run no callbacks
};

// Python ends: from now on threads keep tensors and run no callbacks. A thread that cannot get
// Python's lock any more would end the process.
void leave_python();

}  // namespace meshmem::pytorch
