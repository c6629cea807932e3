// SPDX-License-Identifier: Apache-2.0
//
// Rules of kernels (docs/memory_model.md) that the programs of one machine do not show where some
// PEs are near and some are far. Elements move in one piece; gets see data that has come since;
// atomics of near and far kernels and of hosts agree. Reductions, small and large, give all PEs the
// same bits.
// Invariant: every test treats all PEs alike. Runs over simulated nodes, and without them.
#include <cstdint>
#include <numeric>

#include "own_stream.hpp"

namespace meshmem {
namespace {

// ---- K2: all bytes of a word are the same, always.

constexpr int kValues = 64;
template <typename T>
__device__ T word_of(int round) {
  return static_cast<T>(static_cast<T>(~T{0}) / 255 * static_cast<T>(1 + round % kValues));
}
template <typename T>
__device__ bool is_whole(T word) {
  return word % (static_cast<T>(~T{0}) / 255) == 0;
}

template <typename T>
__global__ void write_and_read(T* word, T* mine, uint64_t* halves, int rounds) {
  const int me = shmem_my_pe(), n = shmem_n_pes();
  for (int round = 0; round < rounds; ++round) {
    for (int pe = 0; pe < n; ++pe) {
      if (round % 2 == 0) {
        shmem_p(word, word_of<T>(round + me), pe);
      } else {
        *mine = word_of<T>(round + me);
        shmem_put(word, mine, 1, pe);
      }
    }
    if (!is_whole(shmem_g(word, me))) ++*halves;
    if (!is_whole(shmem_g(word, (me + 1) % n))) ++*halves;
  }
}

template <typename T>
void check_words() {
  DeviceArray<T> word(1, 0), mine(1, 0);
  DeviceArray<uint64_t> halves(1, 0);
  shmem_barrier_all();
  launch(write_and_read<T>, 1, 1, word.data(), mine.data(), halves.data(), rounds(2000));
  meet_after_kernels();
  EXPECT_EQ(halves.first(), 0u) << sizeof(T) << " bytes";
}

TEST(DeviceFarRules, K2_NobodySeesHalfAnElement) {
  check_words<uint16_t>();
  check_words<uint32_t>();
  check_words<uint64_t>();
}

// ---- K3: a PE that asks again and again sees the other's stores into its own memory.

__global__ void ask_and_answer(uint64_t* words, uint64_t* got, bool by_get, int rounds) {
  const int me = shmem_my_pe(), next = (me + 1) % shmem_n_pes();
  for (int round = 1; round <= rounds; ++round) {
    const auto number = static_cast<uint64_t>(round);
    shmem_p(words + 1, number * 3, me);
    shmem_fence();
    shmem_p(words, number, me);
    do {
      if (by_get)
        shmem_getmem(got, words, sizeof *got, next);
      else
        *got = shmem_g(words, next);
    } while (*got < number);
    shmem_fence();
    if (shmem_g(words + 1, next) < number * 3) got[1] += 1;
  }
}

TEST(DeviceFarRules, K3_GetsSeeWhatHasComeSince) {
  for (const bool by_get : {false, true}) {
    DeviceArray<uint64_t> words(2, 0), got(2, 0);
    shmem_barrier_all();
    launch(ask_and_answer, 1, 1, words.data(), got.data(), by_get, rounds(2000));
    meet_after_kernels();
    EXPECT_EQ(got.download()[1], 0u) << "data older than the flag";
  }
}

// ---- K8: kernels of near and far PEs and their hosts add to the same words.

__global__ void add_to_all(uint64_t* sum, uint64_t* tickets, int rounds) {
  for (int round = 0; round < rounds; ++round)
    for (int pe = 0; pe < shmem_n_pes(); ++pe) {
      shmem_atomic_inc(sum, pe);
      tickets[0] += shmem_atomic_fetch_add(sum + 1, uint64_t{1}, pe);
    }
  shmem_quiet();
}

TEST(DeviceFarRules, K8_KernelsAndHostsAddTogether) {
  const int each = rounds(500);
  const auto adds = static_cast<uint64_t>(each) * static_cast<uint64_t>(n_pes());
  DeviceArray<uint64_t> sums(2, 0), tickets(1, 0);
  shmem_barrier_all();
  launch(add_to_all, 1, 1, sums.data(), tickets.data(), each);
  for (int round = 0; round < each; ++round)
    for (int pe = 0; pe < n_pes(); ++pe) shmem_atomic_inc(sums.data(), pe);
  shmem_quiet();
  meet_after_kernels();
  EXPECT_EQ(sums.download(), (std::vector<uint64_t>{2 * adds, adds}));
  // Each number of each PE has been drawn once.
  const uint64_t drawn = tickets.first();
  static uint64_t mine, all;
  mine = drawn;
  shmem_uint64_sum_reduce(SHMEM_TEAM_WORLD, &all, &mine, 1);
  EXPECT_EQ(all, static_cast<uint64_t>(n_pes()) * (adds * (adds - 1) / 2));
  shmem_barrier_all();
}

// ---- K11: the same bits for all, each time; and whole results, small and in many chunks.

// Small, what leaders take at most, and beyond it; odd, so that shares differ; and many chunks.
constexpr size_t kCounts[] = {1, 4096, 4097, 40001, 300007};

std::vector<float> fractions(size_t n) {
  std::vector<float> values(n);
  for (size_t i = 0; i < n; ++i)
    values[i] = 1.0f / static_cast<float>(3 + 7 * my_pe() + static_cast<int>(i % 97));
  return values;
}

shmemx_stream_t handle_of(const OwnStream& stream) {
  return reinterpret_cast<shmemx_stream_t>(static_cast<hipStream_t>(stream));
}

TEST(DeviceFarRules, K11_AllGetTheSameBitsEachTime) {
  const OwnStream stream;
  for (const size_t n : kCounts) {
    DeviceArray<float> source(fractions(n)), once(n, 0), again(n, 0), theirs(n, 0);
    shmem_barrier_all();
    shmemx_float_sum_reduce_on_stream(SHMEM_TEAM_WORLD, once.data(), source.data(), n,
                                      handle_of(stream));
    stream.synchronize();
    shmem_float_sum_reduce(SHMEM_TEAM_WORLD, again.data(), source.data(), n);
    shmem_barrier_all();
    shmem_getmem(theirs.data(), once.data(), n * sizeof(float), 0);
    const std::vector<float> mine = once.download();
    EXPECT_EQ(mine, theirs.download()) << n << " elements";
    EXPECT_EQ(mine, again.download()) << n << " elements";
    for (size_t i = 0; i < n; i += 331) {
      float sum = 0;
      for (int pe = 0; pe < n_pes(); ++pe)
        sum += 1.0f / static_cast<float>(3 + 7 * pe + static_cast<int>(i % 97));
      ASSERT_NEAR(mine[i], sum, 1e-5f) << i << " of " << n;
    }
    shmem_barrier_all();
  }
}

// In place, and of addresses that no grain divides.
TEST(DeviceFarRules, LargeSumsAndAveragesInPlace) {
  const long n = n_pes();
  for (const size_t count : kCounts) {
    std::vector<long> own(count + 1);
    for (size_t i = 0; i < own.size(); ++i)
      own[i] = (my_pe() + 1) * n * (1 + static_cast<long>(i % 1009));
    DeviceArray<long> sums(own), averages(own);
    shmem_barrier_all();
    shmem_long_sum_reduce(SHMEM_TEAM_WORLD, sums.data() + 1, sums.data() + 1, count);
    shmemx_long_avg_reduce(SHMEM_TEAM_WORLD, averages.data() + 1, averages.data() + 1, count);
    const std::vector<long> sum = sums.download(), average = averages.download();
    EXPECT_EQ(sum[0], own[0]);
    for (size_t i = 1; i <= count; ++i) {
      const long whole = n * (n + 1) / 2 * (1 + static_cast<long>(i % 1009));
      ASSERT_EQ(sum[i], whole * n) << i << " of " << count;
      ASSERT_EQ(average[i], whole) << i << " of " << count;
    }
    shmem_barrier_all();
  }
}

// 2048 of PE 0 and 1 of each other one, as half: in float, and rounded once.
TEST(DeviceFarRules, LargeSumsOfHalfAreRoundedOnce) {
  constexpr uint16_t kTotals[] = {0x6800, 0x6800, 0x6801, 0x6802, 0x6802, 0x6802, 0x6803, 0x6804};
  ASSERT_LE(n_pes(), 8);
  const uint16_t total = kTotals[n_pes() - 1];
  const OwnStream stream;
  for (const size_t count : kCounts) {
    DeviceArray<uint16_t> values(count, my_pe() == 0 ? 0x6800 : 0x3c00), sums(count, 0);
    shmem_barrier_all();
    shmemx_half_sum_reduce_on_stream(SHMEM_TEAM_WORLD, sums.data(), values.data(), count,
                                     handle_of(stream));
    stream.synchronize();
    const std::vector<uint16_t> got = sums.download();
    for (size_t i = 0; i < count; ++i) ASSERT_EQ(got[i], total) << i << " of " << count;
    shmem_barrier_all();
  }
}

// ---- Data that goes in large blocks, of different lengths too.

long block_value(int from, int to, size_t i) {
  return (from * 100L + to) * 1000003L + static_cast<long>(i);
}

TEST(DeviceFarRules, LargeBlocksArriveWhole) {
  const auto n = static_cast<size_t>(n_pes());
  const OwnStream stream;
  for (const size_t count : {size_t{5001}, size_t{40007}}) {
    const size_t mine = count + static_cast<size_t>(my_pe()) * 3, total = n * count + 3 * n * n;
    std::vector<long> own(total);
    for (size_t i = 0; i < own.size(); ++i)
      own[i] = block_value(my_pe(), static_cast<int>(i / count), i % count);
    DeviceArray<long> source(own), gathered(total, -1), collected(total, -1), swapped(total, -1),
        sent(count, -1);
    shmem_barrier_all();
    shmem_long_fcollect(SHMEM_TEAM_WORLD, gathered.data(), source.data(), count);
    shmem_long_collect(SHMEM_TEAM_WORLD, collected.data(), source.data(), mine);
    shmemx_alltoallmem_on_stream(SHMEM_TEAM_WORLD, swapped.data(), source.data(),
                                 count * sizeof(long), handle_of(stream));
    stream.synchronize();
    const int root = n_pes() - 1;
    shmem_long_broadcast(SHMEM_TEAM_WORLD, sent.data(), source.data(), count, root);
    const std::vector<long> all = gathered.download(), each = collected.download(),
                            blocks = swapped.download(), got = sent.download();
    size_t at = 0;
    for (int pe = 0; pe < n_pes(); ++pe) {
      for (size_t i = 0; i < count; ++i) {
        const size_t place = static_cast<size_t>(pe) * count + i;
        ASSERT_EQ(all[place], block_value(pe, 0, i)) << "fcollect " << pe << " " << i;
        ASSERT_EQ(blocks[place], block_value(pe, my_pe(), i)) << "alltoall " << pe << " " << i;
      }
      for (size_t i = 0; i < count + static_cast<size_t>(pe) * 3; ++i, ++at)
        ASSERT_EQ(each[at], block_value(pe, static_cast<int>(i / count), i % count))
            << "collect " << pe << " " << i;
    }
    for (size_t i = 0; i < count; ++i) ASSERT_EQ(got[i], block_value(root, 0, i)) << i;
    shmem_barrier_all();
  }
}

}  // namespace
}  // namespace meshmem
