// SPDX-License-Identifier: Apache-2.0
//
// The network's thread, which takes in messages while the program computes.
// Invariant: it never spins. It sleeps until the wire has something. While other threads poll, or a
// device is at work, it naps for at most a millisecond at a time. It gets no signals. Started by
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
    std::function<bool()> progress;  // false: there was nothing to do
    std::function<bool()> arm;       // false: call progress() first
    std::function<bool()> is_busy;   // a device is at work, whose end wakes no thread
    // When other threads polled last; in the future while they poll.
    std::function<Clock::time_point()> polled_at;
    std::function<void()> check_losses;  // called after each sleep and each nap
    // true: the thread naps from now on, and calls send_delayed() after each nap. false: no longer.
    std::function<void(bool naps)> set_napping;
    std::function<void()> send_delayed;
  };
  ~ProgressThread() { stop(); }
  void start(Work work);
  // Returns when the thread has ended. Other threads call it.
  void stop();

  // True if it sleeps until the wire has something, and no thread has called wake_soon().
  bool sleeps_until_event() const {
    return sleep_.load(std::memory_order_relaxed) == Sleep::until_event;
  }
  // Wakes it within a millisecond, for work that can wait that long.
  void wake_soon();
  // Called by a thread that polls, so that arriving messages do not wake the network's thread. A
  // timer wakes it within a millisecond, so that it sees whether that thread still polls.
  void stop_watching_wire();

 private:
  enum class Sleep { none, until_event, until_timer };

  void run();
  // Takes in all messages that are there. False: there were none.
  bool take_in();
  bool others_have_polled(std::chrono::microseconds within) const;
  void leave_it_to_others();
  void nap_while_others_poll();
  void nap_while_busy();
  // False: the wire could not be armed, which may last, as while a lost peer's data is awaited.
  bool sleep_until_event();

  Work work_;
  int stop_fd_ = -1, epoll_fd_ = -1, timer_fd_ = -1;
  std::atomic<Sleep> sleep_{Sleep::none};
  std::atomic<bool> stops_{false};
  std::thread thread_;
};

}  // namespace meshmem::network

#endif  // MESHMEM_TRANSPORT_NETWORK_THREAD_HPP_
