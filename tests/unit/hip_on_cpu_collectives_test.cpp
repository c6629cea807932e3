// SPDX-License-Identifier: Apache-2.0
//
// The collectives of kernels, with PEs that are kernels of one process: ThreadSanitizer sees all of
// them. Scripts of random operations, sizes and teams, with nothing between two of them; every PE
// checks every result against a serial model and overwrites its buffers at once.
// Invariant: all that is random follows from the seed, which a failure names.
#include <gtest/gtest.h>
#include <hip/hip_runtime.h>

#include <chrono>
#include <cstring>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "device/collectives/slices.hpp"
#include "device/routines.hpp"

// The module of this test belongs to no job.
extern "C" void shmemx_register_module(std::size_t, void* (*)()) {}
extern "C" void shmemx_unregister_module(void* (*)()) {}

namespace meshmem {
namespace device {
namespace {

using Word = std::uint32_t;
constexpr std::size_t kMostWords = 3000;
constexpr std::size_t kHeapBytes = 1 << 20;
constexpr int kTestChannels = 3;

struct Freed {
  void operator()(void* block) const { EXPECT_EQ(hipFree(block), hipSuccess); }
};
using DeviceMemory = std::unique_ptr<void, Freed>;

DeviceMemory zeroed(std::size_t bytes) {
  void* block = nullptr;
  EXPECT_EQ(hipMalloc(&block, bytes), hipSuccess);
  EXPECT_EQ(hipMemset(block, 0, bytes), hipSuccess);
  return DeviceMemory(block);
}

// n PEs with heaps and sync slabs in this process. Slot 0 is the world, slot 1 its PEs in reverse,
// slot 20 (of those with short rows) the even ones.
class World {
 public:
  World(int n, std::uint64_t first_epoch) : n_(n), states_(static_cast<std::size_t>(n)) {
    SyncLayout layout = SyncLayout::of(n, false);
    layout.large_packet_row = layout.large_plain_row = 4096;  // so that messages need several parts
    layout.channels = kTestChannels;
    for (int pe = 0; pe < n; ++pe) {
      heaps_.push_back(zeroed(kHeapBytes));
      slabs_.push_back(zeroed(layout.total_bytes()));
      teams_.push_back(zeroed(sizeof(TeamView) * kTeamSlots));
    }
    for (int i = 0; i < n; ++i) reversed_.push_back(n - 1 - i);
    for (int i = 0; i < n; i += 2) even_.push_back(i);
    for (int pe = 0; pe < n; ++pe) describe(pe, layout, first_epoch);
  }

  const State& state(int pe) const { return states_[static_cast<std::size_t>(pe)]; }

  // As if all PEs had done this many operations, between two of them.
  void go_on_from(std::uint64_t epoch) {
    for (const State& state : states_) set_epoch(state, epoch);
  }

 private:
  void set_epoch(const State& state, std::uint64_t epoch) {
    for (const int slot : {0, 1, 20}) {
      auto* flags =
          reinterpret_cast<Flag*>(state.sync.near_copy[state.me] + state.sync_layout.flags(slot));
      for (int i = 0; i <= n_; ++i) flags[i].value = epoch;
      for (int i = 1; i <= n_; ++i) flags[n_ + i].value = epoch << kStepBits;
    }
  }
  void describe(int pe, const SyncLayout& layout, std::uint64_t first_epoch) {
    State& state = states_[static_cast<std::size_t>(pe)];
    state = State();
    state.me = pe;
    state.n_pes = n_;
    state.near_pes = pe % 2 == 0 ? n_ : 0;  // with and without the short way
    state.sync_layout = layout;
    state.one_shot_max_bytes = 500;
    state.two_shot_max_bytes = 2000;
    auto* mine = static_cast<std::byte*>(heaps_[static_cast<std::size_t>(pe)].get());
    state.device_heap.base = reinterpret_cast<std::uintptr_t>(mine);
    state.device_heap.bytes = kHeapBytes;
    for (int i = 0; i < n_; ++i) {
      state.device_heap.near_copy[i] =
          static_cast<std::byte*>(heaps_[static_cast<std::size_t>(i)].get());
      state.sync.near_copy[i] = static_cast<std::byte*>(slabs_[static_cast<std::size_t>(i)].get());
    }
    auto* teams = static_cast<TeamView*>(teams_[static_cast<std::size_t>(pe)].get());
    for (int slot = 0; slot < kTeamSlots; ++slot) teams[slot].me = -1;
    teams[0] = {pe, n_, nullptr};
    teams[1] = {n_ - 1 - pe, n_, reversed_.data()};
    if (pe % 2 == 0) teams[20] = {pe / 2, static_cast<int>(even_.size()), even_.data()};
    state.teams = teams;
    set_epoch(state, first_epoch);
  }

