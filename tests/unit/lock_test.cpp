// SPDX-License-Identifier: Apache-2.0
//
// The queue of a lock, with PEs that are threads: ThreadSanitizer sees whether what one holder did
// happens before what the next one does.
// Invariant: what a lock guards is a plain variable, which all PEs share.
#include "core/lock.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <vector>

#include "pe_threads.hpp"

namespace meshmem {
namespace {

constexpr const char* kRoutine = "a unit test";

long* lock_in(PeThreads::Pe& pe, std::size_t index = 0) {
  return reinterpret_cast<long*>(pe.heap) + index;
}

class LockOf : public testing::TestWithParam<int> {};

TEST_P(LockOf, S61_LetsOneInAtATime) {
  constexpr long kRounds = 300;
  PeThreads job(GetParam(), 4096);
  long guarded = 0;
  std::atomic<long> taken{0};
  job.run([&](PeThreads::Pe& pe) {
    for (long round = 0; round < kRounds; ++round) {
      Lock lock(pe.map, lock_in(pe), kRoutine);
      if (round % 3 != 0) {
        lock.acquire();
      } else if (!lock.try_acquire()) {
        continue;
      }
      lock.require_held();
      ++guarded;
      ++taken;
      lock.release();
    }
  });
  EXPECT_EQ(guarded, taken.load());
  EXPECT_GE(guarded, GetParam() * kRounds / 3 * 2);
  job.run([](PeThreads::Pe& pe) { EXPECT_EQ(*lock_in(pe), 0) << "PE " << pe.number; });
}

// Each PE enters the queue when the one before has, which PE 0 sees in its copy's tail.
TEST_P(LockOf, S61_IsFirstComeFirstServed) {
  const int n = GetParam();
  PeThreads job(n, 4096);
  std::vector<int> served;
  std::atomic<int> turn{n};
  job.run([&](PeThreads::Pe& pe) {
    Lock lock(pe.map, lock_in(pe), kRoutine);
    const auto wait_for = [&](const auto& ready) {
      wait_until_ready(ready, [] { return "a turn"; });
    };
    if (pe.number > 0) {
      wait_for([&] { return turn.load() == pe.number; });
      lock.acquire();
      served.push_back(pe.number);
      lock.release();
      return;
    }
    lock.acquire();
    const auto* tail = reinterpret_cast<const std::uint32_t*>(lock_in(pe));
    for (int next = n - 1; next > 0; --next) {
      turn = next;
      wait_for([&] {
        return __atomic_load_n(tail, __ATOMIC_ACQUIRE) == static_cast<std::uint32_t>(next) + 1;
      });
    }
    lock.release();
  });
  std::vector<int> expected;
  for (int pe = n - 1; pe > 0; --pe) expected.push_back(pe);
  EXPECT_EQ(served, expected);
}

INSTANTIATE_TEST_SUITE_P(Pes, LockOf, testing::Values(1, 2, 3, 8));

}  // namespace
}  // namespace meshmem
