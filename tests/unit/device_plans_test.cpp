// SPDX-License-Identifier: Apache-2.0
//
// How the kernels of reductions run, given sizes and what the environment says: pure functions. And
// how elements are divided among blocks.
#include <gtest/gtest.h>

#include "collectives/policy/reduce_policy.hpp"
#include "device/collectives/slices.hpp"
#include "gpu/device_target.hpp"

namespace meshmem {
namespace {

// The wave of any GPU. On processors one thread may be the fastest.
constexpr int kLeastThreads = kDevicesAreProcessors ? 1 : 64;

bool adds_in_pe_order(ReduceAlgorithm algorithm) {
  return algorithm != ReduceAlgorithm::ring && algorithm != ReduceAlgorithm::ring_and_copies &&
         algorithm != ReduceAlgorithm::recursive_doubling;
}

TEST(DevicePlans, HaveABlockAndAWaveAtLeastForEverySize) {
  for (const int n : {1, 2, 3, 8, 64, 1000}) {
    for (std::size_t bytes = 1; bytes < std::size_t{1} << 40; bytes *= 3) {
      const device::Plan plan = ReducePolicy().table_plan(bytes, n);
      EXPECT_GE(plan.blocks, 1);
      EXPECT_LE(plan.blocks, device::kChannels);
      EXPECT_GE(plan.threads, kLeastThreads);
      EXPECT_LE(plan.threads, device::row_of(plan.algorithm).most_threads);
    }
  }
}

TEST(DevicePlans, TakeNoMoreBlocksThanTheTeamHasChannels) {
  ReducePolicy policy;
  EXPECT_EQ(policy.kernel_plan(1 << 30, 4, 1).blocks, 1);
  policy.settings.blocks = 100;
  EXPECT_EQ(policy.kernel_plan(8, 4, 64).blocks, 64);
  policy.settings.blocks = 3;
  EXPECT_EQ(policy.kernel_plan(8, 4, 64).blocks, 3);
  policy.settings.blocks = 0;
  EXPECT_EQ(policy.kernel_plan(8, 4, 64).blocks, 1);
  policy.settings.threads = 1u << 31;
  EXPECT_EQ(policy.kernel_plan(8, 4, 64).threads, device::kMostThreads);
  policy.settings.rule = ReduceAlgorithm::two_shot_wide;
  EXPECT_EQ(policy.kernel_plan(8, 4, 64).threads, device::kMostThreadsOfTwoShotWide);
}

TEST(DevicePlans, PullWhatTheShortRowsOfASmallSlotDoNotHold) {
  ReducePolicy policy;
  for (const int n : {2, 3, 4, 8}) {
    EXPECT_EQ(policy.kernel_plan(256, n, 1).algorithm, ReduceAlgorithm::one_shot) << n;
    for (const std::size_t bytes : {513, 64 << 10, 1 << 20, 8 << 20, 64 << 20}) {
      const device::Plan plan = policy.kernel_plan(bytes, n, 1);
      EXPECT_EQ(plan.algorithm, ReduceAlgorithm::pull) << n << ", " << bytes;
      EXPECT_EQ(plan.blocks, 1);
      EXPECT_GE(plan.threads, kLeastThreads);
    }
  }
  policy.settings.rule = ReduceAlgorithm::ring;
  EXPECT_EQ(policy.kernel_plan(1 << 20, 4, 1).algorithm, ReduceAlgorithm::ring);
  policy.settings.rule = {};
  policy.use_plan(device::Plan{ReduceAlgorithm::direct, 1, 64});
  EXPECT_EQ(policy.kernel_plan(1 << 20, 4, 1).algorithm, ReduceAlgorithm::direct);
}

TEST(DevicePlans, FollowTheEnvironmentUnlessThatCannotAddInPeOrder) {
  ReducePolicy policy;
  bool in_pe_order = false;
  const auto chosen = [&](std::size_t bytes) {
    return policy.kernel_plan(bytes, 4, 64, in_pe_order).algorithm;
  };
  for (const std::size_t bytes : {8, 1 << 20})
    EXPECT_EQ(chosen(bytes), ReducePolicy().table_plan(bytes, 4).algorithm) << bytes;
  policy.settings.ring_min_bytes = 1000;
  EXPECT_EQ(chosen(999), ReducePolicy().table_plan(999, 4).algorithm);
  EXPECT_EQ(chosen(1000), ReduceAlgorithm::ring);
  policy.settings.ring_min_bytes.reset();
  policy.settings.rule = ReduceRule::classic;
  EXPECT_EQ(chosen(32 << 10), ReduceAlgorithm::recursive_doubling);
  EXPECT_EQ(chosen((32 << 10) + 1), ReduceAlgorithm::ring);
  in_pe_order = true;
  for (const std::size_t bytes : {8, 32 << 10, 1 << 30})
    EXPECT_TRUE(adds_in_pe_order(chosen(bytes))) << bytes;
  policy.settings.rule = ReduceAlgorithm::one_shot;
  EXPECT_EQ(chosen(1 << 30), ReduceAlgorithm::one_shot);
  policy.settings.rule = ReduceAlgorithm::direct;
  EXPECT_EQ(chosen(8), ReduceAlgorithm::direct);
  policy.settings.rule = ReduceAlgorithm::two_shot_wide;
  EXPECT_EQ(chosen(8), ReduceAlgorithm::two_shot_wide);
}

TEST(DevicePlans, AreForcedByTheNameOfAnyAlgorithmOfKernels) {
  for (std::size_t index = 0; !name_of_algorithm(index).empty(); ++index) {
    const std::string name(name_of_algorithm(index));
    Environment environment;
    EXPECT_EQ(parse_environment(environment,
                                [&](const char* variable) -> const char* {
                                  return variable == std::string("MESHMEM_REDUCE_ALGORITHM")
                                             ? name.c_str()
                                             : nullptr;
                                }),
              std::nullopt);
    ReducePolicy policy;
    policy.settings.rule = environment.reduce_algorithm;
    EXPECT_EQ(policy.kernel_plan(4096, 4, 64).algorithm, parse_plan(name + " 1 64")->algorithm)
        << name;
    EXPECT_TRUE(adds_in_pe_order(policy.kernel_plan(4096, 4, 64, true).algorithm)) << name;
    const device::Plan by_rows = policy.kernel_plan_by_rows(1 << 26, 2, 64, false, true);
    EXPECT_TRUE(adds_in_pe_order(by_rows.algorithm)) << name;
    policy.settings.rule = ReduceRule::automatic;
    policy.use_plan(parse_plan(name + " 1 64"));
    EXPECT_TRUE(adds_in_pe_order(policy.kernel_plan(4096, 4, 64, true).algorithm)) << name;
    policy.use_plan(std::nullopt);
  }
}

TEST(DevicePlans, ScatterAroundTheRingWhereTheWholeSourceWould) {
  ReducePolicy policy;
  const auto chosen = [&](std::size_t bytes, int channels = 64, bool in_pe_order = false) {
    return policy.kernel_scatter_plan(bytes, 4, channels, in_pe_order).algorithm;
  };
  for (const ReduceAlgorithm forced : {ReduceAlgorithm::ring, ReduceAlgorithm::ring_and_copies}) {
    policy.settings.rule = forced;
    EXPECT_EQ(chosen(1 << 20), ReduceAlgorithm::ring);
    EXPECT_EQ(chosen((1 << 20) + 8), ReduceAlgorithm::one_shot);  // blocks begin unevenly
    EXPECT_EQ(chosen(1 << 20, 1), ReduceAlgorithm::one_shot);     // in short rows
  }
  EXPECT_EQ(chosen(1 << 20, 64, true), ReduceAlgorithm::one_shot);
  policy.settings.rule = ReduceAlgorithm::two_shot;
  EXPECT_EQ(chosen(1 << 20), ReduceAlgorithm::one_shot);
  policy.settings.rule = ReduceRule::automatic;
  policy.settings.ring_min_bytes = 4000;
  EXPECT_EQ(chosen(1024), ReduceAlgorithm::ring);  // 4096 of all PEs
  EXPECT_EQ(chosen(992), ReduceAlgorithm::one_shot);
}

TEST(DevicePlans, TwoPesScatterAroundTheRingFromAMebibyteWhereWideLinesReduce) {
  ReducePolicy policy;
  policy.settings.rule = ReduceAlgorithm::two_shot_wide;
  const auto chosen = [&](std::size_t bytes, int n_pes) {
    return policy.kernel_scatter_plan(bytes, n_pes, 128);
  };
  EXPECT_EQ(chosen(1 << 20, 2).algorithm, ReduceAlgorithm::ring);
  EXPECT_EQ(chosen(1 << 20, 2).blocks, 128);
  EXPECT_EQ(chosen((1 << 20) - 16, 2).algorithm, ReduceAlgorithm::one_shot);
  EXPECT_EQ(chosen((1 << 20) + 8, 2).algorithm, ReduceAlgorithm::one_shot);
  EXPECT_EQ(chosen(1 << 20, 4).algorithm, ReduceAlgorithm::one_shot);
  policy.settings.blocks = 16;
  EXPECT_EQ(chosen(1 << 20, 2).blocks, 16);
  EXPECT_EQ(policy.kernel_scatter_plan(1 << 20, 2, 128, true).algorithm, ReduceAlgorithm::one_shot);
}

TEST(DevicePlans, GroupsInKernelsLeaveOneShotWhereTheTableDoes) {
  for (const int n : {2, 4, 8}) {
    const device::ReduceLimits limits = ReducePolicy().kernel_limits(n).block;
    EXPECT_EQ(limits.two_shot, limits.one_shot);  // longer ones go directly
    EXPECT_NE(ReducePolicy().table_plan(limits.one_shot + 1, n).algorithm,
              ReduceAlgorithm::one_shot);
  }
  const std::size_t most = ReducePolicy().kernel_limits(4).block.one_shot;
  EXPECT_EQ(ReducePolicy().table_plan(most, 4).algorithm, ReduceAlgorithm::one_shot);
}

TEST(DevicePlans, AThreadInAKernelFollowsWhatIsForcedToo) {
  ReducePolicy policy;
  EXPECT_LE(policy.kernel_limits(4).thread.one_shot, policy.kernel_limits(4).block.one_shot);
  policy.settings.rule = ReduceAlgorithm::one_shot;
  EXPECT_EQ(policy.kernel_limits(4).thread.one_shot, kAnySize);
}

TEST(DevicePlans, GroupsInKernelsFollowWhatIsForcedIfTheyHaveIt) {
  ReducePolicy policy;
  const device::ReduceLimits limits = policy.kernel_limits(4).block;
  const auto forced = [&](ReduceAlgorithm algorithm) {
    policy.settings.rule = algorithm;
    return policy.kernel_limits(4).block;
  };
  EXPECT_EQ(forced(ReduceAlgorithm::one_shot).one_shot, kAnySize);
  EXPECT_EQ(forced(ReduceAlgorithm::two_shot).one_shot, 0u);
  EXPECT_EQ(forced(ReduceAlgorithm::two_shot).two_shot, kAnySize);
  EXPECT_EQ(forced(ReduceAlgorithm::pull).two_shot, 0u);
  EXPECT_EQ(forced(ReduceAlgorithm::ring).one_shot, limits.one_shot);
}

TEST(DevicePlans, GridsTakePacketsForAtLeastWhatOneBlockDoes) {
  ReducePolicy policy;
  for (const int n : {2, 4, 8})
    EXPECT_GE(policy.kernel_limits(n).grid.one_shot, policy.kernel_limits(n).block.one_shot) << n;
  policy.settings.rule = ReduceAlgorithm::two_shot;
  EXPECT_EQ(policy.kernel_limits(4).grid.one_shot, 0u);
  EXPECT_EQ(policy.kernel_limits(4).grid.two_shot, kAnySize);
  policy.settings.rule = ReduceAlgorithm::pull;
  EXPECT_EQ(policy.kernel_limits(4).grid.two_shot, 0u);
}

template <typename E>
void expect_slices_of(std::size_t count, int channels) {
  std::size_t next = 0, longest = 0;
  for (int channel = 0; channel < channels; ++channel) {
    const device::Slice slice = device::slice_of<E>(count, channel, channels);
    if (slice.count > 0) {
      EXPECT_EQ(slice.first, next);
      EXPECT_EQ(slice.first * sizeof(E) % 16, 0u);
    }
    next += slice.count;
    longest = std::max(longest, slice.count);
  }
  EXPECT_EQ(next, count);
  EXPECT_LE(longest, count / static_cast<std::size_t>(channels) + 16 / sizeof(E) + 1);
}

TEST(Slices, CoverAllElementsInOrderAndEvenly) {
  for (const int channels : {1, 2, 3, 7, 64}) {
    for (const std::size_t count : {0, 1, 2, 15, 16, 17, 63, 64, 65, 1000, 100003}) {
      expect_slices_of<std::uint8_t>(count, channels);
      expect_slices_of<std::uint16_t>(count, channels);
      expect_slices_of<float>(count, channels);
      expect_slices_of<double>(count, channels);
    }
  }
}

}  // namespace
}  // namespace meshmem
