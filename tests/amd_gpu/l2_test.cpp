// SPDX-License-Identifier: Apache-2.0
// How long an L2 keeps data in the strict mode, by whose memory it is and of what kind. Small
// assembly programs run in a wave; the tests compare with the memory that another block of the GPU
// sees.
// Invariant: data that may stay in L2 stays there until the instruction that LLVM's AMDGPU usage
// names for it, in "Memory Model GFX90A" and "Memory Model GFX942".
#include "weak_memory_waves.hpp"

namespace amd_gpu {
namespace {

const std::string kStore = "global_store_dword v[0:1], v20, off\n";
const std::string kInvalidateVectorCache = "buffer_wbinvl1_vol\n";

class L2OfAGpu : public WeakMemoryOfAWave {
 protected:
  explicit L2OfAGpu(Caching caching) : WeakMemoryOfAWave(Scope::kGpu, caching) {}
  // The first word as other blocks of the GPU see it.
  u64 seen_elsewhere() {
    WeakMemory other;
    other.begin(1, l2_, 0, [](int, u64) { return MemoryRange{0, ~u64{0}, caching_}; });
    return other.load(address(0), 8, Scope::kGpu);
  }
};
class L2AndMemoryOfOthers : public L2OfAGpu {
 protected:
  L2AndMemoryOfOthers() : L2OfAGpu(Caching::kOthers) {}
};
class L2AndOwnMemory : public L2OfAGpu {
 protected:
  L2AndOwnMemory() : L2OfAGpu(Caching::kOwn) {}
};

TEST_F(L2AndMemoryOfOthers, StaysStaleUntilAnInvalidation) {
  run(kLoad + kSleep + kInvalidateVectorCache + kLoadPast + kSleep + "buffer_invl2\n" +
      kInvalidateVectorCache + kLoad);
  words_[0].value = 2;
  go_on();
  EXPECT_EQ(result(), 1u) << "an invalidation of the vector cache is not enough";
  EXPECT_EQ(seen_elsewhere(), 1u) << "the L2 is of all blocks";
  go_on();
  EXPECT_EQ(result(), 2u);
}

TEST_F(L2AndMemoryOfOthers, IsReadAnewByTheNextKernel) {
  run(kLoad);
  words_[0].value = 2;
  EXPECT_EQ(seen_elsewhere(), 1u);
  l2_.begin_kernel();
  EXPECT_EQ(seen_elsewhere(), 2u);
}

TEST_F(L2AndMemoryOfOthers, IsAsStaleForScalarLoads) {
  run(kLoad);
  words_[0].value = 2;
  test_->set_pair(0, address(0));
  run("s_load_dword s6, s[0:1], 0x0\ns_waitcnt lgkmcnt(0)\ns_sleep 1\nbuffer_invl2\n"
      "s_dcache_inv\ns_load_dword s6, s[0:1], 0x0");
  EXPECT_EQ(test_->scalar[6], 1u);
  go_on();
  EXPECT_EQ(test_->scalar[6], 2u);
}

TEST_F(L2AndMemoryOfOthers, KeepsStoresWhenItIsInvalidated) {
  run(kStore + kAwait + "buffer_invl2\n" + kInvalidateVectorCache + kLoad);
  EXPECT_EQ(result(), 5u);
  EXPECT_EQ(words_[0].value, 1u);
}

TEST_F(L2AndMemoryOfOthers, HasAtomicsDoneInL2) {
  run("global_atomic_add v6, v[0:1], v22, off glc\n" + kAwait);
  EXPECT_EQ(result(), 1u);
  EXPECT_EQ(seen_elsewhere(), 7u);
  EXPECT_EQ(words_[0].value, 1u) << "other agents do not see them";
  l2_.end_kernel();
  EXPECT_EQ(words_[0].value, 7u);
}

TEST_F(L2AndOwnMemory, IsNeverStale) {
  run(kLoad + kSleep + kInvalidateVectorCache + kLoad);
  words_[0].value = 2;
  go_on();
  EXPECT_EQ(result(), 2u);
}

TEST_F(L2AndOwnMemory, GetsStoresByWriteBacks) {
  run(kStore + kAwait + kSleep + "buffer_wbl2\n" + kSleep + kAwait);
  for (int after = 0; after < 2; ++after) {  // the wait, the write-back that is on its way
    EXPECT_EQ(seen_elsewhere(), 5u);
    EXPECT_EQ(words_[0].value, 1u);
    go_on();
  }
  EXPECT_EQ(words_[0].value, 5u);
}

TEST_F(L2AndOwnMemory, GetsStoresThatNobodyHasAwaitedByTheWaitForAWriteBack) {
  run(kStore + "buffer_wbl2\n" + kAwait);
  EXPECT_EQ(words_[0].value, 5u);
}

TEST_F(L2AndOwnMemory, GetsNoStoresOfLaterByAWriteBack) {
  run("buffer_wbl2\n" + kStore + kAwait);
  EXPECT_EQ(words_[0].value, 1u);
}

TEST_F(L2AndOwnMemory, GetsStoresAtTheEndOfTheKernel) {
  run(kStore + kAwait);
  memory_.end();
  EXPECT_EQ(words_[0].value, 1u) << "other blocks of it may run";
  l2_.end_kernel();
  EXPECT_EQ(words_[0].value, 5u);
}

TEST_F(L2AndOwnMemory, GetsTheBytesThatWereStored) {
  run(kStore + kAwait);
  words_[0].value = u64{9} << 32 | 1;
  l2_.end_kernel();
  EXPECT_EQ(words_[0].value, u64{9} << 32 | 5);
}

TEST_F(L2AndOwnMemory, GetsSomeStoresAsTimePasses) {
  run(kStore + kAwait);
  for (int n = 0; n < 100; ++n) memory_.let_some_arrive(2);
  EXPECT_EQ(words_[0].value, 5u);
}

// On gfx942 a GPU's only L2 does nothing for the GPU's scope.
class L2WithScopes : public WeakMemoryWithScopes {
 protected:
  L2WithScopes() : WeakMemoryWithScopes(Scope::kGpu) {}
};

TEST_F(L2WithScopes, IsWrittenBackForTheSystem) {
  run(kStore + kAwait + "buffer_wbl2 sc1\n" + kAwait + kSleep + "buffer_wbl2 sc0 sc1\n" + kAwait);
  EXPECT_EQ(words_[0].value, 1u);
  go_on();
  EXPECT_EQ(words_[0].value, 5u);
}

TEST_F(L2WithScopes, IsInvalidatedForTheSystem) {
  caching_ = Caching::kOthers;
  run(kLoad + kSleep + "buffer_inv sc1\n" + kLoad + kSleep + "buffer_inv sc0 sc1\n" + kLoad);
  words_[0].value = 2;
  go_on();
  EXPECT_EQ(result(), 1u);
  go_on();
  EXPECT_EQ(result(), 2u);
}

TEST_F(L2WithScopes, IsPassedByLoadsAndAtomicsOfTheSystem) {
  caching_ = Caching::kOthers;
  const std::string load = "global_load_dwordx2 v[6:7], v[0:1], off ";
  run(kLoad + kSleep + load + "sc1\n" + kAwait + kSleep + load + "sc0 sc1\n" + kAwait +
      "global_atomic_add v[0:1], v22, off\n" + kSleep + "global_atomic_add v[0:1], v22, off sc1\n");
  words_[0].value = 2;
  go_on();
  EXPECT_EQ(result(), 1u);
  go_on();
  EXPECT_EQ(result(), 2u);
  EXPECT_EQ(words_[0].value, 2u) << "of the GPU's scope";
  go_on();
  EXPECT_EQ(words_[0].value, 14u);
}

// Where blocks have an L2 each.
TEST_F(WeakMemoryWithScopes, BlocksEndWithAllInMemory) {
  run(kStore + kAwait);
  EXPECT_EQ(words_[0].value, 1u);
  memory_.end();
  l2_.end_kernel();
  EXPECT_EQ(words_[0].value, 5u);
}

TEST_F(WeakMemoryWithScopes, UncachedMemoryNeedsNoWriteBack) {
  caching_ = Caching::kCoherent;
  run(kStore + kAwait);
  EXPECT_EQ(words_[0].value, 5u);
}

TEST_F(WeakMemoryWithScopes, AtomicsOfTheGpuAreDoneInMemory) {
  run(kStore + "global_atomic_add v[0:1], v22, off\n" + kAwait);
  EXPECT_EQ(words_[0].value, 11u);
}

}  // namespace
}  // namespace amd_gpu
