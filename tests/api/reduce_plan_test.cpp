// SPDX-License-Identifier: Apache-2.0
//
// Plans of reductions on device memory that the program sets: results are the same by all of them.
#include <shmemx.h>

#include "placed_array.hpp"

namespace meshmem {
namespace {

void expect_sums(size_t count) {
  PlacedArray<long> dest(Place::device, count), source(Place::device, count);
  std::vector<long> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = static_cast<long>(i) + my_pe();
  source.write(values);
  dest.write(std::vector<long>(count, -1));
  shmem_barrier_all();
  EXPECT_EQ(shmem_long_sum_reduce(SHMEM_TEAM_WORLD, dest.data(), source.data(), count), 0);
  const std::vector<long> found = dest.read();
  const long n = n_pes();
  for (size_t i = 0; i < count; ++i)
    ASSERT_EQ(found[i], static_cast<long>(i) * n + n * (n - 1) / 2) << "at " << i;
  shmem_barrier_all();
}

TEST(ReducePlan, GivesTheSameByEveryAlgorithm) {
  int n = 0;
  for (; shmemx_reduce_plan_algorithm(n); ++n) {
    for (const char* shape : {" 1 64", " 3 40"}) {
      const std::string plan = shmemx_reduce_plan_algorithm(n) + std::string(shape);
      SCOPED_TRACE(plan);
      ASSERT_EQ(shmemx_reduce_plan(plan.c_str()), 0);
      expect_sums(1);
      expect_sums(301);
    }
  }
  EXPECT_GE(n, 4);
  EXPECT_EQ(shmemx_reduce_plan_algorithm(-1), nullptr);
  EXPECT_EQ(shmemx_reduce_plan(nullptr), 0);
  expect_sums(301);
}

TEST(ReducePlan, RefusesATextThatIsNoPlan) {
  EXPECT_NE(shmemx_reduce_plan("two_shot"), 0);
  EXPECT_NE(shmemx_reduce_plan("no_shot 1 64"), 0);
  EXPECT_NE(shmemx_reduce_plan(""), 0);
  expect_sums(5);
}

}  // namespace
}  // namespace meshmem
