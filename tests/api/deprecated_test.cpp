// SPDX-License-Identifier: Apache-2.0
//
// The deprecated names that are no collectives: atomics, waits, memory and queries. Other tests
// prove the current routines behind them; these prove that each name calls its own routine.
// Invariant: a PE works on the next PE's words, and waits for the previous PE's changes.
#include <mpp/shmemx.h>
#include <unistd.h>

#include <cstring>
#include <vector>

#include "deprecated_routines.hpp"
#include "symmetric_array.hpp"

namespace meshmem {
namespace {

template <typename E>
E value(int which) {
  return sample<E>(seed_of(my_pe(), static_cast<size_t>(which)));
}

TEST(OldAtomics, S41_FetchSetAndSwap) {
  for_each_old_atomic([](const auto& row) {
    SCOPED_TRACE(row.type);
    using E = typename std::decay_t<decltype(row)>::Element;
    SymmetricArray<E> word(1);
    shmem_barrier_all();
    row.set(word, value<E>(1), next_pe());
    EXPECT_EQ(row.fetch(word, next_pe()), value<E>(1));
    EXPECT_EQ(row.swap(word, value<E>(2), next_pe()), value<E>(1));
    EXPECT_EQ(shmem_g(word.data(), next_pe()), value<E>(2));
  });
}

TEST(OldAtomics, S42_CompareIncrementAndAdd) {
  for_each_old_sum([](const auto& row) {
    SCOPED_TRACE(row.type);
    using E = typename std::decay_t<decltype(row)>::Element;
    const E large = static_cast<E>(value<E>(1) / 4);
    SymmetricArray<E> word(1);
    word[0] = 7;
    shmem_barrier_all();
    EXPECT_EQ(row.cswap(word, 8, large, next_pe()), 7) << "8 is not there";
    EXPECT_EQ(row.cswap(word, 7, large, next_pe()), 7);
    EXPECT_EQ(row.finc(word, next_pe()), large);
    row.inc(word, next_pe());
    EXPECT_EQ(row.fadd(word, large, next_pe()), large + 2);
    row.add(word, -5, next_pe());
    shmem_quiet();
    EXPECT_EQ(shmem_g(word.data(), next_pe()), 2 * large - 3);
  });
}

// Waits while the previous PE writes a value that does not end the wait, then data, then a value
// that ends it.
template <typename E, typename Wait>
void expect_to_wait(E start, E passed, E end, const Wait& wait) {
  SymmetricArray<E> ivar(1);
  SymmetricArray<int> data(1);
  ivar[0] = start;
  data[0] = 0;
  shmem_barrier_all();
  shmem_p(ivar.data(), passed, next_pe());
  if (n_pes() > 1) usleep(200);
  shmem_int_p(data, 1, next_pe());
  shmem_fence();
  shmem_p(ivar.data(), end, next_pe());
  wait(ivar.data());
  EXPECT_EQ(ivar[0], end);
  EXPECT_EQ(data[0], 1) << "the wait was over too early";
  shmem_barrier_all();
}

TEST(OldWait, S45_LastsUntilTheVariableHasAnotherValue) {
  for_each_old_wait([](const auto& row) {
    SCOPED_TRACE(row.type);
    using E = typename std::decay_t<decltype(row)>::Element;
    for (const E old : {E(0), E(-3), sample<E>(9)}) {
      const auto wait = [&row, old](E* ivar) { row.wait(ivar, old); };
      expect_to_wait<E>(old, old, static_cast<E>(old + 1), wait);
      expect_to_wait<E>(old, old, static_cast<E>(old - 1), wait);
    }
  });
  expect_to_wait<long>(5, 5, 6, [](long* ivar) { shmem_wait(ivar, 5); });
  expect_to_wait<long>(5, 5, -6, [](long* ivar) { shmem_wait(ivar, 5); });
}

// Each comparison with 5, or with one that has the top bit.
TEST(OldWait, S45_WaitUntilAndTestCompareShortsAsTheirTypeDoes) {
  for_each_old_until([](const auto& row) {
    SCOPED_TRACE(row.type);
    using E = typename std::decay_t<decltype(row)>::Element;
    const E five = 5, top = static_cast<E>(0x8005u);
    for (const E with : {five, top}) {
      const E less = static_cast<E>(with - 1), more = static_cast<E>(with + 1);
      const auto until = [&](int cmp) {
        return [&row, cmp, with](E* ivar) {
          row.wait_until(ivar, cmp, with);
          EXPECT_EQ(row.test(ivar, cmp, with), 1);
        };
      };
      expect_to_wait<E>(less, more, with, until(SHMEM_CMP_EQ));
      expect_to_wait<E>(with, with, less, until(SHMEM_CMP_NE));
      expect_to_wait<E>(less, with, more, until(SHMEM_CMP_GT));
      expect_to_wait<E>(less, less, with, until(SHMEM_CMP_GE));
      expect_to_wait<E>(more, with, less, until(SHMEM_CMP_LT));
      expect_to_wait<E>(more, more, with, until(SHMEM_CMP_LE));
    }
    SymmetricArray<E> ivar(1);
    ivar[0] = top;  // negative if it has a sign
    const bool is_less = top < five;
    EXPECT_EQ(row.test(ivar, SHMEM_CMP_LT, five), is_less ? 1 : 0);
    EXPECT_EQ(row.test(ivar, SHMEM_CMP_GT, five), is_less ? 0 : 1);
    EXPECT_EQ(row.test(ivar, SHMEM_CMP_EQ, five), 0);
    EXPECT_EQ(row.test(ivar, SHMEM_CMP_NE, five), 1);
  });
}

TEST(OldNames, QueryAndAllocate) {
  EXPECT_EQ(_my_pe(), shmem_my_pe());
  EXPECT_EQ(_num_pes(), shmem_n_pes());
  constexpr size_t kElems = 100;
  auto* block = static_cast<long*>(shmalloc(kElems * sizeof(long)));
  ASSERT_NE(block, nullptr);
  fill(block, kElems, my_pe());
  block = static_cast<long*>(shrealloc(block, 50 * kElems * sizeof(long)));
  ASSERT_NE(block, nullptr);
  expect_filled("shrealloc", block, kElems, my_pe());
  auto* aligned = static_cast<char*>(shmemalign(4096, 10));
  ASSERT_NE(aligned, nullptr);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(aligned) % 4096, 0u);
  EXPECT_EQ(shmem_addr_accessible(block + 50 * kElems - 1, next_pe()), 1);
  shfree(aligned);
  shfree(block);
  EXPECT_EQ(shmem_addr_accessible(block, my_pe()), 1) << "the heap is symmetric as a whole";
}

TEST(OldNames, OfConstantsHaveTheSameValues) {
  EXPECT_EQ(_SHMEM_SYNC_VALUE, SHMEM_SYNC_VALUE);
  EXPECT_EQ(_SHMEM_BARRIER_SYNC_SIZE, SHMEM_BARRIER_SYNC_SIZE);
  EXPECT_EQ(_SHMEM_BCAST_SYNC_SIZE, SHMEM_BCAST_SYNC_SIZE);
  EXPECT_EQ(_SHMEM_COLLECT_SYNC_SIZE, SHMEM_COLLECT_SYNC_SIZE);
  EXPECT_EQ(_SHMEM_REDUCE_SYNC_SIZE, SHMEM_REDUCE_SYNC_SIZE);
  EXPECT_EQ(_SHMEM_REDUCE_MIN_WRKDATA_SIZE, SHMEM_REDUCE_MIN_WRKDATA_SIZE);
  EXPECT_EQ(_SHMEM_MAJOR_VERSION, SHMEM_MAJOR_VERSION);
  EXPECT_EQ(_SHMEM_MINOR_VERSION, SHMEM_MINOR_VERSION);
  EXPECT_EQ(_SHMEM_MAX_NAME_LEN, SHMEM_MAX_NAME_LEN);
  EXPECT_STREQ(_SHMEM_VENDOR_STRING, SHMEM_VENDOR_STRING);
  const int old_ones[] = {_SHMEM_CMP_EQ, _SHMEM_CMP_NE, _SHMEM_CMP_LT,
                          _SHMEM_CMP_LE, _SHMEM_CMP_GT, _SHMEM_CMP_GE};
  const int new_ones[] = {SHMEM_CMP_EQ, SHMEM_CMP_NE, SHMEM_CMP_LT,
                          SHMEM_CMP_LE, SHMEM_CMP_GT, SHMEM_CMP_GE};
  EXPECT_EQ(std::memcmp(old_ones, new_ones, sizeof old_ones), 0);
  EXPECT_GE(SHMEM_SYNC_SIZE, SHMEM_ALLTOALL_SYNC_SIZE);
  EXPECT_GE(SHMEM_SYNC_SIZE, SHMEM_ALLTOALLS_SYNC_SIZE);
}

// Names of other libraries, each another routine.
TEST(OldNames, OfOtherLibrariesDoWhatTheCurrentOnesDo) {
  static uint64_t word;
  word = 0;
  shmem_barrier_all();
  shmem_uint64_add(&word, uint64_t{1} << 63, next_pe());
  shmem_inc(&word, next_pe());
  shmem_barrier_all();
  EXPECT_EQ(shmem_uint64_fetch(&word, my_pe()), (uint64_t{1} << 63) + 1);
  EXPECT_EQ(shmem_uint64_cswap(&word, (uint64_t{1} << 63) + 1, 7, my_pe()),
            (uint64_t{1} << 63) + 1);
  EXPECT_EQ(shmem_swap(&word, uint64_t{8}, my_pe()), 7u);
  shmem_barrier_all();
}

TEST(OldNames, OfWaitsForManyTakeTypesOfTwoBytes) {
  static short shorts[3];
  static unsigned short ushorts[3];
  shmem_barrier_all();
  shmem_short_p(&shorts[2], -5, next_pe());
  shmem_ushort_p(&ushorts[1], 65535, next_pe());
  EXPECT_EQ(shmem_short_wait_until_any(shorts, 3, nullptr, SHMEM_CMP_LT, 0), 2u);
  size_t index = 9;
  const int status[] = {0, 0, 1};
  EXPECT_EQ(shmem_wait_until_some(ushorts, 3, &index, status, SHMEM_CMP_GT,
                                  static_cast<unsigned short>(65534)),
            1u);
  EXPECT_EQ(index, 1u);
  EXPECT_EQ(shmem_test_all(shorts, 3, nullptr, SHMEM_CMP_LE, static_cast<short>(0)), 1);
  EXPECT_EQ(shmem_ushort_test_any(ushorts, 3, nullptr, SHMEM_CMP_EQ, 3), SIZE_MAX);
  shmem_barrier_all();
}

// A PE that has called shmem_init may call start_pes too; pe_main finalizes once, the end of the
// program a second time.
TEST(StartPes, S5_MayBeCalledAgainAndAfterInit) {
  start_pes(0);
  start_pes(99);
  EXPECT_EQ(shmem_n_pes(), _num_pes());
  shmem_barrier_all();
}

}  // namespace
}  // namespace meshmem
