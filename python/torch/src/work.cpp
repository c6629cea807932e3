// SPDX-License-Identifier: Apache-2.0
//
// Queues of operations, waits for them, and the watchdog, a thread that looks at all queues.
// Invariant: a failed operation keeps its exception, which wait() throws, and the next one runs. A
// member that waits inside the library for another one cannot be stopped, so the watchdog ends the
// job.
#include "work.hpp"

#include <algorithm>
#include <cstdio>
#include <string>

namespace meshmem::pytorch {
namespace {

constexpr Milliseconds kWatchInterval{200};
// How long a thread waits for the one that runs the queue before it looks whether that has stopped.
constexpr Milliseconds kNap{1};

class Watchdog {
 public:
  void add(const std::shared_ptr<Queue>& queue) {
    const std::lock_guard lock(mutex_);
    queues_.push_back(queue);
    if (!is_started_) std::thread([this] { watch(); }).detach();
    is_started_ = true;
  }

 private:
  [[noreturn]] void watch() {
    for (;;) {
      std::this_thread::sleep_for(kWatchInterval);
      const std::lock_guard lock(mutex_);
      std::erase_if(queues_, [](const auto& queue) { return queue.expired(); });
      for (const auto& weak : queues_)
        if (const auto queue = weak.lock()) queue->check_time();
    }
  }

  std::mutex mutex_;
  std::vector<std::weak_ptr<Queue>> queues_;
  bool is_started_ = false;
};

Watchdog& watchdog() {
  static Watchdog& instance = *new Watchdog;  // its thread never ends
  return instance;
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

void TensorWork::complete(const std::exception_ptr& error) {
  finish(error);
  c10::intrusive_ptr<c10::ivalue::Future> future;
  {
    const std::lock_guard lock(mutex_);
    future = future_;
  }
  if (!future || future->completed()) return;
  if (error)
    future->setError(error);
  else
    future->markCompleted(outputs_);
}

bool TensorWork::wait_for_other(Milliseconds time) {
  std::unique_lock lock(mutex_);
  return cv_.wait_for(lock, time, [this] { return completed_; });
}

HostWork::HostWork(std::shared_ptr<Queue> queue, c10d::OpType type, const char* name,
                   Milliseconds timeout, std::vector<at::Tensor> outputs,
                   std::function<void()> body)
    : TensorWork(queue->group().me, type, name, std::move(outputs)),
      queue_(std::move(queue)),
      timeout_(timeout),
      body_(std::move(body)) {}

void HostWork::run() {
  std::exception_ptr error;
  try {
    body_();
  } catch (...) {
    error = std::current_exception();
  }
  body_ = nullptr;  // the tensors
  complete(error);
}

bool HostWork::wait(Milliseconds timeout) {
  const Milliseconds longest = timeout == kNoTimeout ? timeout_ : timeout;
  TORCH_CHECK_WITH(DistBackendError, queue_->help(*this, longest), queue_->group().text(), ": ",
                   name_, " was not done in ", longest.count(), " ms");
  if (const auto error = exception()) std::rethrow_exception(error);
  return true;
}

Queue::Queue(std::shared_ptr<Group> group) : group_(std::move(group)) {}

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
    running_name_ = work->name_;
    running_since_ = Clock::now();
    running_timeout_ = work->timeout_;
  }
  ++group_->control().n_started;
  work->run();
  const std::lock_guard lock(mutex_);
  running_name_ = nullptr;
  return true;
}

bool Queue::help(HostWork& work, Milliseconds timeout) {
  const auto end = Clock::now() + timeout;
  while (!work.isCompleted()) {
    if (std::unique_lock running(running_, std::try_to_lock); running) {
      if (!work.isCompleted()) run_next();
      continue;
    }
    // The other thread may leave this operation to this thread.
    if (!work.wait_for_other(kNap) && timeout != kNoTimeout && Clock::now() > end) return false;
  }
  return true;
}

void Queue::drain() {
  const std::lock_guard running(running_);
  while (run_next()) {
  }
}

bool Queue::is_idle() {
  const std::lock_guard lock(mutex_);
  return waiting_.empty() && !running_name_;
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

void Queue::check_time() {
  const std::lock_guard lock(mutex_);
  if (!running_name_) return;
  const auto waited = std::chrono::duration_cast<Milliseconds>(Clock::now() - running_since_);
  if (waited > running_timeout_) end_job(running_name_, waited);
}

// Names the members that have begun fewer operations than this one.
void Queue::end_job(const char* name, Milliseconds waited) {
  const std::uint64_t mine = group_->control().n_started;
  std::string late;
  for (int rank = 0; rank < group_->n(); ++rank) {
    const std::uint64_t theirs = shmem_uint64_g(&group_->control().n_started, group_->pe(rank));
    if (theirs >= mine) continue;
    late += late.empty() ? "" : ", ";
    late += "PE " + std::to_string(group_->pe(rank)) + " (rank " + std::to_string(rank) + ")";
  }
  if (late.empty()) late = "members that have begun it too";
  std::fprintf(stderr, "%s: operation %llu, %s, has waited %.1f s for %s; this ends the job\n",
               group_->text().c_str(), static_cast<unsigned long long>(mine), name,
               static_cast<double>(waited.count()) / 1000, late.c_str());
  shmem_global_exit(1);
}

void watch(const std::shared_ptr<Queue>& queue) { watchdog().add(queue); }

}  // namespace meshmem::pytorch
