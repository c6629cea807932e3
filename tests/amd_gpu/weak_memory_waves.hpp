// SPDX-License-Identifier: Apache-2.0
// Waves for the tests of the strict mode, which run small assembly programs step by step.
// Invariant: the three words are in lines of their own, hold 1 at first, and are memory of the kind
// that the test says.
#pragma once

#include <gtest/gtest.h>

#include "assembled.hpp"
#include "weak_memory.hpp"

namespace amd_gpu {

using u64 = std::uint64_t;

// A wave with one active lane, whose a, b and c are addresses.
class WeakMemoryOfAWave : public testing::Test {
 protected:
  // `l2_serves`: all blocks of a GPU share the L2, or each has one.
  explicit WeakMemoryOfAWave(Scope l2_serves = Scope::kGpu, Caching caching = Caching::kCoherent)
      : l2_(l2_serves) {
    caching_ = caching;
    test_.use(memory_);
    test_->set_pair(kExec, 1);
    begin(1);
    for (unsigned n = 0; n < 3; ++n) test_.set_vector(2 * n, 0, address(n));
    test_.set_vector(20, 0, 5);
    test_.set_vector(22, 0, 6);
  }
  virtual const Architecture& architecture() const { return *find_architecture("gfx90a"); }
  void begin(unsigned seed) {
    memory_.begin(seed, l2_, 0, [](int, u64) { return MemoryRange{0, ~u64{0}, caching_}; });
  }
  // Starts `text`, and runs it up to its end or its first s_sleep; go_on() runs the rest.
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
  u64 address(unsigned n) const { return reinterpret_cast<std::uintptr_t>(&words_[n].value); }
  u64 result() const { return test_.vector(6, 0); }

  struct alignas(128) Word {
    u64 value = 1;
  };
  Word words_[3];
  inline static Caching caching_;
  L2 l2_;
  WeakMemory memory_;
  TestWave test_;
  std::unique_ptr<Assembled> program_;
};

inline constexpr const char* kLoad =
    "global_load_dwordx2 v[6:7], v[0:1], off\ns_waitcnt vmcnt(0)\n";
inline constexpr const char* kLoadPast =
    "global_load_dwordx2 v[6:7], v[0:1], off glc\ns_waitcnt vmcnt(0)\n";
inline const std::string kSleep = "s_sleep 1\n", kAwait = "s_waitcnt vmcnt(0)\n";

// The same on gfx942, where instructions say their scope: sc0 the block, sc1 the GPU, both the
// system.
class WeakMemoryWithScopes : public WeakMemoryOfAWave {
 protected:
  explicit WeakMemoryWithScopes(Scope l2_serves = Scope::kBlock)
      : WeakMemoryOfAWave(l2_serves, Caching::kOwn) {}
  const Architecture& architecture() const override { return *find_architecture("gfx942"); }
  void SetUp() override {
    if (!Assembled::is_possible_for(architecture())) GTEST_SKIP() << "needs clang-19 and lld-19";
  }
};

}  // namespace amd_gpu
