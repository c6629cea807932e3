// SPDX-License-Identifier: Apache-2.0
//
// Queues of operations, waits for them, and the watchdog, a thread that looks at all queues.
// Invariant: a failed operation keeps its exception, which wait() throws, and the next one runs. A
// member that waits inside the library for another one cannot be stopped, so the watchdog ends the
// job.
#include "work.hpp"

#include <algorithm>
#include <cstdio>
#include <future>
#include <string>

namespace meshmem::pytorch {
namespace {

constexpr Milliseconds kWatchInterval{200};
// How long a thread waits for the one that runs the queue before it looks whether that has stopped.
constexpr Milliseconds kNap{1};
constexpr Milliseconds kLongestAnswer{2000};  // of other members, before the job ends

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

// The members that have begun fewer operations than this one. Asks those on other machines, which
// may not answer.
std::string late_members(const Group& group, std::uint64_t mine) {
  std::string late;
  for (int rank = 0; rank < group.n(); ++rank) {
    if (shmem_uint64_g(&group.control().n_started, group.pe(rank)) >= mine) continue;
    late += late.empty() ? "" : ", ";
    late += "PE " + std::to_string(group.pe(rank)) + " (rank " + std::to_string(rank) + ")";
  }
  return late.empty() ? "members that have begun it too" : late;
}

}  // namespace

HostWork::HostWork(std::shared_ptr<Queue> queue, c10d::OpType type, const char* name,
                   Milliseconds timeout, std::vector<at::Tensor> outputs, Body body)
    : TensorWork(queue->group().me, type, name, std::move(outputs)),
      queue_(std::move(queue)),
      timeout_(timeout),
      body_(std::move(body)) {}

void HostWork::run(Lane& lane) {
  std::exception_ptr error;
  try {
    body_(lane);
  } catch (...) {
    error = std::current_exception();
  }
  finish(error);
}

bool HostWork::wait(Milliseconds timeout) {
  const Milliseconds longest = timeout == kNoTimeout ? timeout_ : timeout;
  TORCH_CHECK_WITH(DistBackendError, queue_->help(*this, longest), queue_->group().text(), ": ",
                   name_, " was not done in ", longest.count(), " ms");
  if (const auto error = exception()) std::rethrow_exception(error);
  return true;
}

void Queue::stop() {
  if (is_in_child()) return;
  stop_threads();
  drain();  // another thread may run an operation that it waits for
}

void Queue::submit(const c10::intrusive_ptr<HostWork>& work, bool now) {
  require_no_child();
  {
    const std::lock_guard lock(mutex_);
    require_open();
    waiting_.push_back(work);
    if (!now) wake();
  }
  if (now) help(*work, kNoTimeout);
}

Crew::Works Queue::do_some() {
  c10::intrusive_ptr<HostWork> work;
  {
    const std::lock_guard lock(mutex_);
    if (waiting_.empty()) return {};
    work = std::move(waiting_.front());
    waiting_.pop_front();
    running_name_ = work->name_;
    running_since_ = Clock::now();
    running_timeout_ = work->timeout_;
  }
  ++group_->control().n_started;
  work->run(lane_);
  const std::lock_guard lock(mutex_);
  running_name_ = nullptr;
  return {work};
}

bool Queue::try_help(HostWork& work) {
  Works finished;
  {
    const std::unique_lock running(running_, std::try_to_lock);
    if (!running) return false;
    if (!work.isCompleted()) finished = do_some();
  }
  release(std::move(finished));
  return true;
}

bool Queue::help(HostWork& work, Milliseconds timeout) {
  const auto end = Clock::now() + timeout;
  while (!work.isCompleted()) {
    // The other thread may leave this operation to this thread.
    if (!try_help(work) && !work.wait_for_other(kNap) && timeout != kNoTimeout &&
        Clock::now() > end)
      return false;
  }
  return true;
}

void Queue::drain() {
  while (work_once()) {
  }
}

bool Queue::is_idle() {
  const std::lock_guard lock(mutex_);
  return waiting_.empty() && !running_name_;
}

void Queue::check_time() {
  const std::lock_guard lock(mutex_);
  if (!running_name_) return;
  const auto waited = std::chrono::duration_cast<Milliseconds>(Clock::now() - running_since_);
  if (waited > running_timeout_) end_job(running_name_, waited);
}

void Queue::end_job(const char* name, Milliseconds waited) {
  const std::uint64_t mine = group_->control().n_started;
  std::packaged_task<std::string()> ask([this, mine] { return late_members(*group_, mine); });
  auto late = ask.get_future();
  std::thread(std::move(ask)).detach();
  const bool is_answered = late.wait_for(kLongestAnswer) == std::future_status::ready;
  std::fprintf(stderr, "%s: operation %llu, %s, has waited %.1f s for %s; this ends the job\n",
               group_->text().c_str(), static_cast<unsigned long long>(mine), name,
               static_cast<double>(waited.count()) / 1000,
               is_answered ? late.get().c_str() : "members that do not answer");
  shmem_global_exit(1);
}

void watch(const std::shared_ptr<Queue>& queue) { watchdog().add(queue); }

}  // namespace meshmem::pytorch
