// SPDX-License-Identifier: Apache-2.0
//
// Which algorithm a reduction takes, given what the environment says: a pure function.
#include <gtest/gtest.h>

#include "base/status/slow_ways.hpp"
#include "collectives/policy/reduce_policy.hpp"
#include "collectives/policy/reduce_tables.hpp"

namespace meshmem {
namespace {

TEST(Selection, TakesOneOfTheHostsTwoWhateverIsForced) {
  const auto& said = slow_way_counts[static_cast<std::size_t>(SlowWay::forced_algorithm)];
  for (int i = 0; i < device::kReduceAlgorithmCount; ++i) {
    const auto forced = static_cast<ReduceAlgorithm>(i);
    ReducePolicy policy;
    policy.settings.rule = forced;
    const bool is_one_shot =
        forced == ReduceAlgorithm::one_shot || forced == ReduceAlgorithm::one_shot_wide;
    const ReduceAlgorithm wanted =
        is_one_shot ? ReduceAlgorithm::one_shot : ReduceAlgorithm::two_shot;
    for (const std::size_t bytes : {8, 1'000'000}) {
      const std::uint64_t before = said;
      EXPECT_EQ(policy.host_algorithm(bytes, 5), wanted) << name_of(forced);
      EXPECT_EQ(said, before + (forced == wanted ? 0 : 1)) << name_of(forced);
    }
  }
}

TEST(Selection, RulesForDeviceMemoryLeaveTheHostsChoiceToTheTable) {
  const ReducePolicy automatic;
  for (const auto rule : {ReduceRule::automatic, ReduceRule::classic}) {
    ReducePolicy policy;
    policy.settings.rule = rule;
    policy.settings.ring_min_bytes = 1;
    for (const std::size_t bytes : {8, 1000, 40'000, 1'000'000}) {
      for (const int n_pes : {2, 3, 100'000})
        EXPECT_EQ(policy.host_algorithm(bytes, n_pes), automatic.host_algorithm(bytes, n_pes));
    }
  }
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
