// SPDX-License-Identifier: Apache-2.0
//
// How the network's thread naps, sleeps and wakes up.
// Invariant: it sleeps until an event only if no other thread has polled for a while, and after it
// has armed the wire with nothing left to do.
#include "transport/network/thread.hpp"

#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/error.hpp"
#include "base/hooks/own_work.hpp"
#include "base/machine/thread.hpp"

namespace meshmem::network {
namespace {

using std::chrono::microseconds;
constexpr microseconds kShortestNap{100}, kLongestNap{1000};
// A PE that takes in a stream of large messages polls at least this often, and four times in a nap.
// A PE that polls less often has gone to compute, or is about to sleep too.
constexpr microseconds kLongestBetweenPolls{100};
constexpr int kPollsInNap = 4;
// A PE may copy for this long in a large collective before it polls again.
constexpr microseconds kLongestCopy{1000};

void watch(int epoll_fd, int fd) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = fd;
  check(epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event), "watch the network");
}

}  // namespace

void ProgressThread::start(Work work) {
  work_ = std::move(work);
  stop_fd_ = check(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), "make an event for a thread");
  epoll_fd_ = check(epoll_create1(EPOLL_CLOEXEC), "watch the network");
  watch(epoll_fd_, stop_fd_);
  timer_fd_ = check(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK),
                    "make a timer for a thread");
  watch(epoll_fd_, timer_fd_);
  stops_ = false;
  thread_ = start_thread("that takes in messages of other machines", [this] { run(); });
}

void ProgressThread::stop() {
  if (!thread_.joinable()) return;
  stops_ = true;
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(stop_fd_, &one, sizeof one);
  thread_.join();
  for (const int fd : {stop_fd_, timer_fd_, epoll_fd_}) ::close(fd);
}

// A thread that has polled within kLongestCopy will most likely poll again. Waiting for that poll
// would not help: this thread may occupy the core of the thread that polls.
void ProgressThread::run() {
  pthread_setname_np(pthread_self(), "meshmem network");
  bool was_armed = true;
  while (!stops_) {
    work_.check_losses();
    if (others_have_polled(kLongestCopy)) leave_it_to_others();
    const bool any = take_in();
    if (work_.is_busy()) {
      nap_while_busy();
      continue;
    }
    const bool armed = sleep_until_event();
    // One refusal is usual: an acknowledgement had to be sent first.
    if (!armed && !was_armed && !any) std::this_thread::sleep_for(kShortestNap);
    was_armed = armed;
  }
}

void ProgressThread::nap_while_busy() {
  microseconds nap = kShortestNap;
  for (; !stops_ && work_.is_busy(); nap = std::min(nap * 2, kLongestNap)) {
    std::this_thread::sleep_for(nap);
    work_.check_losses();
    if (take_in()) nap = kShortestNap;
  }
}

bool ProgressThread::take_in() {
  OwnWorkSpan span(OwnWork::take_in_messages);
  bool any = false;
  while (work_.progress() && !stops_) any = true;
  if (any) span.done();
  return any;
}

bool ProgressThread::others_have_polled(microseconds within) const {
  return Clock::now() - work_.polled_at() <= within;
}

void ProgressThread::leave_it_to_others() {
  work_.set_napping(true);
  nap_while_others_poll();
  work_.set_napping(false);
}

void ProgressThread::nap_while_others_poll() {
  for (microseconds nap = kShortestNap; !stops_; nap = std::min(nap * 2, kLongestNap)) {
    std::this_thread::sleep_for(nap);
    work_.check_losses();
    work_.send_delayed();
    if (!others_have_polled(std::max(kLongestBetweenPolls, nap / kPollsInNap))) return;
  }
}

// Sets sleep_ before it arms the wire, so that a thread that then takes in something finds sleep_
// set and calls wake_soon(). Watches the wire's descriptor only while it sleeps: otherwise the
// sender of each message would pay for notifying this epoll instance.
bool ProgressThread::sleep_until_event() {
  sleep_ = Sleep::until_event;
  epoll_event event{};
  watch(epoll_fd_, work_.event_fd);
  const bool armed = work_.arm();
  const bool any = armed && epoll_wait(epoll_fd_, &event, 1, work_.longest_sleep_ms) == 1;
  sleep_ = Sleep::none;
  epoll_ctl(epoll_fd_, EPOLL_CTL_DEL, work_.event_fd, nullptr);
  std::uint64_t times = 0;
  if (any && event.data.fd == timer_fd_) {
    [[maybe_unused]] const ssize_t n = read(timer_fd_, &times, sizeof times);
  }
  return armed;
}

// The order matters: if the thread wakes in between and watches again, the timer still wakes it.
void ProgressThread::stop_watching_wire() {
  epoll_ctl(epoll_fd_, EPOLL_CTL_DEL, work_.event_fd, nullptr);
  wake_soon();
}

void ProgressThread::wake_soon() {
  sleep_ = Sleep::until_timer;
  itimerspec time{};
  time.it_value.tv_nsec = std::chrono::nanoseconds(kLongestNap).count();
  timerfd_settime(timer_fd_, 0, &time, nullptr);
}

}  // namespace meshmem::network
