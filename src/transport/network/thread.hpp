// SPDX-License-Identifier: Apache-2.0
//
// The thread that takes in messages while the program computes.
// Invariant: it never polls. It sleeps until the wire has something; while others poll, or a device
// is at work, it takes naps of at most a millisecond. No signal is delivered to it. Made by
// network_transport.
#ifndef MESHMEM_TRANSPORT_NETWORK_THREAD_HPP_
#define MESHMEM_TRANSPORT_NETWORK_THREAD_HPP_

#include <atomic>
#include <chrono>
#include <functional>
#include <thread>

namespace meshmem::network {

class ProgressThread {
 public:
  using Clock = std::chrono::steady_clock;
  struct Work {
    int event_fd;
    int longest_sleep_ms;
    std::function<bool()> progress;  // false: there was nothing
    std::function<bool()> arm;       // false: progress first
    std::function<bool()> is_busy;   // something is to come that wakes nobody
    // When others last made progress; in the future while they do.
    std::function<Clock::time_point()> polled_at;
    std::function<void()> look;  // at other things, at least after the longest sleep
    // Says that it naps from now on, and calls send_held() after each nap; or that it does not.
    std::function<void(bool naps)> watch;
    std::function<void()> send_held;
  };
  ~ProgressThread() { stop(); }
  void start(Work work);
  // Returns when the thread has ended. Not called by it.
  void stop();

  // Whether it sleeps until something comes, and nobody has called wake_soon().
  bool sleeps_on() const { return sleep_.load(std::memory_order_relaxed) == Sleep::on; }
  // Within a millisecond: for what can wait so long, and need not if others do it meanwhile.
  void wake_soon();
  // By one who polls: what comes wakes this thread no more. It looks within a millisecond whether
  // somebody still polls.
  void leave_it_to_caller();

 private:
  enum class Sleep { none, on, for_a_moment };

  void run();
  bool take_in();
  bool others_have_polled(std::chrono::microseconds within) const;
  void leave_it_to_others();
  void nap_while_others_poll();
  void nap_while_busy();
  void sleep_until_event();

  Work work_;
  int stop_fd_ = -1, epoll_fd_ = -1, timer_fd_ = -1;
  std::atomic<Sleep> sleep_{Sleep::none};
  std::atomic<bool> stops_{false};
  std::thread thread_;
};

}  // namespace meshmem::network

#endif  // MESHMEM_TRANSPORT_NETWORK_THREAD_HPP_
