// SPDX-License-Identifier: Apache-2.0
//
// When the network's thread wakes up and takes in what has come: at once if nobody else does, but
// not an answer that another thread polls for.
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "transport/network/thread.hpp"

namespace meshmem::network {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kTimer{1};
constexpr std::chrono::microseconds kShortestNap{100};
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

// A wire that has something when the test says so, and a thread that sleeps until then. Others have
// polled when the test says so.
class SleepingThread : public ::testing::Test {
 protected:
  void SetUp() override {
    thread_.start({event_fd_, 60'000, [this] { return take_in(); }, [this] { return arm(); },
                   [] { return false; },
                   [this] { return polls_ ? Clock::now() : polled_at_.load(); }, [] {},
                   [this](bool naps) { naps_ = naps; }, [] {}});
    ASSERT_TRUE(falls_asleep());
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
  [[nodiscard]] bool falls_asleep() {
    return comes_true([&] { return is_armed_.load(); });
  }

  ProgressThread thread_;
  std::atomic<Clock::time_point> taken_at_{}, polled_at_{};
  std::atomic<bool> polls_{false}, naps_{false}, is_armed_{false}, can_arm_{true};
  std::atomic<int> arms_{0};

 private:
  bool take_in() {
    std::uint64_t times = 0;
    if (read(event_fd_, &times, sizeof times) <= 0) return false;
    taken_at_ = Clock::now();
    is_armed_ = false;
    return true;
  }
  // The thread watches the wire from before this until it wakes up.
  bool arm() {
    ++arms_;
    is_armed_ = can_arm_.load();
    return is_armed_;
  }

  int event_fd_ = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
};

TEST_F(SleepingThread, WakesForWhatComes) {
  EXPECT_TRUE(thread_.sleeps_until_event());
  bring();
  EXPECT_TRUE(comes_true([&] { return has_taken_in(); }));
}

TEST_F(SleepingThread, IsNotWokenByWhatItsCallerPollsFor) {
  const auto asked = Clock::now();
  thread_.stop_watching_wire();
  EXPECT_FALSE(thread_.sleeps_until_event());
  bring();
  // The caller has gone away without taking the message in.
  ASSERT_TRUE(comes_true([&] { return has_taken_in(); }));
  EXPECT_GE(taken_at_.load() - asked, kTimer);
}

TEST_F(SleepingThread, SleepsOnAfterwards) {
  thread_.stop_watching_wire();
  ASSERT_TRUE(comes_true([&] { return thread_.sleeps_until_event(); }));
  bring();
  EXPECT_TRUE(comes_true([&] { return has_taken_in(); }));
}

TEST_F(SleepingThread, LeavesItToOneWhoPolls) {
  polls_ = true;
  bring();
  ASSERT_TRUE(comes_true([&] { return naps_.load(); }));
  EXPECT_FALSE(has_taken_in());
  polls_ = false;
  EXPECT_TRUE(comes_true([&] { return has_taken_in(); }));
  EXPECT_FALSE(naps_);
}

// As while the data of a lost peer is awaited.
TEST_F(SleepingThread, DoesNotSpinWhileTheWireCannotBeArmed) {
  can_arm_ = false;
  bring();
  ASSERT_TRUE(comes_true([&] { return has_taken_in(); }));
  arms_ = 0;
  std::this_thread::sleep_for(milliseconds(100));
  EXPECT_LE(arms_, milliseconds(100) / kShortestNap + 2);
  can_arm_ = true;
}

// As a PE that has been in a barrier and computes since: the first message is not to wait for a nap
// of the thread. One in twenty comes without being held up by other processes.
TEST_F(SleepingThread, TakesInAtOnceWhereOthersHaveGoneToCompute) {
  auto least = Clock::duration::max();
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(falls_asleep());
    polled_at_ = Clock::now();
    std::this_thread::sleep_for(milliseconds(5));
    taken_at_ = Clock::time_point{};
    const auto sent = Clock::now();
    bring();
    ASSERT_TRUE(comes_true([&] { return has_taken_in(); }));
    least = std::min(least, taken_at_.load() - sent);
  }
  EXPECT_LT(least, kShortestNap);
}

}  // namespace
}  // namespace meshmem::network
