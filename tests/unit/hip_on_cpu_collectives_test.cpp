// SPDX-License-Identifier: Apache-2.0
//
// The collectives of kernels, with PEs that are kernels of one process: ThreadSanitizer sees all of
// them. Scripts of random operations, sizes and teams, with nothing between two of them; every PE
// checks every result against a serial model and overwrites its buffers at once.
// Invariant: all that is random follows from the seed, which a failure names.
#include <cstring>

#include "kernel_world.hpp"
#include "tests/device/reduce_by_any.hpp"

namespace meshmem {
namespace device {
namespace {

enum class Kind {
  sum,
  max,
  bit_xor,
  sum_by,  // an algorithm that is given
  avg_by,
  inscan,
  exscan,
  broadcast,
  fcollect,
  collect,
  alltoall,
  scatter,
  sync
};
constexpr int kKinds = 13;
struct Step {
  Kind kind;
  ReduceAlgorithm algorithm;
  int slot;
  std::size_t count;
  int root;
  bool in_place;
  Word salt;
};

std::vector<Step> script(unsigned seed, int steps, int n) {
  std::mt19937 random(seed);
  std::vector<Step> result;
  for (int i = 0; i < steps; ++i) {
    const int slots[] = {0, 1, 20};
    Step step;
    step.kind = static_cast<Kind>(random() % kKinds);
    step.algorithm = kAlgorithms[random() % std::size(kAlgorithms)];
    step.slot = slots[random() % 3];
    const int members = step.slot == 20 ? (n + 1) / 2 : n;
    step.count = random() % 4 == 0 ? random() % 3 : random() % (kMostWords / 8);
    if (random() % 50 == 0) step.count = kMostWords;
    step.root = static_cast<int>(random() % static_cast<unsigned>(members));
    step.in_place = random() % 2 == 0;
    step.salt = static_cast<Word>(random());
    result.push_back(step);
  }
  return result;
}

// Element i of what PE `pe` of the team brings.
Word value(const Step& step, int pe, std::size_t i) {
  return (static_cast<Word>(i) * 2654435761u) ^ (static_cast<Word>(pe + 1) * 40503u) ^ step.salt;
}
std::size_t length(const Step& step, int pe) {  // of a collect
  return (step.count + static_cast<std::size_t>(pe) * 7) % (kMostWords / 8);
}

struct Buffers {
  Word* source;
  Word* dest;
};

template <typename Group>
void run(const Group& group, const Step& step, Buffers at) {
  const TeamSync sync(step.slot);
  Word* dest = at.dest;
  const Word* source = at.source;
  const std::size_t bytes = step.count * sizeof(Word);
  switch (step.kind) {
    case Kind::sum:
      reduce<ReduceOp::sum>(group, sync, dest, source, step.count);
      break;
    case Kind::max:
      reduce<ReduceOp::max>(group, sync, dest, source, step.count);
      break;
    case Kind::bit_xor:
      reduce<ReduceOp::bit_xor>(group, sync, dest, source, step.count);
      break;
    case Kind::sum_by:
      reduce_by_any(StaticOp<ReduceOp::sum>(), step.algorithm, group, sync, dest, source,
                    step.count);
      break;
    case Kind::avg_by:
      reduce_by_any(StaticOp<ReduceOp::avg>(), step.algorithm, group, sync, dest, source,
                    step.count);
      break;
    case Kind::scatter:
      reduce_scatter<ReduceOp::sum>(group, sync, dest, source, step.count);
      break;
    case Kind::inscan:
    case Kind::exscan:
      scan(group, sync, dest, source, step.count, step.kind == Kind::inscan);
      break;
    case Kind::broadcast:
      broadcast(group, sync, dest, source, bytes, step.root);
      break;
    case Kind::fcollect:
      fcollect(group, sync, dest, source, bytes, bytes);
      break;
    case Kind::collect:
      collect(group, sync, dest, source, length(step, sync.team.me) * sizeof(Word));
      break;
    case Kind::alltoall:
      alltoall(group, sync, dest, source, bytes, bytes);
      break;
    case Kind::sync:
      team_sync(group, sync);
      break;
  }
}

bool may_be_in_place(Kind kind) { return kind <= Kind::exscan || kind == Kind::broadcast; }

// Words of dest that the step defines, and the value of one.
std::size_t result_words(const Step& step, int n) {
  switch (step.kind) {
    case Kind::fcollect:
    case Kind::alltoall:
      return step.count * static_cast<std::size_t>(n);
    case Kind::collect: {
      std::size_t all = 0;
      for (int pe = 0; pe < n; ++pe) all += length(step, pe);
      return all;
    }
    case Kind::sync:
      return 0;
    default:
      return step.count;
  }
}
Word result(const Step& step, int me, int n, std::size_t i) {
  Word total = 0;
  switch (step.kind) {
    case Kind::sum:
    case Kind::sum_by:
      for (int pe = 0; pe < n; ++pe) total += value(step, pe, i);
      return total;
    case Kind::avg_by:
      for (int pe = 0; pe < n; ++pe) total += value(step, pe, i);
      return total / static_cast<Word>(n);
    case Kind::scatter:
      for (int pe = 0; pe < n; ++pe)
        total += value(step, pe, static_cast<std::size_t>(me) * step.count + i);
      return total;
    case Kind::max:
      for (int pe = 0; pe < n; ++pe) total = std::max(total, value(step, pe, i));
      return total;
    case Kind::bit_xor:
      for (int pe = 0; pe < n; ++pe) total ^= value(step, pe, i);
      return total;
    case Kind::inscan:
      for (int pe = 0; pe <= me; ++pe) total += value(step, pe, i);
      return total;
    case Kind::exscan:
      for (int pe = 0; pe < me; ++pe) total += value(step, pe, i);
      return total;
    case Kind::broadcast:
      return value(step, step.root, i);
    case Kind::fcollect:
      return value(step, static_cast<int>(i / step.count), i % step.count);
    case Kind::alltoall:
      return value(step, static_cast<int>(i / step.count),
                   static_cast<std::size_t>(me) * step.count + i % step.count);
    case Kind::collect:
      for (int pe = 0; pe < n; i -= length(step, pe), ++pe)
        if (i < length(step, pe)) return value(step, pe, i);
      return 0;
    default:
      return 0;
  }
}

enum class By { thread, wave, block };

struct Report {
  int failed_step = -1;
  std::size_t at = 0;
};

__global__ void run_script(const State* state, By by, const Step* steps, int n_steps,
                           Report* report) {
  state_of_thread = state;
  auto* heap = reinterpret_cast<Word*>(state->device_heap.base);
  for (int s = 0; s < n_steps; ++s) {
    const Step& step = steps[s];
    if (state->teams[step.slot].me < 0) continue;
    const int me = state->teams[step.slot].me;
    const int n = state->teams[step.slot].n;
    // Buffers of their own for every other step: a PE may be one step ahead.
    Word* source = heap + static_cast<std::size_t>(s % 2) * (kHeapBytes / sizeof(Word) / 2);
    const std::size_t source_words = step.kind == Kind::alltoall || step.kind == Kind::scatter
                                         ? step.count * static_cast<std::size_t>(n)
                                         : std::max(step.count, kMostWords / 8);
    const bool in_place = step.in_place && may_be_in_place(step.kind);
    const Buffers at{source, in_place ? source : source + kMostWords * 8};
    const Block block;
    for (auto i = static_cast<std::size_t>(block.rank()); i < source_words;
         i += static_cast<std::size_t>(block.size()))
      source[i] = value(step, me, i);
    block.sync();
    if (by == By::block) {
      run(block, step, at);
    } else if (by == By::wave) {
      if (block.rank() < warpSize) run(Wave(), step, at);
    } else if (block.rank() == 0) {
      run(Thread(), step, at);
    }
    block.sync();
    const std::size_t words = result_words(step, n);
    for (auto i = static_cast<std::size_t>(block.rank()); i < words;
         i += static_cast<std::size_t>(block.size())) {
      if (at.dest[i] != result(step, me, n, i) && report->failed_step < 0) *report = {s, i};
    }
    block.sync();
  }
}

void check(int n, unsigned seed, By by, std::uint64_t first_epoch, int n_steps) {
  const World world(n, first_epoch);
  const std::vector<Step> steps = script(seed, n_steps, n);
  std::vector<Report> reports(static_cast<std::size_t>(n));
  std::vector<hipStream_t> streams(static_cast<std::size_t>(n));
  for (int pe = 0; pe < n; ++pe) {
    auto& stream = streams[static_cast<std::size_t>(pe)];
    ASSERT_EQ(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking), hipSuccess);
    // Blocks of different sizes: nothing may depend on which thread does what elsewhere.
    const unsigned threads = by == By::thread ? 1 : 33 + 16 * static_cast<unsigned>(pe % 3);
    hipLaunchKernelGGL(run_script, dim3(1), dim3(threads), 0, stream, &world.state(pe), by,
                       steps.data(), n_steps, &reports[static_cast<std::size_t>(pe)]);
  }
  for (int pe = 0; pe < n; ++pe) {
    auto& stream = streams[static_cast<std::size_t>(pe)];
    EXPECT_EQ(hipStreamSynchronize(stream), hipSuccess);
    EXPECT_EQ(hipStreamDestroy(stream), hipSuccess);
    const Report& report = reports[static_cast<std::size_t>(pe)];
    if (report.failed_step >= 0) {
      const Step& step = steps[static_cast<std::size_t>(report.failed_step)];
      ADD_FAILURE() << "seed " << seed << ", PE " << pe << " of " << n << ", step "
                    << report.failed_step << " (kind " << static_cast<int>(step.kind)
                    << ", algorithm " << static_cast<int>(step.algorithm) << ", slot " << step.slot
                    << ", count " << step.count << "): wrong at " << report.at;
    }
  }
}

#ifdef MESHMEM_UNDER_TSAN
constexpr int kSteps = 20;
#else
constexpr int kSteps = 60;
#endif

TEST(CollectivesForKernels, AreRightByABlockOnAnyNumberOfPes) {
  for (const int n : {1, 2, 3, 4, 5, 8}) check(n, some_seed(), By::block, 0, kSteps);
}
TEST(CollectivesForKernels, AreRightByAWave) {
  for (const int n : {2, 3, 5}) check(n, some_seed(), By::wave, 0, kSteps);
}
TEST(CollectivesForKernels, AreRightByOneThread) {
  for (const int n : {2, 3, 5}) check(n, some_seed(), By::thread, 0, kSteps);
}
TEST(CollectivesForKernels, CountOnWhereEpochsWrap) {
  for (const int bits : {30, 31, 32, 63})
    check(3, some_seed(), By::block, (std::uint64_t{1} << bits) - kSteps / 2, kSteps);
  check(3, some_seed(), By::block, std::uint64_t{0} - kSteps / 2, kSteps);
}

}  // namespace
}  // namespace device
}  // namespace meshmem
