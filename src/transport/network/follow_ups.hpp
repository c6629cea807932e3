// SPDX-License-Identifier: Apache-2.0
//
// Whether something follows a put at once, such as the flag that announces the data, or a quiet:
// learned from what the program has done before. Then the put may wait and share the message of
// what follows.
// Invariant: a guess that was wrong makes the next one later. Used by flow.
#ifndef MESHMEM_TRANSPORT_NETWORK_FOLLOW_UPS_HPP_
#define MESHMEM_TRANSPORT_NETWORK_FOLLOW_UPS_HPP_

#include <algorithm>
#include <chrono>

namespace meshmem::network {

class FollowUps {
 public:
  using Clock = std::chrono::steady_clock;
  // Longer than it takes to call for a fence and another put, once the put has left.
  static constexpr auto kSoon = std::chrono::microseconds(20);

  void note_put(Clock::time_point now) {
    note_other(now);
    put_ = now;
  }
  // The wire has it, which may have taken as long as what follows takes to come.
  void note_left(Clock::time_point now) {
    if (is_open()) put_ = now;
  }
  void note_other(Clock::time_point now) {
    if (!is_open()) return;
    in_a_row_ = now - put_ <= kSoon ? std::min(in_a_row_ + 1, needed_) : 0;
    put_ = {};
  }
  // Notes that something else has come than what is counted here.
  void note_missed() {
    in_a_row_ = 0;
    put_ = {};
  }
  // A put has not been followed yet.
  bool is_open() const { return put_ != Clock::time_point{}; }
  bool are_expected() const { return in_a_row_ >= needed_; }
  // One was expected and has not come.
  void note_none() {
    note_missed();
    needed_ = std::min(needed_ * 2, kMostNeeded);
  }

 private:
  static constexpr int kMostNeeded = 1024;
  Clock::time_point put_{};  // not followed yet
  int in_a_row_ = 0, needed_ = 4;
};

}  // namespace meshmem::network

#endif  // MESHMEM_TRANSPORT_NETWORK_FOLLOW_UPS_HPP_
