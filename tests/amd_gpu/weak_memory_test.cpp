// SPDX-License-Identifier: Apache-2.0
// What a wave sees of memory, and memory of a wave, in the strict mode: by small assembly programs
// whose pauses are loops of this file.
// Invariant: what may be late is late until the instruction that orders it, for every seed.
#include "weak_memory.hpp"

#include <gtest/gtest.h>

#include <set>

#include "assembled.hpp"

namespace amd_gpu {
namespace {

using u64 = std::uint64_t;

// A wave with one active lane, whose a, b and c are addresses.
class WeakMemoryOfAWave : public testing::Test {
 protected:
  WeakMemoryOfAWave() {
    test_.use(memory_);
    test_->set_pair(kExec, 1);
    memory_.begin(1);
    for (unsigned n = 0; n < 3; ++n)
      test_.set_vector(2 * n, 0, reinterpret_cast<std::uintptr_t>(&words_[n].value));
    test_.set_vector(20, 0, 5);
    test_.set_vector(22, 0, 6);
  }
  virtual const Architecture& architecture() const { return *find_architecture("gfx90a"); }
  // Starts `text`, and runs it up to its end or its first s_sleep; go_on() runs what is behind.
  void run(const std::string& text) {
    program_ = std::make_unique<Assembled>(std::vector{text}, architecture());
    run_again();
  }
  void run_again() {
    program_->start(0, *test_);
    go_on();
  }
  void go_on() {
    test_->state = WaveState::kReady;
    run_wave(*test_, 1000);
  }
  u64 result() const { return test_.vector(6, 0); }

  struct alignas(64) Word {
    u64 value = 1;
  };
  Word words_[3];
  WeakMemory memory_;
  TestWave test_;
  std::unique_ptr<Assembled> program_;
};

constexpr const char* kLoad = "global_load_dwordx2 v[6:7], v[0:1], off\ns_waitcnt vmcnt(0)\n";
constexpr const char* kLoadPast =
    "global_load_dwordx2 v[6:7], v[0:1], off glc\ns_waitcnt vmcnt(0)\n";
const std::string kSleep = "s_sleep 1\n";

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
    memory_.begin(seed * 7919 + 1);
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

// The same on gfx942, where instructions say their scope: sc0 the block, sc1 the GPU, both the
// system.
class WeakMemoryWithScopes : public WeakMemoryOfAWave {
 protected:
  const Architecture& architecture() const override { return *find_architecture("gfx942"); }
  void SetUp() override {
    if (!Assembled::is_possible_for(architecture())) GTEST_SKIP() << "needs clang-19 and lld-19";
  }
};

const std::string kAwait = "s_waitcnt vmcnt(0)\n";

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

TEST_F(WeakMemoryWithScopes, KernelsEndWithAllInMemory) {
  run("global_store_dword v[0:1], v20, off\n" + kAwait);
  EXPECT_EQ(words_[0].value, 1u);
  memory_.end();
  EXPECT_EQ(words_[0].value, 5u);
}

TEST_F(WeakMemoryWithScopes, AtomicsReturnWithSc0) {
  run("global_atomic_add v6, v[2:3], v22, off sc0\nglobal_atomic_add v[0:1], v22, off sc1\n");
  EXPECT_EQ(result(), 1u);
  EXPECT_EQ(words_[1].value, 7u);
  EXPECT_EQ(words_[0].value, 7u);
}

}  // namespace
}  // namespace amd_gpu
