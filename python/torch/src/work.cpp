// SPDX-License-Identifier: Apache-2.0
//
// Queues of operations, and waits for them.
// Invariant: a failed operation keeps its exception, which wait() throws, and the next one runs.
#include "work.hpp"

#include <utility>

namespace meshmem::pytorch {

HostWork::HostWork(std::shared_ptr<Queue> queue, c10d::OpType type, const char* name,
                   Milliseconds timeout, std::vector<at::Tensor> outputs,
                   std::function<void()> body)
    : Work(queue->group().me, type, name),
      queue_(std::move(queue)),
      name_(name),
      timeout_(timeout),
      outputs_(std::move(outputs)),
      body_(std::move(body)) {}

void HostWork::run() {
  std::exception_ptr error;
  try {
    body_();
  } catch (...) {
    error = std::current_exception();
  }
  body_ = nullptr;
  c10::intrusive_ptr<c10::ivalue::Future> future;
  finish(error);
  {
    const std::lock_guard lock(mutex_);
    future = future_;
  }
  if (!future) return;
  if (error)
    future->setError(error);
  else
    future->markCompleted(outputs_);
}

bool HostWork::wait(Milliseconds timeout) {
  const bool is_done = queue_->help(*this, timeout == kNoTimeout ? timeout_ : timeout);
  TORCH_CHECK_WITH(DistBackendError, is_done, "meshmem: ", name_, " of ", queue_->group().text(),
                   " was not done in time");
  if (const auto error = exception()) std::rethrow_exception(error);
  return true;
}

c10::intrusive_ptr<c10::ivalue::Future> HostWork::getFuture() {
  const std::lock_guard lock(mutex_);
  if (future_) return future_;
  future_ = c10::make_intrusive<c10::ivalue::Future>(c10::ListType::create(c10::TensorType::get()));
  if (completed_ && exception_)
    future_->setError(exception_);
  else if (completed_)
    future_->markCompleted(outputs_);
  return future_;
}

void Queue::stop() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  more_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Queue::submit(const c10::intrusive_ptr<HostWork>& work, bool now) {
  {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(work);
    if (!now && !thread_.joinable()) thread_ = std::thread([this] { serve(); });
  }
  if (now)
    help(*work, kNoTimeout);
  else
    more_.notify_one();
}

bool Queue::run_next() {
  c10::intrusive_ptr<HostWork> work;
  {
    const std::lock_guard lock(mutex_);
    if (waiting_.empty()) return false;
    work = std::move(waiting_.front());
    waiting_.pop_front();
  }
  work->run();
  return true;
}

bool Queue::help(HostWork& work, Milliseconds timeout) {
  const auto end = std::chrono::steady_clock::now() + timeout;
  while (!work.isCompleted()) {
    if (std::unique_lock running(running_, std::try_to_lock); running) {
      if (!work.isCompleted()) run_next();
      continue;
    }
    std::unique_lock lock(work.mutex_);
    const auto is_done = [&work] { return work.completed_; };
    // The other thread may leave this one's operation to this thread.
    const auto nap = std::chrono::milliseconds(1);
    work.cv_.wait_for(lock, nap, is_done);
    if (timeout != kNoTimeout && !work.completed_ && std::chrono::steady_clock::now() > end)
      return false;
  }
  return true;
}

void Queue::drain() {
  const std::lock_guard running(running_);
  while (run_next()) {
  }
}

void Queue::serve() {
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      more_.wait(lock, [this] { return ends_ || !waiting_.empty(); });
      if (ends_ && waiting_.empty()) return;
    }
    const std::lock_guard running(running_);
    run_next();
  }
}

}  // namespace meshmem::pytorch
