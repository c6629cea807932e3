// SPDX-License-Identifier: Apache-2.0
//
// The schedules, run for 1 to 64 PEs without any process. Counts say how often each PE has taken in
// each PE's contribution, and the steps are played in lockstep on these counts.
#include "collectives/schedule.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace meshmem::schedule {
namespace {

constexpr int kMostPes = 64;

// How often each PE's contribution is in something.
using Contributions = std::vector<int>;

Contributions only(int n, int pe) {
  Contributions result(static_cast<std::size_t>(n));
  result[static_cast<std::size_t>(pe)] = 1;
  return result;
}
Contributions everything_once(int n) { return Contributions(static_cast<std::size_t>(n), 1); }

Contributions operator+(Contributions a, const Contributions& b) {
  for (std::size_t i = 0; i < a.size(); ++i) a[i] += b[i];
  return a;
}

std::vector<std::size_t> counts_for(int n) {
  const auto pes = static_cast<std::size_t>(n);
  return {0, 1, 2, 3, pes - 1, pes, pes + 1, 2 * pes + 1, 97, 251, 1009, 65'537, 1'000'003};
}

// Checks what holds of shares whatever the count: they tile [0, count) in order, begin on grains,
// and differ by a grain at most.
void expect_good_shares(std::size_t count, std::size_t grain, int n) {
  SCOPED_TRACE(testing::Message() << "count " << count << " grain " << grain << " n " << n);
  std::size_t border = 0;
  std::size_t least_grains = std::numeric_limits<std::size_t>::max(), most_grains = 0;
  for (int index = 0; index < n; ++index) {
    const Range range = share(count, grain, n, index);
    ASSERT_EQ(range.begin, border);
    ASSERT_GE(range.end, range.begin);
    if (range.begin < count) {
      ASSERT_EQ(range.begin % grain, 0u);
    }
    const std::size_t grains = range.size() / grain + (range.size() % grain != 0 ? 1 : 0);
    least_grains = std::min(least_grains, grains);
    most_grains = std::max(most_grains, grains);
    border = range.end;
  }
  ASSERT_EQ(border, count);
  ASSERT_LE(most_grains - least_grains, 1u);
}

TEST(Share, TilesTheElementsNearlyEquallyOnGrainBorders) {
  for (int n = 1; n <= kMostPes; ++n) {
    for (const std::size_t count : counts_for(n)) {
      for (const std::size_t grain : {1, 2, 3, 4, 8, 16, 64}) expect_good_shares(count, grain, n);
    }
  }
}

TEST(Share, IsRightForCountsNearTheEndOfTheAddressSpace) {
  // A buffer is at most half of the address space; elements of one byte make the highest counts.
  constexpr std::size_t kMost = std::numeric_limits<std::size_t>::max() / 2;
  for (int n = 1; n <= kMostPes; ++n) {
    for (const std::size_t count : {kMost, kMost - 1, kMost - 63, kMost / 3}) {
      for (const std::size_t grain : {1, 4, 64}) expect_good_shares(count, grain, n);
    }
  }
}

bool are_partners(Role one, Role other) {
  switch (one) {
    case Role::give:
      return other == Role::take || other == Role::receive;
    case Role::take:
    case Role::receive:
      return other == Role::give;
    case Role::exchange:
      return other == Role::exchange;
    case Role::idle:
      return false;
  }
  return false;
}

TEST(Doubling, EveryRoleHasItsPartnerInTheSameStep) {
  for (int n = 1; n <= kMostPes; ++n) {
    for (int step = 0; step < doubling_steps(n); ++step) {
      for (int pe = 0; pe < n; ++pe) {
        SCOPED_TRACE(testing::Message() << "n " << n << " step " << step << " PE " << pe);
        const Exchange mine = doubling_exchange(n, pe, step);
        if (mine.role == Role::idle) continue;
        ASSERT_GE(mine.partner, 0);
        ASSERT_LT(mine.partner, n);
        ASSERT_NE(mine.partner, pe);
        const Exchange theirs = doubling_exchange(n, mine.partner, step);
        ASSERT_EQ(theirs.partner, pe);
        ASSERT_TRUE(are_partners(mine.role, theirs.role));
      }
    }
  }
}

TEST(Doubling, GivesEveryPeEveryContributionOnce) {
  for (int n = 1; n <= kMostPes; ++n) {
    SCOPED_TRACE(testing::Message() << "n " << n);
    std::vector<Contributions> held;
    for (int pe = 0; pe < n; ++pe) held.push_back(only(n, pe));
    for (int step = 0; step < doubling_steps(n); ++step) {
      const std::vector<Contributions> before = held;
      for (int pe = 0; pe < n; ++pe) {
        const Exchange exchange = doubling_exchange(n, pe, step);
        const auto me = static_cast<std::size_t>(pe);
        const auto partner = static_cast<std::size_t>(std::max(exchange.partner, 0));
        if (exchange.role == Role::take || exchange.role == Role::exchange)
          held[me] = before[me] + before[partner];
        if (exchange.role == Role::receive) held[me] = before[partner];
      }
    }
    for (int pe = 0; pe < n; ++pe)
      ASSERT_EQ(held[static_cast<std::size_t>(pe)], everything_once(n));
  }
}

TEST(Doubling, TakesTwoStepsMoreThanTheLogarithm) {
  EXPECT_EQ(doubling_steps(1), 0);
  EXPECT_EQ(doubling_steps(2), 3);
  EXPECT_EQ(doubling_steps(5), 4);
  EXPECT_EQ(doubling_steps(64), 8);
}

TEST(Dissemination, TellsEveryPeOfEveryPe) {
  for (int n = 1; n <= kMostPes; ++n) {
    SCOPED_TRACE(testing::Message() << "n " << n);
    const std::uint64_t all = n == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << n) - 1;
    std::vector<std::uint64_t> knows_of;  // a bit for each PE
    for (int pe = 0; pe < n; ++pe) knows_of.push_back(std::uint64_t{1} << pe);
    for (int round = 0; round < dissemination_rounds(n); ++round) {
      const std::vector<std::uint64_t> before = knows_of;
      std::vector<int> signals(static_cast<std::size_t>(n));
      for (int pe = 0; pe < n; ++pe) {
        const auto target = static_cast<std::size_t>(dissemination_target(n, pe, round));
        ASSERT_LT(target, static_cast<std::size_t>(n));
        knows_of[target] |= before[static_cast<std::size_t>(pe)];
        ++signals[target];
      }
      // A flag has one writer a round.
      ASSERT_EQ(signals, std::vector<int>(static_cast<std::size_t>(n), 1));
    }
    for (const std::uint64_t known : knows_of) ASSERT_EQ(known, all);
  }
}

TEST(Dissemination, TakesTheLogarithmRoundedUp) {
  EXPECT_EQ(dissemination_rounds(1), 0);
  EXPECT_EQ(dissemination_rounds(2), 1);
  EXPECT_EQ(dissemination_rounds(5), 3);
  EXPECT_EQ(dissemination_rounds(64), 6);
  EXPECT_EQ(dissemination_rounds(65), 7);
}

TEST(Binomial, GivesEveryPeToItsParentOnce) {
  for (int n = 1; n <= 65; ++n) {
    std::vector<int> parents(static_cast<std::size_t>(n), -1);
    for (int pe = 0; pe < n; ++pe) {
      for_binomial_children(n, pe, [&](int child) {
        ASSERT_LT(child, n);
        ASSERT_EQ(std::exchange(parents[static_cast<std::size_t>(child)], pe), -1);
      });
    }
    ASSERT_EQ(parents[0], -1);
    for (int pe = 1; pe < n; ++pe)
      ASSERT_EQ(parents[static_cast<std::size_t>(pe)], binomial_parent(pe));
  }
}

TEST(Binomial, BeginsWithTheLargestSubtree) {
  std::vector<int> children;
  for_binomial_children(7, 0, [&](int child) { children.push_back(child); });
  EXPECT_EQ(children, (std::vector<int>{4, 2, 1}));
}

}  // namespace
}  // namespace meshmem::schedule