  int n_;
  std::vector<State> states_;
  std::vector<DeviceMemory> heaps_, slabs_, teams_;
  std::vector<int> reversed_, even_;
};

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
constexpr ReduceAlgorithm kAlgorithms[] = {ReduceAlgorithm::one_shot, ReduceAlgorithm::two_shot,
                                           ReduceAlgorithm::recursive_doubling,
                                           ReduceAlgorithm::ring};

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
      reduce_by<ReduceOp::sum>(step.algorithm, group, sync, dest, source, step.count);
      break;
    case Kind::avg_by:
      reduce_by<ReduceOp::avg>(step.algorithm, group, sync, dest, source, step.count);
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
constexpr int kSteps = 20, kSlicedSums = 6;
#else
constexpr int kSteps = 60, kSlicedSums = 16;
#endif

unsigned some_seed() { return std::random_device()(); }

TEST(KernelCollectives, AreRightByABlockOnAnyNumberOfPes) {
  for (const int n : {1, 2, 3, 4, 5, 8}) check(n, some_seed(), By::block, 0, kSteps);
}
TEST(KernelCollectives, AreRightByAWave) {
  for (const int n : {2, 3, 5}) check(n, some_seed(), By::wave, 0, kSteps);
}
TEST(KernelCollectives, AreRightByOneThread) {
  for (const int n : {2, 3, 5}) check(n, some_seed(), By::thread, 0, kSteps);
}
TEST(KernelCollectives, CountOnWhereEpochsWrap) {
  for (const int bits : {30, 31, 32, 63})
    check(3, some_seed(), By::block, (std::uint64_t{1} << bits) - kSteps / 2, kSteps);
  check(3, some_seed(), By::block, std::uint64_t{0} - kSteps / 2, kSteps);
}

// ---- Several blocks, each on a channel

struct SlicedSum {
  ReduceAlgorithm algorithm;
  int slot, blocks;
  std::size_t count;
};

// Sums one after another, with other numbers of blocks: they lie behind one another in the heap.
std::vector<SlicedSum> sliced_sums(unsigned seed) {
  std::mt19937 random(seed);
  std::vector<SlicedSum> sums;
  for (int i = 0; i < kSlicedSums; ++i) {
    sums.push_back({kAlgorithms[random() % std::size(kAlgorithms)], static_cast<int>(random() % 2),
                    1 + static_cast<int>(random() % kTestChannels), random() % kMostWords});
  }
  return sums;
}

__global__ void sum_slices(const State* state, SlicedSum sum, Word* dest, const Word* source) {
  state_of_thread = state;
  const auto channel = static_cast<int>(blockIdx.x);
  const Slice slice = slice_of<Word>(sum.count, channel, static_cast<int>(gridDim.x));
  reduce_by<ReduceOp::sum>(sum.algorithm, Block(), TeamSync(sum.slot, channel), dest + slice.first,
                           source + slice.first, slice.count);
}

void check_slices(int n, unsigned seed) {
  SCOPED_TRACE(testing::Message() << "seed " << seed << ", " << n << " PEs");
  const World world(n, 0);
  const std::vector<SlicedSum> sums = sliced_sums(seed);
  const auto place = [&](int pe, std::size_t i) {
    return reinterpret_cast<Word*>(world.state(pe).device_heap.base) + i * 2 * kMostWords;
  };
  const auto brought = [](int pe, std::size_t i, std::size_t k) {
    return static_cast<Word>((i + 1) * 1000003 + static_cast<std::size_t>(pe) * 7919 + k);
  };
  std::vector<hipStream_t> streams(static_cast<std::size_t>(n));
  for (int pe = 0; pe < n; ++pe) {
    auto& stream = streams[static_cast<std::size_t>(pe)];
    ASSERT_EQ(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking), hipSuccess);
    for (std::size_t i = 0; i < sums.size(); ++i)
      for (std::size_t k = 0; k < kMostWords; ++k) place(pe, i)[k] = brought(pe, i, k);
  }
  for (int pe = 0; pe < n; ++pe) {
    for (std::size_t i = 0; i < sums.size(); ++i) {
      Word* source = place(pe, i);
      hipLaunchKernelGGL(sum_slices, dim3(static_cast<unsigned>(sums[i].blocks)), dim3(40), 0,
                         streams[static_cast<std::size_t>(pe)], &world.state(pe), sums[i],
                         i % 2 ? source : source + kMostWords, source);
    }
  }
  for (int pe = 0; pe < n; ++pe) {
    EXPECT_EQ(hipStreamSynchronize(streams[static_cast<std::size_t>(pe)]), hipSuccess);
    EXPECT_EQ(hipStreamDestroy(streams[static_cast<std::size_t>(pe)]), hipSuccess);
  }
  for (int pe = 0; pe < n; ++pe) {
    for (std::size_t i = 0; i < sums.size(); ++i) {
      const Word* dest = i % 2 ? place(pe, i) : place(pe, i) + kMostWords;
      for (std::size_t k = 0; k < sums[i].count; ++k) {
        Word total = 0;
        for (int other = 0; other < n; ++other) total += brought(other, i, k);
        ASSERT_EQ(dest[k], total) << "sum " << i << ", element " << k << " of " << sums[i].count
                                  << ", algorithm " << static_cast<int>(sums[i].algorithm);
      }
    }
  }
}

TEST(KernelCollectives, BlocksOnChannelsOfTheirOwnDoNotMeddle) {
  for (const int n : {1, 2, 3, 4, 5, 8}) check_slices(n, some_seed());
}

// ---- Packets that are as old as their flag's way around

constexpr std::uint64_t kQuarter = std::uint64_t{1} << 30;
constexpr std::size_t kLong = 8;

__global__ void add_up(const State* state, Word* dest, const Word* source, std::size_t count) {
  state_of_thread = state;
  reduce<ReduceOp::sum>(Block(), TeamSync(kWorldSlot), dest, source, count);
}
__global__ void meet_all(const State* state) {
  state_of_thread = state;
  barrier(Block(), TeamSync(kWorldSlot));
}

// Two PEs whose operations are launched one by one; all bring the same.
class TwoPes {
 public:
  explicit TwoPes(std::uint64_t first_epoch) : world_(2, first_epoch) {
    for (auto& stream : streams_)
      EXPECT_EQ(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking), hipSuccess);
  }
  ~TwoPes() {
    for (auto& stream : streams_) EXPECT_EQ(hipStreamDestroy(stream), hipSuccess);
  }

