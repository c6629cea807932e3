// SPDX-License-Identifier: Apache-2.0
//
// The thread that takes in messages while the program computes.
// Invariant: it never polls. It sleeps until the wire has something; while others poll, or a device
// is at work, it takes naps of at most a millisecond. No signal is delivered to it. Made by
// network_transport.
#ifndef MESHMEM_TRANSPORT_NETWORK_THREAD_HPP_
#define MESHMEM_TRANSPORT_NETWORK_THREAD_HPP_

#include <atomic>
#include <cstdint>
#include <functional>
#include <thread>

namespace meshmem::network {

class ProgressThread {
 public:
  struct Work {
    int event_fd;
    std::function<bool()> progress;        // false: there was nothing
    std::function<bool()> arm;             // false: progress first
    std::function<bool()> is_busy;         // something is to come that wakes nobody
    std::function<std::uint32_t()> polls;  // how often others have made progress, ever
    std::function<void()> look;            // at other things, twice a second at least
    // Says that it naps from now on, and calls send_held() after each nap; or that it does not.
    std::function<void(bool naps)> watch;
    std::function<void()> send_held;
  };
  ~ProgressThread() { stop(); }
  void start(Work work);
  // Returns when the thread has ended. Not called by it.
  void stop();

 private:
  void run();
  void leave_it_to_others();
  void nap_while_others_poll();
  void nap_while_busy();
  void sleep_until_event() const;

  Work work_;
  int stop_fd_ = -1, epoll_fd_ = -1;
  std::atomic<bool> stops_{false};
  std::thread thread_;
};

}  // namespace meshmem::network

#endif  // MESHMEM_TRANSPORT_NETWORK_THREAD_HPP_
