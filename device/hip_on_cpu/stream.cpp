// SPDX-License-Identifier: Apache-2.0
// The worker of a stream.
// Invariant: a worker is detached and holds on to its stream, so neither exit nor destruction waits
// for it.
#include "stream.hpp"

#include <chrono>
#include <utility>

#include "os_thread.hpp"

namespace hip_on_cpu {
namespace {

constexpr auto kIdleStreamTime = std::chrono::seconds(1);

}  // namespace

void Ticket::wait() const { stream->wait(number); }
bool Ticket::is_done() const { return stream->has_done(number); }

hipError_t Stream::enqueue(Operation operation, std::vector<Ticket> after) {
  const std::lock_guard lock(mutex_);
  if (!has_worker_) {
    if (!try_start_os_thread([self = shared_from_this()] { self->work(); }))
      return hipErrorOutOfMemory;
    has_worker_ = true;
  }
  tasks_.push_back({std::move(operation), std::move(after)});
  ++last_;
  submitted_.notify_one();
  return hipSuccess;
}

Ticket Stream::last() {
  const std::lock_guard lock(mutex_);
  return {shared_from_this(), last_};
}

bool Stream::is_idle() {
  const std::lock_guard lock(mutex_);
  return completed_ == last_;
}

bool Stream::has_done(std::uint64_t number) {
  const std::lock_guard lock(mutex_);
  return completed_ >= number;
}

void Stream::wait(std::uint64_t number) {
  std::unique_lock lock(mutex_);
  done_.wait(lock, [&] { return completed_ >= number; });
}

hipError_t Stream::take_error() {
  const std::lock_guard lock(mutex_);
  return std::exchange(error_, hipSuccess);
}

void Stream::work() {
  std::unique_lock lock(mutex_);
  while (submitted_.wait_for(lock, kIdleStreamTime, [&] { return !tasks_.empty(); })) {
    Task task = std::move(tasks_.front());
    tasks_.pop_front();
    lock.unlock();
    const hipError_t error = run(std::move(task));
    lock.lock();
    if (error_ == hipSuccess) error_ = error;
    ++completed_;
    done_.notify_all();
  }
  has_worker_ = false;
}

// Takes the task by value, so that its captured objects are destroyed before it counts as done.
hipError_t Stream::run(Task task) {
  for (const Ticket& ticket : task.after) ticket.wait();
  return task.operation();
}

}  // namespace hip_on_cpu
