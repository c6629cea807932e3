// SPDX-License-Identifier: Apache-2.0
// HIP on CPUs: operations of a wave with a mask, active lanes, and barriers at which a block votes.
#include <string>

#include "hip_on_cpu.hpp"

namespace {

constexpr unsigned long long kAll = hip_on_cpu::kAllLanes;

__global__ void exchange(int* out) {
  const int self = static_cast<int>(threadIdx.x);
  int* mine = out + self * 8;
  mine[0] = __shfl_sync(kAll, self, 3);
  mine[1] = __shfl_xor_sync(kAll, self, 1);
  mine[2] = __shfl_up_sync(kAll, self, 1);
  mine[3] = __shfl_down_sync(kAll, self, 2, 4);
  mine[4] = __popcll(__ballot_sync(kAll, self % 2));
  mine[5] = __any_sync(kAll, self == 3) + 2 * __all_sync(kAll, self == 3);
  mine[6] = static_cast<int>(__match_any_sync(kAll, self % 8) & 0xffff);
  int are_same = -1;
  mine[7] = __match_all_sync(kAll, self / warpSize, &are_same) == kAll && are_same == 1;
  __syncwarp(kAll);
}

TEST(HipLanes, ExchangeValuesByMask) {
  const OnDevice<int> out(warpSize * 8);
  hipLaunchKernelGGL(exchange, 1, warpSize, 0, nullptr, out.get());
  const auto all = out.values();
  for (int self = 0; self < warpSize; ++self) {
    const std::vector<int> expected = {3,
                                       self ^ 1,
                                       self == 0 ? 0 : self - 1,
                                       self % 4 < 2 ? self + 2 : self,
                                       warpSize / 2,
                                       1,
                                       0x101 << self % 8,
                                       1};
    EXPECT_EQ(std::vector<int>(&all[self * 8], &all[self * 8] + 8), expected) << self;
  }
}

// Each group of 8 lanes has a mask, and a number of shuffles of its own.
__global__ void sum_in_groups(int* out) {
  const int self = static_cast<int>(threadIdx.x), group = self / 8;
  const unsigned long long mask = 0xffull << group * 8;
  for (int round = 1; round <= 1 + 3 * group; ++round)
    out[self] += __shfl_xor_sync(mask, self, round % 8);
}

TEST(HipLanes, MeetThoseOfTheirMaskAlone) {
  constexpr int kLanes = 24;
  const OnDevice<int> out(kLanes);
  hipLaunchKernelGGL(sum_in_groups, 1, kLanes, 0, nullptr, out.get());
  const auto sums = out.values();
  for (int self = 0; self < kLanes; ++self) {
    int expected = 0;
    for (int round = 1; round <= 1 + 3 * (self / 8); ++round) expected += self ^ round % 8;
    EXPECT_EQ(sums[self], expected) << self;
  }
}

// A lane that is far ahead does not overwrite values that slower ones have yet to read.
__global__ void run_ahead(int* out) {
  const int self = static_cast<int>(threadIdx.x);
  const int sum = self + __shfl_xor_sync(3ull, self + 10, 1);
  if (self == 0) {
    for (int i = 0; i < 5; ++i) out[2] += __shfl_sync(1ull, 1000, 0);
  }
  out[self] = sum;
}

TEST(HipLanes, KeepWhatOthersHaveYetToRead) {
  const OnDevice<int> out(3);
  hipLaunchKernelGGL(run_ahead, 1, 2, 0, nullptr, out.get());
  EXPECT_EQ(out.values(), (std::vector<int>{11, 11, 5000}));
}

__global__ void leave_some(int* out) {
  if (threadIdx.x % 3 == 1) return;
  out[threadIdx.x] = __popcll(__ballot_sync(kAll, 1));
}

TEST(HipLanes, AreNotAwaitedWhenTheyHaveExited) {
  const OnDevice<int> out(6);
  hipLaunchKernelGGL(leave_some, 1, 6, 0, nullptr, out.get());
  EXPECT_EQ(out.values(), (std::vector<int>{4, 0, 4, 4, 0, 4}));
}

// Lane 1 is in both masks, and comes to lane 2 first.
__global__ void overlap(int* out) {
  const int self = static_cast<int>(threadIdx.x);
  if (self >= 1) out[self] += __shfl_sync(6ull, self, 3 - self);
  if (self <= 1) out[self] += 10 * __shfl_sync(3ull, self + 1, 1 - self);
}

TEST(HipLanes, MayBeInMasksThatOverlap) {
  const OnDevice<int> out(3);
  hipLaunchKernelGGL(overlap, 1, 3, 0, nullptr, out.get());
  EXPECT_EQ(out.values(), (std::vector<int>{20, 12, 1}));
}

__global__ void count_by_ways(unsigned long long* out) {
  const unsigned self = threadIdx.x;
  if (self % 4 == 0) {
    out[self] = __activemask();
    atomicAdd(out + warpSize, static_cast<unsigned long long>(
                                  __shfl_sync(out[self], self, __ffsll(out[self]) - 1)));
  } else if (self % 4 == 1) {
    out[self] = __activemask();
  }
  __syncwarp();
  if (self % 2) __syncthreads();
}

TEST(HipLanes, AreActiveTogetherIfTheyGoTheSameWay) {
  const OnDevice<unsigned long long> out(warpSize + 1);
  hipLaunchKernelGGL(count_by_ways, 1, warpSize, 0, nullptr, out.get());
  const auto masks = out.values();
  for (int self = 0; self < warpSize; ++self) {
    const unsigned long long way = self % 4 > 1 ? 0 : 0x1111111111111111ull << self % 4;
    EXPECT_EQ(masks[self], way & kAll) << self;
  }
  EXPECT_EQ(masks[warpSize], 0u);  // the sum of the first one's lane, which is 0
}

__global__ void poll_for_active_lane(unsigned long long* words) {
  if (threadIdx.x == 0) {
    words[1] = __activemask();
    __atomic_store_n(words, 1ull, __ATOMIC_RELEASE);
    return;
  }
  while (__atomic_load_n(words, __ATOMIC_ACQUIRE) == 0) hip_on_cpu::yield();
}

TEST(HipLanes, AreActiveWithoutThoseThatPoll) {
  const OnDevice<unsigned long long> words(2);
  hipLaunchKernelGGL(poll_for_active_lane, 1, 4, 0, nullptr, words.get());
  EXPECT_EQ(words.values()[1], 1u);
}

__global__ void vote_in_block(int* out) {
  const int self = static_cast<int>(threadIdx.x);
  if (self == 99) return;
  const int counted = __syncthreads_count(self % 3 == 0);
  const int all = __syncthreads_and(self != 50), any = __syncthreads_or(self == 50);
  const int none = __syncthreads_or(0), every = __syncthreads_and(1);
  __syncthreads();
  if (counted == 33 && !all && any && !none && every) atomicAdd(out, 1);
}

TEST(HipBlocks, VoteAtBarriers) {
  const OnDevice<int> out(1);
  hipLaunchKernelGGL(vote_in_block, 3, 100, 0, nullptr, out.get());
  EXPECT_EQ(out.values()[0], 3 * 99);
}

__global__ void use_bits(double* out) {
  out[0] = __brev(1) == 0x80000000u && __brevll(3) == 0xc000000000000000ull;
  out[1] = __mulhi(-2, 1 << 30) + __umulhi(~0u, ~0u) / 4294967294.0;
  out[2] = static_cast<double>(__mul64hi(-1, 5)) + static_cast<double>(__umul64hi(1ull << 63, 6));
  out[3] = __int_as_float(__float_as_int(-1.5f)) + __uint_as_float(__float_as_uint(2.0f));
  out[4] = __longlong_as_double(__double_as_longlong(0.1));
  out[5] = __fdividef(__expf(0) + __cosf(0), __powf(2, 2)) + __sinf(0) + __logf(1);
  out[6] = __lane_id();
}

TEST(HipKernels, HaveBitsAndHighProducts) {
  const OnDevice<double> out(7);
  hipLaunchKernelGGL(use_bits, 1, 1, 0, nullptr, out.get());
  EXPECT_EQ(out.values(), (std::vector<double>{1, 0, 2, 0.5, 0.1, 0.5, 0}));
}

// ---- What ends a kernel

__global__ void misuse(int how) {
  const unsigned self = threadIdx.x;
  if (how == 0) __shfl_sync(kAll & ~4ull, 1, 0);
  if (how == 1 && self == 2) __ballot_sync(6ull, 1);  // lane 1 is at the barrier
  if (how == 2) {
    if (self % 2) {
      __ballot_sync(kAll, 1);
    } else {
      __syncwarp(kAll);
    }
  }
  if (how == 3 && self == 0) __syncthreads_count(1);
  if (how == 4) __syncwarp(self == 1 ? 3ull : 7ull);
  __syncthreads();
}

TEST(HipLanesDeathTest, EndKernelsThatNeverMeet) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto run = [](int how) {
    hipLaunchKernelGGL(misuse, 1, 3, 0, nullptr, how);
    static_cast<void>(hipDeviceSynchronize());
  };
  const auto ended = [](const std::string& why, const std::string& thread) {
    return "^meshmem: kernel misuse ended by: " + why + "; block \\(0, 0, 0\\), thread \\(" +
           thread + ", 0, 0\\)\n$";
  };
  EXPECT_DEATH(run(0), ended(".* with a mask that leaves out this thread", "2"));
  EXPECT_DEATH(run(1), ended(".* names lanes that do not come to it", "2"));
  EXPECT_DEATH(run(2), ended(".* meet in different operations of the wave", "1"));
  EXPECT_DEATH(run(3), ended("only some threads of the block count votes.*", "2"));
  EXPECT_DEATH(run(4), ended(".* names lanes that do not come to it", "0"));
}

__global__ void call_by_last_lane() {
  if (threadIdx.x == blockDim.x - 1) hip_on_cpu::note_call_of_wave("of_a_wave");
}

TEST(HipLanesDeathTest, EndsKernelsWhereSomeLanesDoNotCallARoutineOfTheWave) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto run = [](unsigned threads) {
    hipLaunchKernelGGL(call_by_last_lane, 1, threads, 0, nullptr);
    static_cast<void>(hipDeviceSynchronize());
  };
  for (const unsigned threads : {2u, 64u, 128u, 1024u})
    EXPECT_DEATH(run(threads), "of_a_wave.* this thread did not make it") << threads << " threads";
}

}  // namespace
