// SPDX-License-Identifier: Apache-2.0
// HIP on CPUs: cooperative groups.
#include <hip/hip_cooperative_groups.h>

#include <string>

#include "hip_on_cpu.hpp"

namespace {

namespace cg = cooperative_groups;

// In each round every block writes what all others read after the grid has met.
__global__ void pass_around(int* values, int* wrong, int rounds) {
  const cg::grid_group grid = cg::this_grid();
  const unsigned self = blockIdx.x, blocks = gridDim.x;
  for (int round = 1; round <= rounds; ++round) {
    if (threadIdx.x == 0) values[self] = round;
    grid.sync();
    if (values[(self + 1 + threadIdx.x) % blocks] != round) atomicAdd(wrong, 1);
    grid.sync();
  }
  if (grid.thread_rank() != self * blockDim.x + threadIdx.x) atomicAdd(wrong, 1);
  if (grid.size() != blocks * blockDim.x || !grid.is_valid()) atomicAdd(wrong, 1);
}

TEST(HipGroups, OfTheGridMeet) {
  const OnDevice<int> words(41);
  int* values = words.get();
  int* wrong = words.get() + 40;
  int rounds = 20;
  void* arguments[] = {&values, &wrong, &rounds};
  for (const unsigned blocks : {1, 3, 40}) {
    ASSERT_HIP(
        hipLaunchCooperativeKernel(pass_around, dim3(blocks), dim3(5), arguments, 0, nullptr));
    const auto result = words.values();
    EXPECT_EQ(result[40], 0);
    EXPECT_EQ(result[blocks - 1], rounds);
  }
}

__global__ void describe_block(unsigned* out) {
  const cg::thread_block block = cg::this_thread_block();
  __shared__ unsigned sum;
  if (block.thread_rank() == 0) sum = 0;
  block.sync();
  atomicAdd(&sum, block.thread_rank());
  cg::sync(block);
  out[0] = sum;
  out[1] = block.size() + 1000 * block.group_index().x;
  if (block.thread_index().y == 1 && block.thread_index().x == 0) out[2] = block.thread_rank();
}

TEST(HipGroups, OfTheBlockMeet) {
  const OnDevice<unsigned> out(3);
  hipLaunchKernelGGL(describe_block, 1, dim3(10, 9), 0, nullptr, out.get());
  EXPECT_EQ(out.values(), (std::vector<unsigned>{90 * 89 / 2, 90, 10}));
}

template <typename Group>
__device__ int sum_in(const Group& group, int value) {
  for (unsigned step = group.size() / 2; step > 0; step /= 2) value += group.shfl_down(value, step);
  return group.shfl(value, 0);
}

// By tiles of 8 and tiles of 2 in them; the threads of odd tiles do one more round.
__global__ void use_tiles(int* out) {
  const int self = static_cast<int>(threadIdx.x);
  const auto tile = cg::tiled_partition<8>(cg::this_thread_block());
  const auto pair = cg::tiled_partition<2>(tile);
  int* mine = out + self * 8;
  mine[0] = sum_in(tile, self);
  if (tile.meta_group_rank() % 2) mine[0] += tile.shfl_xor(self, 7);
  mine[1] = sum_in(pair, self);
  mine[2] = static_cast<int>(tile.ballot(self % 3 == 0));
  mine[3] = tile.any(self == 8) + 2 * tile.all(self < 16);
  mine[4] = static_cast<int>(pair.meta_group_rank() + 10 * pair.meta_group_size() +
                             100 * tile.meta_group_size());
  mine[5] = tile.shfl_up(self, 3) + 100 * static_cast<int>(tile.thread_rank());
  mine[6] = static_cast<int>(tile.match_any(self % 4));
  const cg::thread_group by_number = cg::tiled_partition(cg::this_thread_block(), 4);
  by_number.sync();
  mine[7] = static_cast<int>(by_number.thread_rank() + 10 * by_number.size());
}

TEST(HipGroups, AreTilesOfAWave) {
  constexpr int kThreads = 40;
  const OnDevice<int> out(kThreads * 8);
  hipLaunchKernelGGL(use_tiles, 1, kThreads, 0, nullptr, out.get());
  const auto all = out.values();
  for (int self = 0; self < kThreads; ++self) {
    const int first = self / 8 * 8, rank = self % 8;
    int ballot = 0;
    for (int i = 0; i < 8; ++i) ballot |= ((first + i) % 3 == 0) << i;
    const std::vector<int> expected = {8 * first + 28 + (self / 8 % 2 ? first + (rank ^ 7) : 0),
                                       self + (self ^ 1),
                                       ballot,
                                       (first == 8) + 2 * (first < 16),
                                       rank / 2 + 10 * 4 + 100 * kThreads / 8,
                                       (rank < 3 ? self : self - 3) + 100 * rank,
                                       0x11 << self % 4,
                                       self % 4 + 40};
    EXPECT_EQ(std::vector<int>(&all[self * 8], &all[self * 8] + 8), expected) << self;
  }
}

// One atomic for all active lanes, as programs do it.
__global__ void count_together(int* counter, int* places) {
  const unsigned self = threadIdx.x;
  if (self % 3 == 0) {
    const cg::coalesced_group active = cg::coalesced_threads();
    int first = 0;
    if (active.thread_rank() == 0) first = atomicAdd(counter, static_cast<int>(active.size()));
    places[self] = active.shfl(first, 0) + static_cast<int>(active.thread_rank());
    const cg::coalesced_group part = cg::tiled_partition(active, 4);
    counter[1 + self] = static_cast<int>(part.ballot(1)) + 100 * static_cast<int>(part.size());
  }
}

TEST(HipGroups, AreLanesThatAreActive) {
  constexpr int kThreads = 30;  // 10 of them count
  const OnDevice<int> counter(1 + kThreads), places(kThreads);
  hipLaunchKernelGGL(count_together, 1, kThreads, 0, nullptr, counter.get(), places.get());
  const auto counts = counter.values(), found = places.values();
  EXPECT_EQ(counts[0], 10);
  for (int self = 0; self < kThreads; self += 3) {
    EXPECT_EQ(found[self], self / 3);
    EXPECT_EQ(counts[1 + self], self / 3 < 8 ? 415 : 203) << self;
  }
}

// ---- What ends a kernel

__global__ void misuse(int how) {
  if (how == 1 && blockIdx.x == 1) return;
  if (how == 2 && threadIdx.x == 1) __syncthreads();
  cg::this_grid().sync();
}

TEST(HipGroupsDeathTest, EndKernelsWhoseGridCannotMeet) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        hipLaunchKernelGGL(misuse, 2, 1, 0, nullptr, 0);
        static_cast<void>(hipDeviceSynchronize());
      },
      "ended by: a barrier of the grid, which needs a launch by hipLaunchCooperativeKernel;");
  const auto run = [](int how) {
    void* arguments[] = {&how};
    static_cast<void>(hipLaunchCooperativeKernel(misuse, dim3(2), dim3(2), arguments, 0, nullptr));
    static_cast<void>(hipDeviceSynchronize());
  };
  EXPECT_DEATH(run(1), "ended by: a barrier of the grid, of which a block has ended;");
  EXPECT_DEATH(run(2), "ended by: only some threads of the block are at the barrier of the grid;");
}

}  // namespace
