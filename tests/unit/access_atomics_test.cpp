// SPDX-License-Identifier: Apache-2.0
//
// The atomics of programs under the race checker: of 16 bytes, which processors do in different
// ways, and of 8 bytes for comparison.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <thread>
#include <utility>
#include <vector>

#include "tools/accesses/hooks.hpp"

__extension__ using Wide = unsigned __int128;

extern "C" {
Wide __tsan_atomic128_load(const volatile Wide* at, int order);
void __tsan_atomic128_store(volatile Wide* at, Wide value, int order);
Wide __tsan_atomic128_exchange(volatile Wide* at, Wide value, int order);
Wide __tsan_atomic128_fetch_add(volatile Wide* at, Wide value, int order);
Wide __tsan_atomic128_fetch_nand(volatile Wide* at, Wide value, int order);
int __tsan_atomic128_compare_exchange_strong(volatile Wide* at, Wide* expected, Wide desired,
                                             int order, int failed_order);
std::uint64_t __tsan_atomic64_fetch_add(volatile std::uint64_t* at, std::uint64_t value, int order);
}

namespace meshmem::accesses {

constinit std::atomic<const AccessHooks*> hooks{nullptr};  // no job, so the accesses are not noted

namespace {

constexpr Wide wide(std::uint64_t high, std::uint64_t low) { return Wide{high} << 64 | low; }

TEST(AccessAtomics, ChangeBothHalves) {
  alignas(16) Wide word = 0;
  __tsan_atomic128_store(&word, wide(1, UINT64_MAX), __ATOMIC_SEQ_CST);
  EXPECT_TRUE(__tsan_atomic128_fetch_add(&word, 1, __ATOMIC_SEQ_CST) == wide(1, UINT64_MAX));
  EXPECT_TRUE(__tsan_atomic128_load(&word, __ATOMIC_SEQ_CST) == wide(2, 0));
  EXPECT_TRUE(__tsan_atomic128_exchange(&word, wide(12, 12), __ATOMIC_SEQ_CST) == wide(2, 0));
  EXPECT_TRUE(__tsan_atomic128_fetch_nand(&word, wide(10, 6), __ATOMIC_SEQ_CST) == wide(12, 12));
  EXPECT_TRUE(word == ~wide(8, 4));
}

TEST(AccessAtomics, CompareBothHalves) {
  alignas(16) Wide word = wide(3, 4);
  Wide expected = wide(5, 4);
  EXPECT_EQ(__tsan_atomic128_compare_exchange_strong(&word, &expected, 9, 5, 5), 0);
  EXPECT_TRUE(expected == wide(3, 4));
  EXPECT_EQ(__tsan_atomic128_compare_exchange_strong(&word, &expected, wide(9, 8), 5, 5), 1);
  EXPECT_TRUE(word == wide(9, 8));
}

int n_stores = 0, n_looks = 0;
constexpr AccessHooks kCounting{
    .note = [](const void*, std::size_t, AccessKind, const void*) -> Ledger* {
      ++n_stores;
      return nullptr;
    },
    .saw = [](const void*, std::size_t) { ++n_looks; },
    .change_parallel = nullptr,
    .release = nullptr,
    .acquire = nullptr,
    .begin_strand = nullptr,
    .end_strand = nullptr,
    .forget = nullptr,
    .name_caller = nullptr};

TEST(AccessAtomics, OnlyLoadWhereTheyFindAnotherValue) {
  hooks = &kCounting;
  alignas(16) Wide word = 3;
  Wide expected = 5;
  EXPECT_EQ(__tsan_atomic128_compare_exchange_strong(&word, &expected, 9, 5, 5), 0);
  EXPECT_EQ(std::pair(n_stores, n_looks), std::pair(0, 1));
  EXPECT_EQ(__tsan_atomic128_compare_exchange_strong(&word, &expected, 9, 5, 5), 1);
  EXPECT_EQ(std::pair(n_stores, n_looks), std::pair(1, 2));
  hooks = nullptr;
}

TEST(AccessAtomics, LoseNoneOfSeveralThreads) {
  constexpr int kThreads = 4, kRounds = 20000;
  alignas(16) Wide word = 0;
  std::uint64_t number = 0;
  std::atomic<int> torn = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i)
    threads.emplace_back([&] {
      for (int round = 0; round < kRounds; ++round) {
        __tsan_atomic128_fetch_add(&word, wide(1, 1), __ATOMIC_SEQ_CST);
        __tsan_atomic64_fetch_add(&number, 1, __ATOMIC_SEQ_CST);
        const Wide seen = __tsan_atomic128_load(&word, __ATOMIC_SEQ_CST);
        if (seen >> 64 != static_cast<std::uint64_t>(seen)) ++torn;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(word == wide(kThreads * kRounds, kThreads * kRounds));
  EXPECT_EQ(number, kThreads * kRounds);
  EXPECT_EQ(torn, 0);
}

}  // namespace
}  // namespace meshmem::accesses
