// SPDX-License-Identifier: Apache-2.0
//
// Which algorithm a reduction takes, given what the environment says: a pure function.
#include <gtest/gtest.h>
#include <unistd.h>

#include "base/error.hpp"
#include "base/status/slow_ways.hpp"
#include "collectives/policy/reduce_policy.hpp"
#include "collectives/policy/reduce_tables.hpp"
#include "collectives/reduction.hpp"

namespace meshmem {
namespace {

TEST(Selection, TakesWhatIsForcedUnlessThatCannotAddInPeOrder) {
  ReducePolicy policy;
  policy.settings.ring_min_bytes = 1000;
  EXPECT_NE(policy.host_algorithm(999, 4), ReduceAlgorithm::ring);
  EXPECT_EQ(policy.host_algorithm(1000, 4), ReduceAlgorithm::ring);
  policy.settings.rule = ReduceAlgorithm::one_shot;
  EXPECT_EQ(policy.host_algorithm(1'000'000, 4), ReduceAlgorithm::one_shot);
  EXPECT_EQ(policy.host_algorithm(1'000'000, 4, true), ReduceAlgorithm::one_shot);
  for (const ReduceRule rule :
       {ReduceRule(ReduceRule::automatic), ReduceRule(ReduceAlgorithm::ring),
        ReduceRule(ReduceAlgorithm::recursive_doubling)}) {
    policy.settings.rule = rule;
    for (const std::size_t bytes : {8, 1000, 1'000'000}) {
      const ReduceAlgorithm chosen = policy.host_algorithm(bytes, 5, true);
      EXPECT_TRUE(chosen == ReduceAlgorithm::one_shot || chosen == ReduceAlgorithm::two_shot);
    }
  }
}

TEST(Selection, TakesOneOfTheHostsFourWhateverIsForced) {
  for (int i = 0; i < device::kReduceAlgorithmCount; ++i) {
    ReducePolicy policy;
    policy.settings.rule = static_cast<ReduceAlgorithm>(i);
    for (const std::size_t bytes : {8, 1'000'000}) {
      const ReduceAlgorithm chosen = policy.host_algorithm(bytes, 5);
      EXPECT_TRUE(chosen == ReduceAlgorithm::one_shot || chosen == ReduceAlgorithm::two_shot ||
                  chosen == ReduceAlgorithm::ring || chosen == ReduceAlgorithm::recursive_doubling)
          << name_of(policy.settings.rule) << " gives " << name_of(chosen);
    }
  }
}

TEST(Selection, ARingOfTooManyPesIsTakenForTwoShotAndSaysSo) {
  const auto& said = slow_way_counts[static_cast<std::size_t>(SlowWay::ring_of_too_many_pes)];
  const std::uint64_t before = said;
  ReducePolicy policy;
  policy.settings.rule = ReduceAlgorithm::ring;
  EXPECT_EQ(policy.host_algorithm(1'000'000, kMostRingPes), ReduceAlgorithm::ring);
  EXPECT_EQ(said, before);
  EXPECT_EQ(policy.host_algorithm(1'000'000, kMostRingPes + 1), ReduceAlgorithm::two_shot);
  EXPECT_EQ(said, before + 1);
}

TEST(SelectionDeathTest, ARingOfTooManyPesNamesTheVariableThatAskedForIt) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto use_ring = [](ReduceRule rule) {
    enable_debug(true);
    ReducePolicy policy;
    policy.settings.rule = rule;
    policy.settings.ring_min_bytes = 1;
    _exit(policy.host_algorithm(8, kMostRingPes + 1) == ReduceAlgorithm::two_shot ? 7 : 1);
  };
  EXPECT_EXIT(use_ring(ReduceRule::automatic), testing::ExitedWithCode(7),
              "MESHMEM_REDUCE_RING_MIN_BYTES takes a slow way .ring_of_too_many_pes.");
  EXPECT_EXIT(use_ring(ReduceRule::classic), testing::ExitedWithCode(7),
              "MESHMEM_REDUCE_ALGORITHM takes a slow way .ring_of_too_many_pes.");
  EXPECT_EXIT(use_ring(ReduceAlgorithm::ring), testing::ExitedWithCode(7),
              "MESHMEM_REDUCE_ALGORITHM takes a slow way .ring_of_too_many_pes.");
}

TEST(Selection, ClassicChangesFromRecursiveDoublingToTheRing) {
  ReducePolicy policy;
  policy.settings.rule = ReduceRule::classic;
  EXPECT_EQ(policy.host_algorithm(32 << 10, 4), ReduceAlgorithm::recursive_doubling);
  EXPECT_EQ(policy.host_algorithm((32 << 10) + 1, 4), ReduceAlgorithm::ring);
  policy.settings.ring_min_bytes = 100;
  EXPECT_EQ(policy.host_algorithm(99, 4), ReduceAlgorithm::recursive_doubling);
  EXPECT_EQ(policy.host_algorithm(100, 4), ReduceAlgorithm::ring);
  policy.settings.rule = ReduceAlgorithm::direct;
  EXPECT_EQ(policy.host_algorithm(8, 4), ReduceAlgorithm::two_shot);
}

TEST(Selection, FewBlocksPullWhatManyWouldSendByLines) {
  using enum ReduceAlgorithm;
  const device::Plan of_many{two_shot_wide, 128, 576};
  const auto plan = [&](std::size_t bytes, int n_pes, unsigned blocks, bool in_pe_order = false) {
    return plan_for_few_blocks(of_many, bytes, n_pes, blocks, in_pe_order);
  };
  EXPECT_EQ(plan(32 << 10, 2, 16).algorithm, two_shot_wide);  // as the table says
  EXPECT_EQ(plan(256 << 10, 2, 16).algorithm, one_shot_wide);
  EXPECT_EQ(plan(512 << 10, 2, 16).algorithm, ring);
  EXPECT_EQ(plan(4 << 20, 2, 16).algorithm, ring);
  EXPECT_EQ(plan(4 << 20, 2, 16, true).algorithm, pull);
  EXPECT_EQ(plan(8 << 20, 2, 16).algorithm, pull);
  EXPECT_EQ(plan(256 << 10, 2, 8).algorithm, pull);
  EXPECT_EQ(plan(256 << 10, 4, 16).algorithm, pull);
  EXPECT_EQ(plan(4 << 20, 2, 128).threads, of_many.threads);
}

TEST(Selection, AnswersForSmallReductionsWhatTheTableSays) {
  ReducePolicy policy;
  for (const int n_pes : {2, 3, 4, 5, 64, 1000}) {
    for (const std::size_t bytes : {std::size_t{1}, std::size_t{8}, ReducePolicy::kOneShotBytes})
      EXPECT_EQ(find_row(host_rows(), bytes, n_pes)->plan.algorithm,
                policy.host_algorithm(bytes, n_pes));
  }
}

}  // namespace
}  // namespace meshmem
