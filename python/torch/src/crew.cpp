// SPDX-License-Identifier: Apache-2.0
//
// Threads are started when there is work and none is free, and stay until the group ends.
// Invariant: a thread keeps its crew alive, so the crew's last user may be one of its threads.
#include "crew.hpp"

#include <unistd.h>

#include <atomic>
#include <chrono>

namespace meshmem::pytorch {
namespace {

constexpr std::chrono::seconds kLongestCallback{10};  // after the end of the program

thread_local const Crew* crew_of_thread = nullptr;  // null while it runs callbacks
std::atomic<int> n_releasing{0};
std::atomic<bool> has_left_python{false};

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

void TensorWork::call_back() {
  if (const auto error = exception())
    future_->setError(error);
  else
    future_->markCompleted(outputs_);
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

void Crew::require_open() const { TORCH_CHECK(!ends_, group_->text(), ": the group has ended"); }

void Crew::wake() {
  if (n_free_ == 0) {
    threads_.emplace_back([self = shared_from_this()] { self->serve(); });
    ++n_free_;
  }
  more_.notify_one();
}

void Crew::serve() {
  crew_of_thread = this;
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      more_.wait(lock, [this] { return ends_ || has_work(); });
      if (!has_work()) return;
    }
    work_once();
  }
}

bool Crew::work_once() {
  Works finished;
  {
    const std::lock_guard running(running_);
    finished = do_some();
  }
  const bool has_finished = !finished.empty();
  release(std::move(finished));
  return has_finished;
}

void Crew::release(Works finished) {
  ++n_releasing;
  if (has_left_python)
    new Works(std::move(finished));  // for ever
  else
    call_back(std::move(finished));
  --n_releasing;
}

void Crew::call_back(Works finished) {
  for (const auto& work : finished) work->drop_inputs();
  std::erase_if(finished, [](const auto& work) { return !work->has_future(); });
  if (finished.empty()) return;
  const Crew* const crew = std::exchange(crew_of_thread, nullptr);
  if (crew == this) {
    const std::lock_guard lock(mutex_);
    --n_free_;
    if (has_work()) wake();
  }
  for (const auto& work : finished) work->call_back();
  if (crew == this) {
    const std::lock_guard lock(mutex_);
    ++n_free_;
  }
  crew_of_thread = crew;
}

void leave_python() {
  has_left_python = true;
  const auto end = std::chrono::steady_clock::now() + kLongestCallback;
  while (n_releasing > 0 && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

void Crew::stop_threads() {
  for (;;) {
    std::vector<std::thread> threads;
    {
      const std::lock_guard lock(mutex_);
      ends_ = true;
      threads.swap(threads_);
    }
    if (threads.empty()) return;
    more_.notify_all();
    for (std::thread& thread : threads) {
      if (thread.get_id() == std::this_thread::get_id())
        thread.detach();
      else
        thread.join();
    }
  }
}

}  // namespace meshmem::pytorch
