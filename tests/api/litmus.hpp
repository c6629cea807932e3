// SPDX-License-Identifier: Apache-2.0
//
// The shared part of the litmus tests: rounds, pairs of PEs, messages between them, and the
// verdict.
// Invariant: with MESHMEM_LITMUS_WEAK every test leaves out the call that orders, does instead what
// a machine may then do, and must find what is forbidden. So each is known to be able to fail. Most
// work in pairs; a PE without a partner, as with one PE, plays with itself.
#ifndef MESHMEM_TESTS_API_LITMUS_HPP
#define MESHMEM_TESTS_API_LITMUS_HPP

#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "long_form.hpp"
#include "symmetric_array.hpp"

namespace meshmem {

constexpr size_t kWords = 9;  // more than a cache line

inline bool is_weak() {
  static const bool given = std::getenv("MESHMEM_LITMUS_WEAK") != nullptr;
  return given;
}
// 100,000 in the long form. In the short form slow tests (`cost`) and jobs of many PEs have fewer.
inline int rounds(int cost = 1) {
  const int all = is_weak() ? 40 : 4000;
  const int few = (n_pes() <= 2 ? all : 2 * all / n_pes() + 1) / cost;
  return is_weak() ? few : short_or_long(few, 100000);
}
// The partner is in the other half, which is far if PEs are on two nodes. A last, odd PE is its
// own.
inline int partner() {
  const int half = n_pes() / 2;
  if (my_pe() >= 2 * half) return my_pe();
  return my_pe() < half ? my_pe() + half : my_pe() - half;
}
inline bool sends() { return my_pe() <= partner(); }
inline bool receives() { return my_pe() >= partner(); }

inline long sum_of_all(long value) {
  static long mine, all;
  mine = value;
  shmem_long_sum_reduce(SHMEM_TEAM_WORLD, &all, &mine, 1);
  return all;
}

inline void expect_never(long forbidden_here) {
  const long all = sum_of_all(forbidden_here);
  if (is_weak()) {
    EXPECT_GT(all, 0) << "the weak form does what is forbidden, and the test has not seen it";
  } else {
    EXPECT_EQ(all, 0) << forbidden_here << " of them seen by this PE";
  }
}

// Lets others run for long enough to see what this PE has half done.
inline void nap() { usleep(200); }

// Nothing orders two puts without a fence between them, so the weak form does the second one first.
template <typename First, typename Order, typename Second>
void in_order(const First& first, const Order& order, const Second& second) {
  if (is_weak()) {
    second();
    nap();
    first();
  } else {
    first();
    order();
    second();
  }
}

// Puts a round's number, as often as there are words, to a PE.
inline void put_round(long* data, long round, int pe) {
  long source[kWords];
  std::fill(source, source + kWords, round);
  shmem_long_put(data, source, kWords, pe);
}

inline long words_older_than(long* data, long round) {
  long older = 0;
  for (size_t i = 0; i < kWords; ++i) older += __atomic_load_n(&data[i], __ATOMIC_RELAXED) < round;
  return older;
}

// A PE's part in a test of pairs: the data sent to it, the flag that says so, and whose turn it is.
struct Mail {
  SymmetricArray<long> data{kWords}, flag{16}, turn{16};
  Mail() {
    std::fill(data.data(), data.data() + kWords, 0);
    flag[0] = turn[0] = 0;
    shmem_barrier_all();
  }
};

// The sender calls send(round); the receiver checks the data once await(round) has returned, and
// hands the turn back.
template <typename Send, typename Await>
void pass_messages(Mail& mail, const Send& send, const Await& await) {
  long older = 0;
  for (long round = 1; round <= rounds(); ++round) {
    if (sends()) send(round);
    if (receives()) {
      await(round);
      older += words_older_than(mail.data, round);
      shmem_long_atomic_set(mail.turn, round, partner());
    }
    if (sends()) shmem_long_wait_until(mail.turn, SHMEM_CMP_EQ, round);
  }
  expect_never(older);
}

inline void await_flag(Mail& mail, long round) {
  shmem_long_wait_until(mail.flag, SHMEM_CMP_GE, round);
}

}  // namespace meshmem

#endif
