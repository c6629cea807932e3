// SPDX-License-Identifier: Apache-2.0
//
// Locks: set, test and clear, in the heap and in static data, one and many, by PEs and their
// threads.
// Invariant: a get and a put change the guarded data, so updates are lost if the lock lets two PEs
// in.
#include <shmemx.h>

#include <array>
#include <functional>
#include <thread>
#include <vector>

#include "symmetric_array.hpp"

namespace meshmem {
namespace {

constexpr size_t kLocks = 40;
long static_lock;
long static_locks[kLocks];

// Raises a counter on the last PE in two steps. The next clear_lock completes the second, so its
// source must stay until then. Before it clears a lock, a thread raises fewer counters than
// `values` holds.
void raise(long* counter) {
  thread_local std::array<long, 64> values;
  thread_local size_t next = 0;
  long& after = values[next++ % values.size()];
  after = shmem_long_g(counter, n_pes() - 1) + 1;
  shmem_long_put_nbi(counter, &after, 1, n_pes() - 1);
}

void expect_free(const long* locks, size_t n) {
  shmem_barrier_all();
  expect_all("a lock that nobody holds", locks, n, 0L);
  shmem_barrier_all();
}

void check_exclusion(long* lock, long* counter) {
  constexpr long kRounds = 60;
  const long zero = 0;
  shmem_long_put(counter, &zero, 1, my_pe());
  shmem_barrier_all();
  for (long round = 0; round < kRounds; ++round) {
    shmem_set_lock(lock);
    raise(counter);
    shmem_clear_lock(lock);
  }
  shmem_barrier_all();
  EXPECT_EQ(shmem_long_g(counter, n_pes() - 1), n_pes() * kRounds);
  expect_free(lock, 1);
}

TEST(Lock, S61_KeepsOtherPesOut) {
  SymmetricArray<long> lock(1), counter(1);
  lock[0] = 0;
  check_exclusion(lock, counter);
  check_exclusion(&static_lock, counter);
}

// A put to device memory may be under way when it returns: the next PE would then read the old
// value.
TEST(Lock, S61_ClearCompletesPutsFirst) {
  auto* counter = static_cast<long*>(shmem_malloc_with_hints(sizeof(long), SHMEMX_MALLOC_DEVICE));
  if (!counter) return;  // there is no device
  check_exclusion(&static_lock, counter);
  shmem_free(counter);
}

// PE 0 sees who has come to the queue in its copy of the lock (core/lock.hpp): the number in its
// first half.
TEST(Lock, S61_IsFirstComeFirstServed) {
  SymmetricArray<long> turn(1), served(1);
  turn[0] = served[0] = 0;
  shmem_barrier_all();
  if (my_pe() == 0) {
    shmem_set_lock(&static_lock);
    auto* last_to_come = reinterpret_cast<unsigned*>(&static_lock);
    for (int pe = n_pes() - 1; pe > 0; --pe) {
      shmem_long_p(turn, 1, pe);
      shmem_uint_wait_until(last_to_come, SHMEM_CMP_EQ, static_cast<unsigned>(pe) + 1);
    }
    shmem_clear_lock(&static_lock);
  } else {
    shmem_long_wait_until(turn, SHMEM_CMP_EQ, 1);
    shmem_set_lock(&static_lock);
    EXPECT_EQ(shmem_long_atomic_fetch_inc(served, 0), n_pes() - 1 - my_pe());
    shmem_clear_lock(&static_lock);
  }
  expect_free(&static_lock, 1);
}

TEST(Lock, S61_TestSaysWhetherItCouldBeSet) {
  SymmetricArray<long> lock(1), got(1), winners(1);
  lock[0] = 0;
  shmem_barrier_all();
  const int owner = n_pes() - 1;
  if (my_pe() == owner) {
    EXPECT_EQ(shmem_test_lock(lock), 0) << "a free lock";
  }
  shmem_barrier_all();
  if (my_pe() != owner) {
    EXPECT_EQ(shmem_test_lock(lock), 1) << "a lock of PE " << owner;
  }
  shmem_barrier_all();
  if (my_pe() == owner) shmem_clear_lock(lock);
  shmem_barrier_all();

  got[0] = shmem_test_lock(lock) == 0 ? 1 : 0;
  shmem_barrier_all();
  EXPECT_EQ(shmem_long_sum_reduce(SHMEM_TEAM_WORLD, winners, got, 1), 0);
  EXPECT_EQ(winners[0], 1) << "of all that try at once one gets it";
  if (got[0] == 1) shmem_clear_lock(lock);
  expect_free(lock, 1);
}

TEST(Lock, S61_SetAfterTestWaitsForIt) {
  SymmetricArray<long> counter(1);
  counter[0] = 0;
  shmem_barrier_all();
  constexpr int kRounds = 40;
  for (int round = 0; round < kRounds; ++round) {
    if ((round + my_pe()) % 2 == 0) {
      while (shmem_test_lock(&static_lock) != 0) {
      }
    } else {
      shmem_set_lock(&static_lock);
    }
    raise(counter);
    shmem_clear_lock(&static_lock);
  }
  shmem_barrier_all();
  EXPECT_EQ(shmem_long_g(counter, n_pes() - 1), n_pes() * kRounds);
  expect_free(&static_lock, 1);
}

// Every PE holds many locks at a time: in each round those from its number on, in ascending order.
TEST(Lock, S61_APeHoldsManyAtOnce) {
  SymmetricArray<long> heap_locks(kLocks), counters(kLocks);
  std::fill(heap_locks.data(), heap_locks.data() + kLocks, 0);
  for (long* locks : {heap_locks.data(), static_locks}) {
    std::fill(counters.data(), counters.data() + kLocks, 0);
    shmem_barrier_all();
    for (size_t first = static_cast<size_t>(my_pe()); first < kLocks; ++first) {
      const size_t end = std::min(first + 7, kLocks);
      for (size_t i = first; i < end; ++i) shmem_set_lock(&locks[i]);
      for (size_t i = first; i < end; ++i) raise(&counters[i]);
      for (size_t i = first; i < end; ++i) shmem_clear_lock(&locks[i]);
    }
    shmem_barrier_all();
    if (my_pe() == n_pes() - 1) {
      expect_each("counter", counters.data(), kLocks, [](size_t i) {
        long sum = 0;
        for (int pe = 0; pe < n_pes(); ++pe)
          for (size_t first = static_cast<size_t>(pe); first <= i; ++first) sum += i - first < 7;
        return sum;
      });
    }
    expect_free(locks, kLocks);
  }
}

void in_threads(size_t n, const std::function<void(size_t thread)>& work) {
  std::vector<std::thread> threads;
  for (size_t t = 0; t < n; ++t) threads.emplace_back(work, t);
  for (std::thread& thread : threads) thread.join();
}

TEST(Lock, S62_ThreadsMayHoldOneEachAtOnce) {
  constexpr size_t kThreads = 4;
  constexpr long kRounds = 20;
  SymmetricArray<long> counters(kThreads);
  std::fill(counters.data(), counters.data() + kThreads, 0);
  shmem_barrier_all();
  in_threads(kThreads, [&](size_t thread) {
    for (long round = 0; round < kRounds; ++round) {
      shmem_set_lock(&static_locks[thread]);
      raise(&counters[thread]);
      shmem_clear_lock(&static_locks[thread]);
    }
  });
  shmem_barrier_all();
  if (my_pe() == n_pes() - 1) expect_all("counter", counters.data(), kThreads, n_pes() * kRounds);
  expect_free(static_locks, kLocks);
}

TEST(Lock, S61_BelongsToThePeAndNotToItsThread) {
  if (my_pe() == 0) shmem_set_lock(&static_lock);
  if (my_pe() == 0) in_threads(1, [](size_t) { EXPECT_EQ(shmem_test_lock(&static_lock), 1); });
  if (my_pe() == 0) in_threads(1, [](size_t) { shmem_clear_lock(&static_lock); });
  shmem_barrier_all();
  if (my_pe() == n_pes() - 1) {
    EXPECT_EQ(shmem_test_lock(&static_lock), 0);
    shmem_clear_lock(&static_lock);
  }
  expect_free(&static_lock, 1);
}

}  // namespace
}  // namespace meshmem
