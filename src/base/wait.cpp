// SPDX-License-Identifier: Apache-2.0
//
// The slow part of waiting. Called once a wait has polled in vain.
#include "base/wait.hpp"

#include <sched.h>
#include <time.h>

#include <algorithm>

#include "base/error.hpp"

namespace meshmem {

constinit WaitPolicy wait_policy;

namespace {
// A yield takes about half a microsecond, more where it lets another PE run. So many of them keep a wait that lasts as
// long as a collective responsive; what takes longer sleeps, and leaves the core to those who compute.
constexpr unsigned kYields = 4000;
constexpr unsigned kYieldsPerLook = 256;  // at the clock
constexpr unsigned kLongestNapUs = 1000;
}  // namespace

bool Backoff::pause() {
  ++rounds_;
  if (rounds_ <= kYields) {
    sched_yield();
    if (rounds_ % kYieldsPerLook != 1 || timeout_seconds_ <= 0) return false;
  } else {
    const timespec nap{0, static_cast<long>(nap_us_) * 1000};
    nanosleep(&nap, nullptr);
    nap_us_ = std::min(nap_us_ * 2, kLongestNapUs);
  }
  if (timeout_seconds_ <= 0) return false;
  const auto now = Clock::now();
  if (start_ == Clock::time_point{}) start_ = now;
  return std::chrono::duration<double>(now - start_).count() > timeout_seconds_;
}

void report_timeout(double seconds, const std::string& what) {
  fatal("waited {:g} s for {}; the limit is {}", seconds, what, wait_policy.timeout_name);
}

}  // namespace meshmem
