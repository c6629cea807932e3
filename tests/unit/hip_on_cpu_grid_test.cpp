// SPDX-License-Identifier: Apache-2.0
//
// Collectives by all blocks of a kernel, with PEs that are kernels of one process: ThreadSanitizer
// sees all of them. Blocks write elements and read results that are others' to reduce, with nothing
// but the collectives in between.
// Invariant: all that is random follows from the seed, which a failure names.
#include "kernel_world.hpp"

namespace meshmem {
namespace device {
namespace {

constexpr int kBlocks = kTestChannels + 2;
constexpr unsigned kThreads = 40;
#ifdef MESHMEM_UNDER_TSAN
constexpr int kSteps = 6;
#else
constexpr int kSteps = 30;
#endif

enum class Kind { sum, max, inscan, scatter, sync };
struct Step {
  Kind kind;
  int slot;
  std::size_t count;
  bool in_place;
};

std::vector<Step> script(unsigned seed) {
  std::mt19937 random(seed);
  std::vector<Step> steps;
  for (int i = 0; i < kSteps; ++i) {
    const int slots[] = {0, 1, 20};
    const auto kind = static_cast<Kind>(random() % 5);
    const std::size_t most = random() % 3 ? 400 : kMostWords;
    steps.push_back({kind, slots[random() % 3], random() % most, random() % 2 == 0});
  }
  return steps;
}

MESHMEM_DEVICE Word brought(int step, int pe, std::size_t i) {
  return static_cast<Word>(step + 1) * 1000003 + static_cast<Word>(pe) * 7919 +
         static_cast<Word>(i);
}
MESHMEM_DEVICE Word result_of(const Step& step, int number, const TeamView& team, std::size_t i) {
  Word total = 0;
  const int end = step.kind == Kind::inscan ? team.me + 1 : team.n;
  if (step.kind == Kind::scatter) i += static_cast<std::size_t>(team.me) * step.count;
  for (int pe = 0; pe < end; ++pe) {
    const Word theirs = brought(number, pe, i);
    total = step.kind == Kind::max ? std::max(total, theirs) : total + theirs;
  }
  return total;
}

void run(const Step& step, Word* dest, const Word* source) {
  const CooperativeGrid grid;
  const TeamSync sync(step.slot);
  switch (step.kind) {
    case Kind::sum:
      reduce<ReduceOp::sum>(grid, sync, dest, source, step.count);
      break;
    case Kind::max:
      reduce<ReduceOp::max>(grid, sync, dest, source, step.count);
      break;
    case Kind::inscan:
      scan(grid, sync, dest, source, step.count, true);
      break;
    case Kind::scatter:
      reduce_scatter<ReduceOp::sum>(grid, sync, dest, source, step.count);
      break;
    case Kind::sync:
      break;
  }
  team_sync(grid, sync);
}

__global__ void run_script(const State* state, const Step* steps, int* wrong_step) {
  state_of_thread = state;
  const std::size_t threads = std::size_t{kBlocks} * kThreads;
  const std::size_t here =
      static_cast<std::size_t>(CooperativeGrid().block()) * kThreads + threadIdx.x;
  Word* const source = reinterpret_cast<Word*>(state->device_heap.base);
  for (int s = 0; s < kSteps; ++s) {
    const Step& step = steps[s];
    const TeamView& team = state->teams[step.slot];
    if (team.me < 0) continue;
    const bool scatters = step.kind == Kind::scatter;
    const std::size_t all = step.count * static_cast<std::size_t>(scatters ? team.n : 1);
    const std::size_t place = scatters ? static_cast<std::size_t>(team.me) * step.count : 0;
    Word* const dest = step.in_place ? source + place : source + 8 * kMostWords;
    const std::size_t shifted = (here + static_cast<std::size_t>(s) * kThreads) % threads;
    for (std::size_t i = shifted; i < all; i += threads) source[i] = brought(s, team.me, i);
    run(step, dest, source);
    if (step.kind != Kind::sync)
      for (std::size_t i = threads - 1 - here; i < step.count; i += threads)
        if (dest[i] != result_of(step, s, team, i)) __atomic_store_n(wrong_step, s, 0);
    team_sync(CooperativeGrid(), TeamSync(step.slot));
  }
}

void check(int n, unsigned seed, std::uint64_t first_epoch = 0) {
  SCOPED_TRACE(testing::Message() << "seed " << seed << ", " << n << " PEs");
  const World world(n, first_epoch);
  const std::vector<Step> steps = script(seed);
  std::vector<int> wrong_steps(static_cast<std::size_t>(n), -1);
  std::vector<hipStream_t> streams(static_cast<std::size_t>(n));
  for (int pe = 0; pe < n; ++pe) {
    const auto at = static_cast<std::size_t>(pe);
    ASSERT_EQ(hipStreamCreateWithFlags(&streams[at], hipStreamNonBlocking), hipSuccess);
    const State* state = &world.state(pe);
    const Step* first = steps.data();
    int* wrong = &wrong_steps[at];
    void* arguments[] = {&state, &first, &wrong};
    ASSERT_EQ(hipLaunchCooperativeKernel(run_script, dim3(1, kBlocks), dim3(kThreads), arguments, 0,
                                         streams[at]),
              hipSuccess);
  }
  for (int pe = 0; pe < n; ++pe) {
    const auto at = static_cast<std::size_t>(pe);
    EXPECT_EQ(hipStreamSynchronize(streams[at]), hipSuccess);
    EXPECT_EQ(hipStreamDestroy(streams[at]), hipSuccess);
    EXPECT_EQ(wrong_steps[at], -1) << "PE " << pe;
  }
}

TEST(KernelGrids, CollectivesAreRightOnAnyNumberOfPes) {
  for (const int n : {1, 2, 3, 4, 5, 8}) check(n, some_seed());
}
TEST(KernelGrids, CollectivesCountOnWhereEpochsWrap) {
  check(3, some_seed(), (std::uint64_t{1} << 32) - kSteps);
}

}  // namespace
}  // namespace device
}  // namespace meshmem
