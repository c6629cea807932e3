// SPDX-License-Identifier: Apache-2.0
//
// Channels of a team, each with a block of its own. Reductions go in slices by any algorithm, one
// after another with different numbers of blocks. Packets are so old that their flag's number comes
// round again.
// Invariant: all that is random follows from the seed, which a failure names.
#include <chrono>
#include <thread>

#include "device/collectives/slices.hpp"
#include "kernel_world.hpp"
#include "tests/device/reduce_by_any.hpp"

namespace meshmem {
namespace device {
namespace {

#ifdef MESHMEM_UNDER_TSAN
constexpr int kSlicedSums = 6;
constexpr int kPes[] = {2, 3, 5};
#else
constexpr int kSlicedSums = 20;
constexpr int kPes[] = {2, 3, 4, 5, 8};
#endif

struct SlicedSum {
  ReduceAlgorithm algorithm;
  int slot, blocks;
  std::size_t count;
};

// Sums one after another, with different numbers of blocks. They lie one after another in the heap.
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
  reduce_by_any(StaticOp<ReduceOp::sum>(), sum.algorithm, Block(), TeamSync(sum.slot, channel),
                dest + slice.first, source + slice.first, slice.count);
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

TEST(KernelChannels, BlocksOnChannelsOfTheirOwnDoNotMeddle) {
  for (const int n : {1, 2, 3, 4, 5, 8}) check_slices(n, some_seed());
}

// ---- Batches that fill their slots to the last line

// Sums by one block of counts that end around two full batches, at each distance from a multiple of
// 16 bytes. One PE is late: by then its places hold all that the others can send, and none of it
// has been read.
void check_full_batches(int n, ReduceAlgorithm algorithm) {
  SCOPED_TRACE(testing::Message() << n << " PEs, algorithm " << static_cast<int>(algorithm));
  constexpr std::size_t kRow = 16 * 1024;  // so that places are many lines long
  const World world(n, 0, Slabs::everything, kRow);
  const auto pes = static_cast<std::size_t>(n);
  const std::size_t two_batches = 2 * pes * (pes * kRow) / (pes - 1) / sizeof(Word);
  constexpr std::size_t kWordsOfLine = 128 / sizeof(Word);
  const auto heap = [&](int pe) {
    return reinterpret_cast<Word*>(world.state(pe).device_heap.base);
  };
  const auto dest_of = [&](int pe) { return heap(pe) + kHeapBytes / sizeof(Word) / 2; };
  for (std::size_t less = 0; less <= 8; ++less) {
    const std::size_t shift = less % 4;
    const std::size_t count = two_batches - less * pes * kWordsOfLine + less % 3;
    std::vector<hipStream_t> streams(pes);
    for (int pe = 0; pe < n; ++pe)
      for (std::size_t k = 0; k < count; ++k)
        heap(pe)[shift + k] = static_cast<Word>(k * 7919 + static_cast<std::size_t>(pe) + less);
    for (int i = 1; i <= n; ++i) {
      const int pe = (static_cast<int>(less) + i) % n;
      auto& stream = streams[static_cast<std::size_t>(pe)];
      ASSERT_EQ(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking), hipSuccess);
      if (i == n) std::this_thread::sleep_for(std::chrono::milliseconds(5));
      hipLaunchKernelGGL(sum_slices, dim3(1), dim3(40), 0, stream, &world.state(pe),
                         SlicedSum{algorithm, kWorldSlot, 1, count}, dest_of(pe) + shift,
                         heap(pe) + shift);
    }
    for (hipStream_t stream : streams) {
      EXPECT_EQ(hipStreamSynchronize(stream), hipSuccess);
      EXPECT_EQ(hipStreamDestroy(stream), hipSuccess);
    }
    for (int pe = 0; pe < n; ++pe) {
      for (std::size_t k = 0; k < count; ++k) {
        const std::size_t of_all = pes * (k * 7919 + less) + pes * (pes - 1) / 2;
        ASSERT_EQ(dest_of(pe)[shift + k], static_cast<Word>(of_all))
            << "element " << k << " of " << count;
      }
    }
  }
}

TEST(KernelChannels, PartsMayFillTheirPlaces) {
  for (const int n : kPes)
    for (const ReduceAlgorithm algorithm : {ReduceAlgorithm::ring, ReduceAlgorithm::direct})
      check_full_batches(n, algorithm);
}

// ---- Meetings of more PEs than a group has lanes, and than a line has arrivals

Word& word_of(const State& state, int pe) {
  return *reinterpret_cast<Word*>(state.device_heap.near_copy[pe]);
}

// Each PE tells a number by a plain store; all others have it after a meeting.
template <typename Group>
__global__ void tell_numbers(const State* state, Word last, Word* wrong) {
  state_of_thread = state;
  const Group group;
  const TeamSync sync(kWorldSlot);
  for (Word number = 1; number <= last; ++number) {
    if (group.rank() == 0) word_of(*state, state->me) = number;
    team_sync(group, sync);
    for (int pe = group.rank(); pe < state->n_pes; pe += group.size())
      if (word_of(*state, pe) != number) fetch_add(wrong, Word{1});
    team_sync(group, sync);
  }
}

template <typename Group>
void check_meetings(int n, unsigned threads, std::uint64_t first_epoch) {
  SCOPED_TRACE(testing::Message() << n << " PEs, " << threads << " threads, from " << first_epoch);
  const World world(n, first_epoch, Slabs::meetings_of_the_world);
  Word wrong = 0;
  std::vector<hipStream_t> streams(static_cast<std::size_t>(n));
  for (int pe = 0; pe < n; ++pe) {
    auto& stream = streams[static_cast<std::size_t>(pe)];
    ASSERT_EQ(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking), hipSuccess);
    hipLaunchKernelGGL(tell_numbers<Group>, dim3(1), dim3(threads), 0, stream, &world.state(pe),
                       Word{5}, &wrong);
  }
  for (hipStream_t stream : streams) {
    EXPECT_EQ(hipStreamSynchronize(stream), hipSuccess);
    EXPECT_EQ(hipStreamDestroy(stream), hipSuccess);
  }
  EXPECT_EQ(wrong, 0u);
}

TEST(KernelMeetings, BringWhatAnyNumberOfPesHasStored) {
  const auto check_groups = [](int n, std::uint64_t first) {
    check_meetings<Thread>(n, 1, first);
    check_meetings<Wave>(n, 3, first);
    check_meetings<Block>(n, 5, first);
    check_meetings<Block>(n, 40, first);
  };
  for (const int n : {1, 2, 3, 5, 17, 20}) check_groups(n, 0);
  for (const int n : {3, 17}) check_groups(n, kWipeEvery - 3);
}

// ---- Packets that are so old that their flag's number comes round again

constexpr std::uint64_t kQuarter = std::uint64_t{1} << 30;
constexpr std::size_t kLong = 8;

__global__ void add_up(const State* state, Word* dest, const Word* source, std::size_t count) {
  state_of_thread = state;
  reduce<ReduceOp::sum>(Block(), TeamSync(kWorldSlot), dest, source, count);
}
__global__ void meet_all(const State* state) {
  state_of_thread = state;
  team_sync(Block(), TeamSync(kWorldSlot));
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

// A long message leaves packets that the short ones of 2^32 operations do not overwrite. Whatever
// takes the epoch over the multiples of 2^30 on the way has to wipe them.
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

TEST(KernelChannels, PacketsAreWipedWhereABarrierTakesTheEpochOn) {
  check_that_old_packets_are_wiped([](TwoPes& pes) { pes.barrier(); });
}
TEST(KernelChannels, PacketsAreWipedWhereAReductionTakesTheEpochOn) {
  check_that_old_packets_are_wiped([](TwoPes& pes) { pes.sums(1, 1); });
}

}  // namespace
}  // namespace device
}  // namespace meshmem
