// SPDX-License-Identifier: Apache-2.0
//
// Threads are started when there is work and none is free, and stay until the group ends.
// Invariant: a thread keeps its crew alive, so the crew's last user may be one of its threads.
#include "crew.hpp"

#include <unistd.h>

#include <chrono>
#include <thread>

#include "without_gil.hpp"

namespace meshmem::pytorch {
namespace {

constexpr std::chrono::seconds kLongestCallback{10};  // after the end of the program
constexpr std::chrono::microseconds kFutureInterval{20};

thread_local const Crew* crew_of_thread = nullptr;

// Threads that may need Python's lock.
struct PythonUsers {
  std::mutex mutex;
  std::condition_variable none;
  int n = 0;
  bool has_left = false;
};
PythonUsers& python_users() {
  static PythonUsers& instance = *new PythonUsers;  // threads may outlive all others
  return instance;
}

// From now on nobody completes a future.
bool has_left_python() {
  PythonUsers& users = python_users();
  const std::lock_guard lock(users.mutex);
  return users.has_left && users.n == 0;
}

void release_or_keep(TensorWorkPtr work) {
  PythonUsers& users = python_users();
  {
    const std::lock_guard lock(users.mutex);
    if (users.has_left && users.n == 0) return void(work.release());  // for ever
    ++users.n;
  }
  work->complete();
  work.reset();
  const std::lock_guard lock(users.mutex);
  if (--users.n == 0) users.none.notify_all();
}

}  // namespace

c10::intrusive_ptr<c10::ivalue::Future> TensorWork::getFuture() {
  const std::lock_guard lock(mutex_);
  if (future_) return future_;
  future_ = c10::make_intrusive<c10::ivalue::Future>(c10::ListType::create(c10::TensorType::get()));
  if (completed_ && exception_)
    future_->setError(exception_);
  else if (completed_)
    future_->markCompleted(outputs_);
  return future_;
}

bool TensorWork::has_future() {
  const std::lock_guard lock(mutex_);
  return future_ && !future_->completed();
}

bool TensorWork::isCompleted() { return is_finished() && (!has_future() || has_left_python()); }

void TensorWork::wait_for_future(const Crew& crew) {
  if (isCompleted()) return;
  const WithoutGil others_run;
  while (!isCompleted()) {
    crew.require_no_child();
    std::this_thread::sleep_for(kFutureInterval);
  }
}

void TensorWork::complete() {
  drop_inputs();
  if (has_future()) try {
      if (const auto error = exception())
        future_->setError(error);
      else
        future_->markCompleted(outputs_);
    } catch (const c10::Error&) {  // the program has completed it meanwhile
    }
}

bool TensorWork::wait_for_other(std::chrono::microseconds time) {
  std::unique_lock lock(mutex_);
  return cv_.wait_for(lock, time, [this] { return completed_; });
}

Crew::Crew(std::shared_ptr<Group> group) : group_(std::move(group)), process_(::getpid()) {}

bool Crew::is_in_child() const { return ::getpid() != process_; }

void Crew::require_no_child() const {
  TORCH_CHECK(!is_in_child(), group_->text(), ": a child of fork is no rank");
}

void Crew::require_open() const {
  TORCH_CHECK(!ends_ && memory().is_of_this_job(), group_->text(), ": the group has ended");
}

const Crew* Crew::of_callback() { return crew_of_thread; }

void Crew::wake() {
  if (n_free_ == 0) {
    std::thread([self = shared_from_this()] { self->serve(); }).detach();
    ++n_threads_;
    ++n_free_;
  }
  more_.notify_one();
}

void Crew::serve() {
  crew_of_thread = this;
  std::unique_lock lock(mutex_);
  for (;;) {
    more_.wait(lock, [this] { return ends_ || has_work() || !done_.empty(); });
    if (!done_.empty()) {
      TensorWorkPtr work = std::move(done_.front());
      done_.pop_front();
      --n_free_;
      if (has_work() || !done_.empty()) wake();
      lock.unlock();
      call_back(std::move(work));
      lock.lock();
      ++n_free_;
    } else if (has_work()) {
      lock.unlock();
      do_some_and_drop(std::unique_lock(running_));
      lock.lock();
    } else {
      break;
    }
  }
  --n_free_;
  --n_threads_;
  ended_.notify_all();
}

bool Crew::do_some_and_drop(std::unique_lock<std::mutex> running) {
  const bool has_done = do_some();
  running.unlock();
  drop_finished();
  return has_done;
}

bool Crew::hand_over(TensorWorkPtr work) {
  const bool has_future = work->has_future();
  if (has_future) {
    done_.push_back(std::move(work));
    wake();
  } else {
    finished_.push_back(std::move(work));
  }
  return has_future;
}

void Crew::call_back(TensorWorkPtr work) { release_or_keep(std::move(work)); }

void Crew::drop_finished() {
  std::vector<TensorWorkPtr> finished;
  {
    const std::lock_guard lock(mutex_);
    finished.swap(finished_);
  }
  for (TensorWorkPtr& work : finished) release_or_keep(std::move(work));
}

void leave_python() {
  PythonUsers& users = python_users();
  std::unique_lock lock(users.mutex);
  users.has_left = true;
  users.none.wait_for(lock, kLongestCallback, [&] { return users.n == 0; });
}

void Crew::stop_threads() {
  std::unique_lock lock(mutex_);
  ends_ = true;
  more_.notify_all();
  if (crew_of_thread != this) ended_.wait(lock, [this] { return n_threads_ == 0; });
}

}  // namespace meshmem::pytorch