  World& world() { return world_; }
  void barrier() {
    for (const int pe : {0, 1})
      hipLaunchKernelGGL(meet_all, dim3(1), dim3(4), 0, streams_[pe], &world_.state(pe));
    finish();
  }
  // The sums in PE 0; PE 1 enters only when PE 0 has had time to take what it should not.
  std::vector<Word> sums(Word brought, std::size_t count, bool is_late = false) {
    source_.assign(kLong, brought);
    start_sums(0, count);
    if (is_late) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    start_sums(1, count);
    finish();
    return {dest_[0], dest_[0] + count};
  }

 private:
  void start_sums(int pe, std::size_t count) {
    hipLaunchKernelGGL(add_up, dim3(1), dim3(4), 0, streams_[pe], &world_.state(pe), dest_[pe],
                       source_.data(), count);
  }
  void finish() {
    for (auto& stream : streams_) EXPECT_EQ(hipStreamSynchronize(stream), hipSuccess);
  }

  World world_;
  hipStream_t streams_[2];
  std::vector<Word> source_;
  Word dest_[2][kLong] = {};
};

// A long message leaves packets that the short ones of 2^32 operations do not overwrite. Whatever takes
// the epoch over the multiples of 2^30 on the way has to wipe them.
template <typename Cross>
void check_that_old_packets_are_wiped(const Cross& cross) {
  TwoPes pes(kQuarter - 2);
  EXPECT_EQ(pes.sums(1, kLong), std::vector<Word>(kLong, 2));
  for (std::uint64_t k = 1; k <= 4; ++k) {
    pes.world().go_on_from(k * kQuarter - 1);
    cross(pes);
  }
  pes.world().go_on_from(5 * kQuarter - 2);
  EXPECT_EQ(pes.sums(50, kLong, true), std::vector<Word>(kLong, 100));
}

TEST(KernelCollectives, PacketsAreWipedWhereABarrierTakesTheEpochOn) {
  check_that_old_packets_are_wiped([](TwoPes& pes) { pes.barrier(); });
}
TEST(KernelCollectives, PacketsAreWipedWhereAReductionTakesTheEpochOn) {
  check_that_old_packets_are_wiped([](TwoPes& pes) { pes.sums(1, 1); });
}

}  // namespace
}  // namespace device
}  // namespace meshmem
