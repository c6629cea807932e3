// SPDX-License-Identifier: Apache-2.0
//
// Which algorithm a reduction takes, given what the environment says: a pure function.
#include <gtest/gtest.h>

#include "collectives/reduction.hpp"

namespace meshmem {
namespace {

TEST(Selection, TakesWhatIsForcedUnlessThatCannotAddInPeOrder) {
  ReductionChoice choice;
  choice.ring_min_bytes = 1000;
  EXPECT_NE(choose_reduce_algorithm(choice, 999, 4), ReduceAlgorithm::ring);
  EXPECT_EQ(choose_reduce_algorithm(choice, 1000, 4), ReduceAlgorithm::ring);
  choice.forced = ReduceAlgorithm::one_shot;
  EXPECT_EQ(choose_reduce_algorithm(choice, 1'000'000, 4), ReduceAlgorithm::one_shot);
  choice.deterministic = true;
  EXPECT_EQ(choose_reduce_algorithm(choice, 1'000'000, 4), ReduceAlgorithm::one_shot);
  for (const auto forced :
       {ReduceAlgorithm::automatic, ReduceAlgorithm::ring, ReduceAlgorithm::recursive_doubling}) {
    choice.forced = forced;
    for (const std::size_t bytes : {8, 1000, 1'000'000}) {
      const ReduceAlgorithm chosen = choose_reduce_algorithm(choice, bytes, 5);
      EXPECT_TRUE(chosen == ReduceAlgorithm::one_shot || chosen == ReduceAlgorithm::two_shot);
    }
  }
}

TEST(Selection, TakesOneOfTheHostsFourWhateverIsForced) {
  for (int i = 0; !name_of(static_cast<ReduceAlgorithm>(i)).empty(); ++i) {
    ReductionChoice choice;
    choice.forced = static_cast<ReduceAlgorithm>(i);
    for (const std::size_t bytes : {8, 1'000'000}) {
      const ReduceAlgorithm chosen = choose_reduce_algorithm(choice, bytes, 5);
      EXPECT_TRUE(chosen == ReduceAlgorithm::one_shot || chosen == ReduceAlgorithm::two_shot ||
                  chosen == ReduceAlgorithm::ring || chosen == ReduceAlgorithm::recursive_doubling)
          << name_of(choice.forced) << " gives " << name_of(chosen);
    }
  }
}

TEST(Selection, ClassicChangesFromRecursiveDoublingToTheRing) {
  ReductionChoice choice;
  choice.forced = ReduceAlgorithm::classic;
  EXPECT_EQ(choose_reduce_algorithm(choice, 32 << 10, 4), ReduceAlgorithm::recursive_doubling);
  EXPECT_EQ(choose_reduce_algorithm(choice, (32 << 10) + 1, 4), ReduceAlgorithm::ring);
  choice.ring_min_bytes = 100;
  EXPECT_EQ(choose_reduce_algorithm(choice, 99, 4), ReduceAlgorithm::recursive_doubling);
  EXPECT_EQ(choose_reduce_algorithm(choice, 100, 4), ReduceAlgorithm::ring);
  choice.forced = ReduceAlgorithm::direct;
  EXPECT_EQ(choose_reduce_algorithm(choice, 8, 4), ReduceAlgorithm::two_shot);
}

}  // namespace
}  // namespace meshmem
