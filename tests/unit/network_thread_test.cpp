// SPDX-License-Identifier: Apache-2.0
//
// When the network's thread wakes up: at once for what nobody takes in, and not for the answer to
// one who polls for it.
#include "transport/network_thread.hpp"

#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>

namespace meshmem::network {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kTimer{1};
constexpr auto kLongEnough = std::chrono::seconds(20);

template <typename Ready>
[[nodiscard]] bool comes_true(const Ready& ready) {
  const auto late = Clock::now() + kLongEnough;
  while (!ready()) {
    if (Clock::now() > late) return false;
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
  return true;
}

// A wire that has something when the test says so, and a thread that sleeps until then. Nobody else
// polls.
class SleepingThread : public ::testing::Test {
 protected:
  void SetUp() override {
    thread_.start({event_fd_, 60'000, [this] { return take_in(); }, [this] { return arm(); },
                   [] { return false; }, [] { return std::uint32_t{0}; }, [] {}, [](bool) {},
                   [] {}});
    ASSERT_TRUE(comes_true([&] { return is_armed_.load(); }));
  }
  void TearDown() override {
    thread_.stop();
    ::close(event_fd_);
  }

  void bring() {
    const std::uint64_t one = 1;
    ASSERT_EQ(write(event_fd_, &one, sizeof one), static_cast<ssize_t>(sizeof one));
  }
  bool has_taken_in() const { return taken_at_.load() != Clock::time_point{}; }

  ProgressThread thread_;
  std::atomic<Clock::time_point> taken_at_{};

 private:
  bool take_in() {
    std::uint64_t times = 0;
    if (read(event_fd_, &times, sizeof times) <= 0) return false;
    taken_at_ = Clock::now();
    return true;
  }
  // The thread watches the wire from before this until it wakes up.
  bool arm() {
    is_armed_ = true;
    return true;
  }

  int event_fd_ = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  std::atomic<bool> is_armed_{false};
};

TEST_F(SleepingThread, WakesForWhatComes) {
  EXPECT_TRUE(thread_.sleeps_on());
  bring();
  EXPECT_TRUE(comes_true([&] { return has_taken_in(); }));
}

TEST_F(SleepingThread, IsNotWokenByWhatItsCallerPollsFor) {
  const auto asked = Clock::now();
  thread_.leave_it_to_caller();
  EXPECT_FALSE(thread_.sleeps_on());
  bring();
  // The caller has gone away without taking it in.
  ASSERT_TRUE(comes_true([&] { return has_taken_in(); }));
  EXPECT_GE(taken_at_.load() - asked, kTimer);
}

TEST_F(SleepingThread, SleepsOnAfterwards) {
  thread_.leave_it_to_caller();
  ASSERT_TRUE(comes_true([&] { return thread_.sleeps_on(); }));
  bring();
  EXPECT_TRUE(comes_true([&] { return has_taken_in(); }));
}

}  // namespace
}  // namespace meshmem::network
