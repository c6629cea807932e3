// SPDX-License-Identifier: Apache-2.0
// The memory that a wave sees in the strict mode, and how its own stores arrive: by small assembly
// programs whose pauses are loops of this file.
// Invariant: an access that may be late is late until the instruction that orders it, for every
// seed.
#include <set>

#include "weak_memory_waves.hpp"

namespace amd_gpu {
namespace {

TEST_F(WeakMemoryOfAWave, LoadsStayStaleUntilAnInvalidation) {
  run(kLoad + kSleep + kLoad + kSleep + "buffer_wbinvl1_vol\n" + kLoad);
  words_[0].value = 2;
  go_on();
  EXPECT_EQ(result(), 1u);
  go_on();
  EXPECT_EQ(result(), 2u);
}

TEST_F(WeakMemoryOfAWave, LoadsWithGlcPassTheCache) {
  run(kLoad + kSleep + kLoadPast);
  words_[0].value = 2;
  go_on();
  EXPECT_EQ(result(), 2u);
}

TEST_F(WeakMemoryOfAWave, InvalidationsOfL2LeaveTheVectorCache) {
  run(kLoad + kSleep + "buffer_invl2\n" + kLoad);
  words_[0].value = 2;
  go_on();
  EXPECT_EQ(result(), 1u);
}

TEST_F(WeakMemoryOfAWave, ScalarLoadsStayStale) {
  test_->set_pair(0, reinterpret_cast<std::uintptr_t>(&words_[0].value));
  run("s_load_dword s6, s[0:1], 0x0\ns_waitcnt lgkmcnt(0)\ns_sleep 1\nbuffer_wbinvl1_vol\n"
      "s_load_dword s6, s[0:1], 0x0\ns_waitcnt lgkmcnt(0)\ns_sleep 1\ns_dcache_inv\n"
      "s_load_dword s6, s[0:1], 0x0");
  words_[0].value = 2;
  go_on();
  EXPECT_EQ(test_->scalar[6], 1u);
  go_on();
  EXPECT_EQ(test_->scalar[6], 2u);
}

TEST_F(WeakMemoryOfAWave, StoresArriveWhenTheyAreAwaited) {
  run("global_store_dword v[0:1], v20, off\ns_barrier\nglobal_load_dword v6, v[0:1], off\n" +
      kSleep + "s_waitcnt vmcnt(0)\n");
  EXPECT_EQ(test_->state, WaveState::kAtBarrier);
  EXPECT_EQ(words_[0].value, 1u);
  go_on();
  EXPECT_EQ(words_[0].value, 1u);
  EXPECT_EQ(result(), 5u) << "a wave sees its own stores";
  go_on();
  EXPECT_EQ(words_[0].value, 5u);
}

// They share the vector cache, through which stores go in order. So compilers have no wave wait for
// memory before a barrier of its block.
TEST_F(WeakMemoryOfAWave, OtherWavesOfTheBlockSeeItsStoresAndDoNotAwaitThem) {
  run("global_store_dword v[0:1], v20, off\n");
  test_->number = 1;
  run(std::string(kLoad) + kLoadPast);
  EXPECT_EQ(result(), 5u);
  EXPECT_EQ(words_[0].value, 1u);
  memory_.wait(1, ~u64{0});
  EXPECT_EQ(words_[0].value, 1u);
  memory_.wait(0, ~u64{0});
  EXPECT_EQ(words_[0].value, 5u);
}

TEST_F(WeakMemoryOfAWave, WaitsForSomeLeaveTheNewest) {
  run("global_store_dword v[0:1], v20, off\nglobal_store_dword v[2:3], v20, off\n"
      "s_waitcnt lgkmcnt(0)\n" +
      kSleep + "s_waitcnt vmcnt(1)\n");
  EXPECT_EQ(words_[0].value, 1u);
  go_on();
  EXPECT_EQ(words_[0].value, 5u);
  EXPECT_EQ(words_[1].value, 1u);
}

TEST_F(WeakMemoryOfAWave, AtomicsOvertakeStoresToOtherWords) {
  run("global_store_dword v[0:1], v20, off\nglobal_store_dword v[2:3], v20, off\n"
      "global_atomic_add v6, v[2:3], v22, off glc\n");
  EXPECT_EQ(words_[0].value, 1u);
  EXPECT_EQ(words_[1].value, 11u);
  EXPECT_EQ(result(), 5u);
}

TEST_F(WeakMemoryOfAWave, StoresArriveInAnyOrderButThoseToOneWordInTheirs) {
  run("global_store_dword v[0:1], v22, off\nglobal_store_dword v[2:3], v20, off\n"
      "global_store_dword v[0:1], v20, off\n");
  memory_.wait(0, test_->memory_issue);
  std::set<std::pair<u64, u64>> seen;
  for (unsigned seed = 0; seed < 64; ++seed) {
    words_[0].value = words_[1].value = 1;
    begin(seed * 7919 + 1);
    run_again();
    while (words_[0].value == 1 && words_[1].value == 1) memory_.let_some_arrive(2);
    seen.emplace(words_[0].value, words_[1].value);
    memory_.wait(0, test_->memory_issue);
    EXPECT_EQ(words_[0].value, 5u);
  }
  EXPECT_TRUE(seen.contains({6, 1}));
  EXPECT_TRUE(seen.contains({1, 5}));
  EXPECT_FALSE(seen.contains({5, 1})) << "the older store to the word comes first";
}

TEST_F(WeakMemoryWithScopes, InvalidationsOfTheBlocksScopeLeaveTheCache) {
  run(kLoad + kSleep + "buffer_inv sc0\n" + kLoad + kSleep + "buffer_inv sc1\n" + kLoad);
  words_[0].value = 2;
  go_on();
  EXPECT_EQ(result(), 1u);
  go_on();
  EXPECT_EQ(result(), 2u);
}

TEST_F(WeakMemoryWithScopes, LoadsOfTheBlocksScopeDoNotPassTheCache) {
  run(kLoad + kSleep + "global_load_dwordx2 v[6:7], v[0:1], off sc0\n" + kAwait + kSleep +
      "global_load_dwordx2 v[6:7], v[0:1], off sc0 sc1\n" + kAwait);
  words_[0].value = 2;
  go_on();
  EXPECT_EQ(result(), 1u);
  go_on();
  EXPECT_EQ(result(), 2u);
}

TEST_F(WeakMemoryWithScopes, StoresStayInL2UntilItIsWrittenBack) {
  run("global_store_dword v[0:1], v20, off\nglobal_store_dword v[2:3], v20, off sc0\n"
      "global_store_dword v[4:5], v20, off sc0 sc1\n" +
      kAwait + kSleep + "buffer_wbl2 sc0\n" + kAwait + kSleep + "buffer_wbl2 sc0 sc1\n" + kSleep +
      kAwait);
  for (int after = 0; after < 3; ++after) {  // the wait, the block's write-back, the system's
    EXPECT_EQ(words_[0].value, 1u);
    EXPECT_EQ(words_[1].value, 1u);
    EXPECT_EQ(words_[2].value, 5u) << "its scope is the system";
    go_on();
  }
  EXPECT_EQ(words_[0].value, 5u);
  EXPECT_EQ(words_[1].value, 5u);
}

TEST_F(WeakMemoryWithScopes, WritingBackAlsoSendsWhatOtherWavesHaveAwaited) {
  run("global_store_dword v[0:1], v20, off\n" + kAwait + "global_store_dword v[2:3], v20, off\n");
  test_->number = 1;
  run("buffer_wbl2 sc1\n" + kAwait);
  EXPECT_EQ(words_[0].value, 5u);
  EXPECT_EQ(words_[1].value, 1u) << "this one may still be on the way to L2";
}

TEST_F(WeakMemoryWithScopes, AtomicsReturnWithSc0) {
  run("global_atomic_add v6, v[2:3], v22, off sc0\nglobal_atomic_add v[0:1], v22, off sc1\n");
  EXPECT_EQ(result(), 1u);
  EXPECT_EQ(words_[1].value, 7u);
  EXPECT_EQ(words_[0].value, 7u);
}

}  // namespace
}  // namespace amd_gpu
