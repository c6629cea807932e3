// SPDX-License-Identifier: Apache-2.0
//
// The questions of a PE: numbers, versions, thread level, which PEs and addresses are within reach.
// Also repeated init and finalize inside an initialized program (init_rounds_test.cpp has the last
// finalize and the calls after it).
// Invariant: the library stays initialized throughout.
#include <climits>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <thread>

#include "symmetric_array.hpp"

namespace meshmem {
namespace {

int global_initialized = 3;
int global_zero;

TEST(Query, NumbersArePlausible) {
  EXPECT_GE(shmem_my_pe(), 0);
  EXPECT_LT(shmem_my_pe(), shmem_n_pes());
}

TEST(Query, EveryPeHasItsOwnNumber) {
  static int seen[64];
  std::fill(seen, seen + 64, 0);
  shmem_barrier_all();
  for (int pe = 0; pe < n_pes(); ++pe) shmem_int_atomic_inc(&seen[my_pe()], pe);
  shmem_barrier_all();
  expect_all("PEs of each number", seen, static_cast<size_t>(n_pes()), 1);
}

TEST(Init, S1_NestedRoundsCountAndFreeNothing) {
  SymmetricArray<long> word(1);
  word[0] = 7;
  for (int i = 0; i < 3; ++i) shmem_init();
  int provided = -1;
  EXPECT_EQ(shmem_init_thread(SHMEM_THREAD_SINGLE, &provided), 0);
  for (int i = 0; i < 4; ++i) {
    shmem_finalize();
    int initialized = 0;
    shmem_query_initialized(&initialized);
    EXPECT_NE(initialized, 0);
    EXPECT_EQ(shmem_long_g(word, next_pe()), 7);
  }
}

// A finalize that is not the last is a barrier that completes puts.
TEST(Init, S1_InnerFinalizeIsABarrier) {
  SymmetricArray<long> word(1);
  for (long round = 1; round <= 20; ++round) {
    word[0] = 0;
    shmem_barrier_all();
    shmem_init();
    shmem_long_put_nbi(word, &round, 1, next_pe());
    shmem_finalize();
    EXPECT_EQ(word[0], round);
  }
}

TEST(QueryInitialized, S2_SaysSoFromEveryThread) {
  int initialized = 0, elsewhere = 0;
  shmem_query_initialized(&initialized);
  std::thread other([&] { shmem_query_initialized(&elsewhere); });
  other.join();
  EXPECT_NE(initialized, 0);
  EXPECT_NE(elsewhere, 0);
}

TEST(QueryThread, S2_AnswersOnEveryThread) {
  int level = -1, elsewhere = -1;
  shmem_query_thread(&level);
  std::thread other([&] { shmem_query_thread(&elsewhere); });
  other.join();
  EXPECT_EQ(level, SHMEM_THREAD_MULTIPLE);
  EXPECT_EQ(elsewhere, SHMEM_THREAD_MULTIPLE);
}

TEST(InitThread, S4_ReportsTheLevelThatHolds) {
  for (int wish : {SHMEM_THREAD_SINGLE, SHMEM_THREAD_FUNNELED, SHMEM_THREAD_SERIALIZED,
                   SHMEM_THREAD_MULTIPLE}) {
    int provided = -1;
    EXPECT_EQ(shmem_init_thread(wish, &provided), 0);
    EXPECT_EQ(provided, SHMEM_THREAD_MULTIPLE);
    shmem_finalize();
  }
}

TEST(ThreadLevels, Increase) {
  EXPECT_LT(SHMEM_THREAD_SINGLE, SHMEM_THREAD_FUNNELED);
  EXPECT_LT(SHMEM_THREAD_FUNNELED, SHMEM_THREAD_SERIALIZED);
  EXPECT_LT(SHMEM_THREAD_SERIALIZED, SHMEM_THREAD_MULTIPLE);
}

TEST(PeAccessible, S7_IsOneOrZeroForAnyNumber) {
  for (int pe = 0; pe < n_pes(); ++pe) EXPECT_EQ(shmem_pe_accessible(pe), 1);
  for (int pe : {-1, n_pes(), n_pes() + 1, INT_MAX, INT_MIN}) EXPECT_EQ(shmem_pe_accessible(pe), 0);
}

TEST(AddrAccessible, S7_IsOneForSymmetricMemoryOnly) {
  SymmetricArray<char> heap(1000);
  static int local_static = 5;
  auto own = std::make_unique<int>(1);
  int on_stack = 0;
  for (int pe = 0; pe < n_pes(); ++pe) {
    for (const void* yes :
         {static_cast<const void*>(heap.data()), static_cast<const void*>(&heap[999]),
          static_cast<const void*>(&local_static), static_cast<const void*>(&global_initialized),
          static_cast<const void*>(&global_zero)}) {
      EXPECT_EQ(shmem_addr_accessible(yes, pe), 1) << yes;
    }
    for (const void* no : {static_cast<const void*>(nullptr), static_cast<const void*>(&on_stack),
                           static_cast<const void*>(own.get())}) {
      EXPECT_EQ(shmem_addr_accessible(no, pe), 0) << no;
    }
  }
  EXPECT_EQ(shmem_addr_accessible(heap.data(), -1), 0);
  EXPECT_EQ(shmem_addr_accessible(heap.data(), n_pes()), 0);
}

TEST(Ptr, S21_LeadsToThePesMemory) {
  SymmetricArray<long> heap(3);
  static long global;
  heap[2] = 100 + my_pe();
  global = 200 + my_pe();
  shmem_barrier_all();
  EXPECT_NE(shmem_ptr(heap, my_pe()), nullptr);
  EXPECT_NE(shmem_ptr(&global, my_pe()), nullptr);
  for (int pe = 0; pe < n_pes(); ++pe) {
    auto* there = static_cast<long*>(shmem_ptr(&heap[2], pe));
    auto* global_there = static_cast<long*>(shmem_ptr(&global, pe));
    if (!there || !global_there) continue;
    EXPECT_EQ(*there, 100 + pe);
    EXPECT_EQ(*global_there, 200 + pe);
  }
  shmem_barrier_all();
}

// Plain stores through the pointer and plain loads of the owner meet.
TEST(Ptr, S10_LoadsAndStoresWorkThroughIt) {
  const auto size = static_cast<size_t>(n_pes());
  SymmetricArray<int> heap(size);
  for (int pe = 0; pe < n_pes(); ++pe) {
    auto* there = static_cast<int*>(shmem_ptr(heap, pe));
    ASSERT_EQ(there != nullptr, is_near(pe)) << "all PEs of a machine are mapped";
    if (there) {
      there[my_pe()] = 10 * my_pe() + pe;
    } else {
      shmem_int_p(heap + my_pe(), 10 * my_pe() + pe, pe);
    }
  }
  shmem_barrier_all();
  expect_each("stores", heap.data(), size,
              [](size_t pe) { return 10 * static_cast<int>(pe) + my_pe(); });
}

TEST(Ptr, S21_IsNullForWhatIsNotSymmetric) {
  int on_stack = 0;
  auto own = std::make_unique<int>(1);
  EXPECT_EQ(shmem_ptr(&on_stack, next_pe()), nullptr);
  EXPECT_EQ(shmem_ptr(own.get(), next_pe()), nullptr);
  EXPECT_EQ(shmem_ptr(nullptr, next_pe()), nullptr);
}

TEST(Info, S8_VersionAndNameAreTheConstants) {
  int major = -1, minor = -1;
  shmem_info_get_version(&major, &minor);
  EXPECT_EQ(major, SHMEM_MAJOR_VERSION);
  EXPECT_EQ(minor, SHMEM_MINOR_VERSION);
  EXPECT_EQ(major, 1);
  EXPECT_EQ(minor, 6);
  std::string name(SHMEM_MAX_NAME_LEN, 'x');
  shmem_info_get_name(name.data());
  EXPECT_STREQ(name.c_str(), SHMEM_VENDOR_STRING);
  EXPECT_LT(std::strlen(name.c_str()), static_cast<size_t>(SHMEM_MAX_NAME_LEN));
}

}  // namespace
}  // namespace meshmem
