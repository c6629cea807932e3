// SPDX-License-Identifier: Apache-2.0
// HIP on CPUs: what a kernel sees, how its threads wait for each other, atomics, and how it fails.
#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <string>

#include "hip/on_cpu/for_meshmem.h"
#include "hip_on_cpu.hpp"

namespace {

__global__ void write_value(int* to, int value) { *to = value; }

__global__ void write_indices(unsigned* out) {
  const unsigned block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  const unsigned thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  const unsigned threads = blockDim.x * blockDim.y * blockDim.z;
  out[block * threads + thread] = block * threads + thread;
}

__global__ void write_indices_by_older_names(unsigned* out) {
  const unsigned block =
      (hipBlockIdx_z * hipGridDim_y + hipBlockIdx_y) * hipGridDim_x + hipBlockIdx_x;
  const unsigned thread =
      (hipThreadIdx_z * hipBlockDim_y + hipThreadIdx_y) * hipBlockDim_x + hipThreadIdx_x;
  const unsigned threads = hipBlockDim_x * hipBlockDim_y * hipBlockDim_z;
  out[block * threads + thread] = block * threads + thread + hipGridDim_z;
}

TEST(HipKernels, HaveOlderNamesOfThreeDimensions) {
  const OnDevice<unsigned> out(2 * 3 * 4 * 5 * 3 * 7);
  hipLaunchKernelGGL(write_indices_by_older_names, dim3(2, 3, 4), dim3(5, 3, 7), 0, nullptr,
                     out.get());
  std::vector<unsigned> expected(2 * 3 * 4 * 5 * 3 * 7);
  std::iota(expected.begin(), expected.end(), 4u);
  EXPECT_EQ(out.values(), expected);
}

TEST(HipKernels, HaveThreeDimensions) {
  const OnDevice<unsigned> out(2 * 3 * 4 * 5 * 3 * 7);
  EXPECT_FALSE(hip_on_cpu::in_kernel());
  hipLaunchKernelGGL(write_indices, dim3(2, 3, 4), dim3(5, 3, 7), 0, nullptr, out.get());
  std::vector<unsigned> expected(2 * 3 * 4 * 5 * 3 * 7);
  std::iota(expected.begin(), expected.end(), 0u);
  EXPECT_EQ(out.values(), expected);
}

// Threads meet, so that the scheduler resumes each one before it reads its indices again.
__global__ void keep_indices(unsigned* wrong) {
  const unsigned thread = threadIdx.x, block = blockIdx.x;
  for (int round = 0; round < 3; ++round) {
    __syncthreads();
    if (threadIdx.x != thread || blockIdx.x != block || blockDim.x != 40 || gridDim.x != 50)
      atomicAdd(wrong, 1);
  }
}

TEST(HipKernels, KeepTheirIndicesAcrossBarriers) {
  const OnDevice<unsigned> wrong(1);
  const dim3 gridDim(50), blockDim(40);  // names that a program may use itself
  hipLaunchKernelGGL(keep_indices, gridDim, blockDim, 0, nullptr, wrong.get());
  EXPECT_EQ(wrong.values()[0], 0u);
}

template <typename T, int kFactor>
__global__ void scale(T* values, T offset) {
  values[threadIdx.x] = values[threadIdx.x] * kFactor + offset;
}

TEST(HipKernels, AreInstancesOfTemplates) {
  const OnDevice<double> values(3);
  hipLaunchKernelGGL((scale<double, 3>), 1, 3, 0, nullptr, values.get(), 1);
  hipLaunchKernelGGL((scale<double, 3>), 1, 3, 0, nullptr, values.get(), 1);
  EXPECT_EQ(values.values(), std::vector<double>(3, 4.0));
  double* pointer = values.get();
  double offset = 0.5;
  void* arguments[] = {&pointer, &offset};
  EXPECT_HIP(hipLaunchCooperativeKernel(scale<double, 2>, dim3(1), dim3(3), arguments, 0, nullptr));
  EXPECT_EQ(values.values(), std::vector<double>(3, 8.5));
}

__global__ void compute(double* out, const float* source) {
  const float nan = nanf("");
  out[0] = min(3, -2) + 10 * max(3, -2);                                    // 28
  out[1] = static_cast<double>(max(-1, 7u)) - 4294967295.0;                 // 0
  out[2] = min(nan, 2.5f) + max(1.5, 0.5);                                  // 4
  out[2] += max(0.25f, 0.5) - min(0.5, 0.25f) - 0.25;                       // 0
  out[3] = __popc(0xf0fu) + 100 * __ffs(8) + 10000 * __clz(1);              // 310408
  out[4] = __popcll(~0ull) + 100 * __ffsll(0) + 1000 * __clzll(1ll << 40);  // 23064
  out[5] = __ldg(source) * rsqrtf(0.25f);
  assert(min(5ull, 4ull) == 4);
}

TEST(HipKernels, HaveTheMathematicsOfGpus) {
  const OnDevice<double> out(6);
  const OnDevice<float> source(1);
  const float value = 1.25f;
  EXPECT_HIP(hipMemcpy(source.get(), &value, sizeof value, hipMemcpyHostToDevice));
  hipLaunchKernelGGL(compute, 1, 1, 0, nullptr, out.get(), source.get());
  EXPECT_EQ(out.values(), (std::vector<double>{28, 0, 4, 310408, 23064, 2.5}));
}

TEST(HipKernels, AreRefusedWithImpossibleShapes) {
  hipLaunchKernelGGL(write_value, 1, 1025, 0, nullptr, nullptr, 0);
  EXPECT_EQ(hipGetLastError(), hipErrorInvalidConfiguration);
  hipLaunchKernelGGL(write_value, 0, 1, 0, nullptr, nullptr, 0);
  EXPECT_EQ(hipGetLastError(), hipErrorInvalidConfiguration);
  hipLaunchKernelGGL(write_value, 1, 1, 1 << 20, nullptr, nullptr, 0);
  EXPECT_EQ(hipGetLastError(), hipErrorInvalidConfiguration);
}

// Each block sums its threads' ranks through shared memory, with a barrier at each step.
__global__ void sum_in_block(int* sums) {
  __shared__ int values[1024];
  HIP_DYNAMIC_SHARED(int, copies)
  const unsigned rank = threadIdx.x;
  values[rank] = static_cast<int>(rank + blockIdx.x);
  for (unsigned step = 512; step > 0; step /= 2) {
    __syncthreads();
    if (rank < step && rank + step < blockDim.x) values[rank] += values[rank + step];
  }
  __syncthreads();
  copies[rank] = values[0];
  __syncthreads();
  if (rank == 0) sums[blockIdx.x] = copies[blockDim.x - 1];
}

TEST(HipKernels, ShareMemoryInABlock) {
#ifdef HIP_ON_CPU_TSAN  // which can follow some thousand threads, and counts fibers as such
  constexpr int kBlocks = 3;
#else
  constexpr int kBlocks = 9;
#endif
  const OnDevice<int> sums(kBlocks);
  for (const int threads : {1, 31, 256, 1024}) {
    hipLaunchKernelGGL(sum_in_block, kBlocks, threads, threads * sizeof(int), nullptr, sums.get());
    const auto result = sums.values();
    for (int i = 0; i < kBlocks; ++i)
      EXPECT_EQ(result[i], threads * (threads - 1) / 2 + i * threads);
  }
}

__global__ void leave_one_by_one(int* rounds) {
  for (unsigned round = 0; round < threadIdx.x; ++round) {
    __syncthreads();
    atomicAdd(rounds, 1);
  }
}

TEST(HipKernels, PassBarriersThatOthersHaveLeft) {
  const OnDevice<int> rounds(1);
  hipLaunchKernelGGL(leave_one_by_one, 1, 100, 0, nullptr, rounds.get());
  EXPECT_EQ(rounds.values()[0], 100 * 99 / 2);
}

constexpr int kWaveResults = 9;
__global__ void use_the_warp(int* out) {
  const int self = static_cast<int>(threadIdx.x), lane = self % warpSize;
  int* mine = out + self * kWaveResults;
  mine[0] = __shfl(self, 0);
  mine[1] = __shfl_xor(self, 1);
  mine[2] = __shfl_up(self, 1);
  mine[3] = __shfl_down(self, 2, 4);
  mine[4] = static_cast<int>(__ballot(lane % 2));
  mine[8] = static_cast<int>(__ballot(lane % 2) >> 32);
  mine[5] = __all(self >= 0) + 2 * __any(lane == 3) + 4 * __all(lane == 0);
  if (lane % 2 == 0) return;
  mine[6] = __popcll(__ballot(1));  // those that are still there
  mine[7] = static_cast<int>(__shfl(lane * 0.5, 1) * 10);
}

TEST(HipKernels, ExchangeValuesInAWarp) {
  constexpr int kThreads = warpSize + 9;  // the second warp is short
  const OnDevice<int> out(kThreads * kWaveResults);
  hipLaunchKernelGGL(use_the_warp, 1, kThreads, 0, nullptr, out.get());
  const auto all = out.values();
  for (int self = 0; self < kThreads; ++self) {
    const int* mine = all.data() + self * kWaveResults;
    const int first = self / warpSize * warpSize, lanes = std::min(warpSize, kThreads - first);
    EXPECT_EQ(mine[0], first);
    EXPECT_EQ(mine[1], (self ^ 1) < kThreads ? self ^ 1 : self);
    EXPECT_EQ(mine[2], self == first ? self : self - 1);
    EXPECT_EQ(mine[3], self % 4 < 2 && self + 2 < kThreads ? self + 2 : self);
    const std::uint64_t odd = 0xaaaaaaaaaaaaaaaa & (~std::uint64_t{0} >> (64 - lanes));
    EXPECT_EQ(static_cast<unsigned>(mine[4]), static_cast<unsigned>(odd));
    EXPECT_EQ(static_cast<unsigned>(mine[8]), odd >> 32);
    EXPECT_EQ(mine[5], 3);
    if (self % 2 == 0) continue;
    EXPECT_EQ(mine[6], lanes / 2);
    EXPECT_EQ(mine[7], 5);
  }
}

__global__ void half_meets_half_waits(int* out) {
  if (threadIdx.x < warpSize / 2) *out = __popcll(__ballot(1));
  __syncthreads();
}

TEST(HipKernels, MeetInAWarpWhileOthersAreAtTheBarrier) {
  const OnDevice<int> out(1);
  hipLaunchKernelGGL(half_meets_half_waits, 1, warpSize, 0, nullptr, out.get());
  EXPECT_EQ(out.values()[0], warpSize / 2);
}

// Threads of a block hand a token on; each polls for it.
__global__ void pass_token(unsigned* token) {
  while (__atomic_load_n(token, __ATOMIC_ACQUIRE) != threadIdx.x) hip_on_cpu::yield();
  __atomic_store_n(token, threadIdx.x + 1, __ATOMIC_RELEASE);
}

TEST(HipKernels, WaitForThreadsOfTheirBlock) {
  const OnDevice<unsigned> token(1);
  hipLaunchKernelGGL(pass_token, 1, 300, 0, nullptr, token.get());
  EXPECT_EQ(token.values()[0], 300u);
}

template <bool kYields>
__global__ void meet_in_grid(unsigned* arrived) {
  __syncthreads();
  if (threadIdx.x == 0) {
    atomicAdd(arrived, 1u);
    while (__atomic_load_n(arrived, __ATOMIC_ACQUIRE) < gridDim.x) {
      if (kYields) hip_on_cpu::yield();
    }
  }
  __syncthreads();
}

TEST(HipKernels, WaitForAllBlocksOfTheirLaunch) {
  const OnDevice<unsigned> arrived(2);
  hipLaunchKernelGGL(meet_in_grid<true>, 300, 4, 0, nullptr, arrived.get());
  EXPECT_HIP(hipDeviceSynchronize());
  hipLaunchKernelGGL(meet_in_grid<false>, 12, 4, 0, nullptr, arrived.get() + 1);
  EXPECT_EQ(arrived.values(), (std::vector<unsigned>{300, 12}));
}

__global__ void meet_and_tell(unsigned* arrived, unsigned* cooperative) {
  atomicAdd(arrived, 1u);
  while (__atomic_load_n(arrived, __ATOMIC_ACQUIRE) < gridDim.x) hip_on_cpu::yield();
  if (hip_on_cpu::current_thread->block->is_cooperative) atomicAdd(cooperative, 1u);
}

TEST(HipKernels, KnowWhetherTheyWereLaunchedCooperatively) {
  const OnDevice<unsigned> words(4);
  unsigned *arrived = words.get(), *cooperative = words.get() + 1;
  void* arguments[] = {&arrived, &cooperative};
  EXPECT_HIP(hipLaunchCooperativeKernel(meet_and_tell, dim3(30), dim3(1), arguments, 0, nullptr));
  EXPECT_HIP(hipDeviceSynchronize());
  hipLaunchKernelGGL(meet_and_tell, 20, 1, 0, nullptr, words.get() + 2, words.get() + 3);
  EXPECT_EQ(words.values(), (std::vector<unsigned>{30, 30, 20, 0}));
  EXPECT_EQ(hipLaunchCooperativeKernel(meet_and_tell, dim3(0), dim3(1), arguments, 0, nullptr),
            hipErrorInvalidConfiguration);
  EXPECT_EQ(hipGetLastError(), hipErrorInvalidConfiguration);
}

__global__ void raise_flag(int* flag) { atomicExch(flag, 1); }
__global__ void wait_for_flag(int* flag, int* answer) {
  while (__atomic_load_n(flag, __ATOMIC_ACQUIRE) == 0) hip_on_cpu::yield();
  *answer = 1;
}

TEST(HipKernels, WaitForKernelsOfOtherStreams) {
  const OnDevice<int> words(2);
  const OwnStream first(hipStreamNonBlocking), second(hipStreamNonBlocking);
  hipLaunchKernelGGL(wait_for_flag, 1, 1, 0, first, words.get(), words.get() + 1);
  hipLaunchKernelGGL(raise_flag, 1, 1, 0, second, words.get());
  EXPECT_HIP(hipStreamSynchronize(first));
  EXPECT_EQ(words.values()[1], 1);
}

__constant__ int constants[4];
__global__ void read_constants(int* out) { out[threadIdx.x] = constants[threadIdx.x]; }

TEST(HipKernels, ReadSymbols) {
  const OnDevice<int> out(4);
  const int values[] = {1, 2, 3, 4};
  int back[4] = {};
  ASSERT_HIP(hipMemcpyToSymbol(HIP_SYMBOL(constants), values, sizeof(values)));
  EXPECT_EQ(hipMemcpyToSymbol(HIP_SYMBOL(constants), values, sizeof(values), 4),
            hipErrorInvalidValue);
  hipLaunchKernelGGL(read_constants, 1, 4, 0, nullptr, out.get());
  EXPECT_EQ(out.values(), std::vector<int>(values, values + 4));
  EXPECT_HIP(hipMemcpyFromSymbol(back, HIP_SYMBOL(constants), sizeof(back)));
  EXPECT_EQ(back[3], 4);
}

template <typename T>
struct Words {
  T added, subtracted, least, most, both, either, odd, swapped, compared;
};

template <typename T>
__global__ void use_atomics(Words<T>* words) {
  const T self = static_cast<T>(threadIdx.x);
  atomicAdd(&words->added, 1);
  atomicSub_system(&words->subtracted, self);
  atomicMin(&words->least, self);
  atomicMax_system(&words->most, self);
  atomicAnd(&words->both, ~(T{1} << self % 8));
  atomicOr(&words->either, T{1} << self % 8);
  atomicXor(&words->odd, T{1} << self % 8);
  atomicExch(&words->swapped, 7);
  atomicCAS(&words->compared, 5, 6);
}

template <typename T>
void check_atomics() {
  const OnDevice<Words<T>> words(1);
  const Words<T> before{0, 0, 100, 0, T(255), 0, 0, 0, 5};
  ASSERT_HIP(hipMemcpy(words.get(), &before, sizeof(before), hipMemcpyHostToDevice));
  hipLaunchKernelGGL(use_atomics<T>, 5, 64, 0, nullptr, words.get());
  const Words<T> after = words.values()[0];
  EXPECT_EQ(after.added, T{320});
  EXPECT_EQ(after.subtracted, T(0) - T(5 * 64 * 63 / 2));
  EXPECT_EQ(after.least, T{0});
  EXPECT_EQ(after.most, T{63});
  EXPECT_EQ(after.both, T{0});
  EXPECT_EQ(after.either, T{255});
  EXPECT_EQ(after.odd, T{0});
  EXPECT_EQ(after.swapped, T{7});
  EXPECT_EQ(after.compared, T{6});
}

TEST(HipKernels, HaveAtomicsOfIntegers) {
  check_atomics<int>();
  check_atomics<unsigned>();
  check_atomics<long long>();
  check_atomics<unsigned long long>();
}

__global__ void add_reals(float* single, double* wide) {
  atomicAdd(single, 0.5f);
  atomicAdd_system(wide, 0.25);
}

TEST(HipKernels, HaveAtomicAddsOfReals) {
  const OnDevice<float> single(1);
  const OnDevice<double> wide(1);
  hipLaunchKernelGGL(add_reals, 4, 50, 0, nullptr, single.get(), wide.get());
  EXPECT_EQ(single.values()[0], 100.0f);
  EXPECT_EQ(wide.values()[0], 50.0);
}

__global__ void fail(int how) {
  if (blockIdx.x != 1 || threadIdx.x != 2) return;
  if (how == 0) abort();
  if (how == 1) __builtin_trap();
  if (how == 2) throw std::runtime_error("lost");
  __shfl(1, 0);
}
__global__ void meet_wrongly() {
  if (threadIdx.x % 2) {
    __ballot(1);
  } else {
    __syncwarp();
  }
}

TEST(HipKernelsDeathTest, SayWhereTheyFailed) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const std::string place =
      "meshmem: kernel fail ended by: .*; block \\(1, 0, 0\\), thread \\(2, 0, 0\\)\n";
  const auto run = [](int how) {
    hipLaunchKernelGGL(fail, 2, 3, 0, nullptr, how);
    static_cast<void>(hipDeviceSynchronize());
  };
  EXPECT_DEATH(run(0), place);
  EXPECT_DEATH(run(1), place);
  EXPECT_DEATH(run(2), place);
  EXPECT_DEATH(
      {
        hipLaunchKernelGGL(meet_wrongly, 1, 4, 0, nullptr);
        static_cast<void>(hipDeviceSynchronize());
      },
      "different operations of the wave");
}

TEST(HipKernelsDeathTest, EndWhereWhatIsCalledAtAFaultFailsItself) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        hip_on_cpu::call_at_faults([] { __builtin_trap(); });
        hipLaunchKernelGGL(fail, 2, 3, 0, nullptr, 1);
        static_cast<void>(hipDeviceSynchronize());
      },
      "^meshmem: kernel fail ended by: trap; block \\(1, 0, 0\\), thread \\(2, 0, 0\\)\n$");
}

}  // namespace
