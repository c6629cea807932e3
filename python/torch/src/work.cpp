// SPDX-License-Identifier: Apache-2.0
//
// Queues of operations, waits for them, and the watchdog, a thread that looks at all queues.
// Invariant: a failed operation keeps its exception, which wait() throws, and the next one runs. A
// member that waits inside the library for another one cannot be stopped, so the watchdog ends the
// job.
#include "work.hpp"

#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <future>
#include <iterator>
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
  const c10::InferenceMode may_write_any_tensor;
  std::exception_ptr error;
  try {
    body_(lane);
  } catch (...) {
    error = std::current_exception();
  }
  finish(error);
}

bool HostWork::wait(Milliseconds timeout) {
  timeout = std::min(timeout, kLongestTimeout);
  if (timeout == kNoTimeout)
    queue_->help(*this);  // the watchdog has its time
  else
    TORCH_CHECK_WITH(DistBackendError, wait_for_other(timeout), queue_->group().text(), ": ", name_,
                     " was not done in ", timeout.count(), " ms");
  wait_for_future(*queue_);
  if (const auto error = exception()) std::rethrow_exception(error);
  return true;
}

thread_local Queue::Level* Queue::level_of_thread_ = nullptr;

void Queue::stop() {
  if (is_in_child()) return;
  stop_threads();
  while (do_some_and_drop(std::unique_lock(running_))) {  // another thread may have submitted it
  }
}

void Queue::submit(const c10::intrusive_ptr<HostWork>& work, bool now) {
  require_no_child();
  const Crew* const crew = of_callback();
  TORCH_CHECK(
      !crew || crew == this || &crew->group() != &group(), group_->text(),
      ": a callback of a message may start no collective of its group; wait for the message "
      "and start the collective then");
  {
    const std::lock_guard lock(mutex_);
    require_open();
    work->submitted_ = Clock::now();
    if (!now) wake();
    Level& level = crew == this && level_of_thread_ ? *level_of_thread_ : levels_.front();
    level.push_back(work);
  }
  if (now) help(*work);
}

bool Queue::do_some() {
  c10::intrusive_ptr<HostWork> work;
  {
    const std::lock_guard lock(mutex_);
    Level& level = levels_.back();
    if (level.empty()) return false;
    work = std::move(level.front());
    level.pop_front();
    running_name_ = work->name_;
    since_ = Clock::now();
    running_timeout_ = work->timeout_;
    std::uint64_t& n_started = group_->control().n_started;
    std::atomic_ref(n_started).store(n_started + work->is_of_all, std::memory_order_relaxed);
  }
  work->run(lane_);
  const std::lock_guard lock(mutex_);
  running_name_ = nullptr;
  since_ = Clock::now();
  if (hand_over(work)) levels_.emplace_back();
  return true;
}

// The work's level is the last one, since that is empty until the callbacks run.
void Queue::call_back(TensorWorkPtr work) {
  std::list<Level>::iterator level;
  {
    const std::lock_guard lock(mutex_);
    level = std::prev(levels_.end());
  }
  level_of_thread_ = &*level;
  Crew::call_back(std::move(work));
  level_of_thread_ = nullptr;
  const std::lock_guard lock(mutex_);
  Level& before = *std::prev(level);
  before.insert(before.begin(), level->begin(), level->end());
  levels_.erase(level);
}

void Queue::help(HostWork& work) {
  while (!work.is_finished()) {
    require_no_child();
    std::unique_lock running(running_, std::try_to_lock);
    if (running && work.is_finished()) return;
    // The other thread may leave this operation to this thread.
    if (!running || !do_some_and_drop(std::move(running))) work.wait_for_other(kNap);
  }
}

const HostWork* Queue::held_up() const {
  for (auto level = levels_.begin(); level != std::prev(levels_.end()); ++level)
    if (!level->empty()) return level->front().get();
  return nullptr;
}

bool Queue::is_idle() {
  const std::lock_guard lock(mutex_);
  return !running_name_ && !has_work() && !held_up();
}

void Queue::check_time() {
  const std::lock_guard lock(mutex_);
  const auto now = Clock::now();
  if (running_name_) {
    const auto waited = std::chrono::duration_cast<Milliseconds>(now - since_);
    if (waited > running_timeout_) end_job(running_name_, waited);
  } else if (const HostWork* work = held_up()) {
    const auto waited = now - std::max(since_, work->submitted_);
    if (waited <= work->timeout_) return;
    std::fprintf(stderr,
                 "%s: %s has waited %.1f s for a callback of an earlier operation; this ends the "
                 "job\n",
                 group_->text().c_str(), work->name_,
                 std::chrono::duration<double>(waited).count());
    shmem_global_exit(1);
  }
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
