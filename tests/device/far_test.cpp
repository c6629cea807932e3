// SPDX-License-Identifier: Apache-2.0
//
// Kernels, streams and the host's collectives on device memory where some PEs are near and some are
// far. The job runs over simulated nodes, and without them as any other.
// Invariant: every test treats all PEs alike. So it uses both ways to a PE at once, and they have
// to keep the order that the memory model says (K rules of docs/memory_model.md). The other
// programs here test the routines of all types.
#include <chrono>
#include <functional>
#include <numeric>

#include "own_stream.hpp"
#if defined(MESHMEM_HIP_ON_CPU)
#include <hip/on_cpu/for_meshmem.h>
#endif

namespace meshmem {
namespace {

int right() { return (my_pe() + 1) % n_pes(); }
long value_of(int pe, size_t i) { return pe * 1000L + static_cast<long>(i) + (1L << 40); }

// ---- Data: each PE puts to all others, in its row, and gets back what it has put.

enum class By { thread, wave, block };
constexpr By kBys[] = {By::thread, By::wave, By::block};
constexpr size_t kRow = 200;

__device__ bool takes_part(By by) {
  return by == By::block || (by == By::wave ? threadIdx.x < warpSize : threadIdx.x == 0);
}

__global__ void put_and_get(By by, long* rows, const long* mine, long* back, size_t n) {
  if (!takes_part(by)) return;
  const int me = shmem_my_pe();
  long* const row = rows + me * static_cast<int>(kRow);
  for (int pe = 0; pe < shmem_n_pes(); ++pe) {
    long* const there = back + pe * static_cast<int>(kRow);
    if (by == By::thread) {
      shmem_long_put(row, mine, n, pe);
      shmem_quiet();
      shmem_long_get(there, row, n, pe);
    } else if (by == By::wave) {
      shmemx_long_put_wave(row, mine, n, pe);
      shmemx_quiet_wave();
      shmemx_long_get_wave(there, row, n, pe);
    } else {
      shmemx_long_put_block(row, mine, n, pe);
      shmemx_quiet_block();
      shmemx_long_get_block(there, row, n, pe);
    }
  }
}

// Between machines collectives take symmetric memory alone.
TEST(DeviceFar, ATeamDoesNotTakeAnyMemory) {
  if (shmem_team_n_pes(SHMEM_TEAM_SHARED) == n_pes()) GTEST_SKIP() << "one machine";
  EXPECT_NE(shmemx_team_take_any_memory(SHMEM_TEAM_WORLD), 0);
}

TEST(DeviceFar, PutsAndGetsOfAnyLength) {
  const size_t all = kRow * static_cast<size_t>(n_pes());
  for (const By by : kBys) {
    for (const size_t n : {size_t{1}, size_t{6}, size_t{7}, kRow}) {
      DeviceArray<long> rows(all, -1), mine(kRow, 0), back(all, -1);
      std::vector<long> own(kRow);
      for (size_t i = 0; i < kRow; ++i) own[i] = value_of(my_pe(), i);
      mine.upload(own);
      shmem_barrier_all();
      launch(put_and_get, 1, 70, by, rows.data(), mine.data(), back.data(), n);
      meet_after_kernels();
      const std::vector<long> got = rows.download(), returned = back.download();
      for (size_t at = 0; at < all; ++at) {
        const auto from = static_cast<int>(at / kRow);
        ASSERT_EQ(got[at], at % kRow < n ? value_of(from, at % kRow) : -1) << at << " of " << n;
        ASSERT_EQ(returned[at], at % kRow < n ? own[at % kRow] : -1) << at << " of " << n;
      }
    }
  }
}

// Memory that is the program's own, of whichever device the PE has.
TEST(DeviceFar, OneEndIsPrivateMemory) {
  const size_t all = kRow * static_cast<size_t>(n_pes());
  long *mine = nullptr, *back = nullptr;
  must(hipMalloc(&mine, kRow * sizeof(long)), "hipMalloc");
  must(hipMalloc(&back, all * sizeof(long)), "hipMalloc");
  std::vector<long> own(kRow), returned(all);
  for (size_t i = 0; i < kRow; ++i) own[i] = value_of(my_pe(), i);
  must(hipMemcpy(mine, own.data(), kRow * sizeof(long), hipMemcpyDefault), "hipMemcpy");
  for (const By by : kBys) {
    DeviceArray<long> rows(all, -1);
    must(hipMemset(back, 0, all * sizeof(long)), "hipMemset");
    synchronize();
    shmem_barrier_all();
    launch(put_and_get, 1, 70, by, rows.data(), mine, back, kRow);
    meet_after_kernels();
    must(hipMemcpy(returned.data(), back, all * sizeof(long), hipMemcpyDefault), "hipMemcpy");
    const std::vector<long> got = rows.download();
    for (size_t at = 0; at < all; ++at) {
      ASSERT_EQ(got[at], value_of(static_cast<int>(at / kRow), at % kRow)) << at;
      ASSERT_EQ(returned[at], own[at % kRow]) << at;
    }
  }
  must(hipFree(mine), "hipFree");
  must(hipFree(back), "hipFree");
}

__global__ void elements(long* places, long* answers) {
  const int me = shmem_my_pe(), n = shmem_n_pes();
  for (int pe = 0; pe < n; ++pe) {
    shmem_long_p(places + me, me * 10L + pe, pe);
    shmem_long_iput(places + n + me, places, n, 1, 0, pe);
    shmem_long_atomic_inc(places + 2 * n, pe);
    shmem_long_atomic_fetch_add(places + 2 * n + 1, me + 1, pe);
  }
  shmem_quiet();
  for (int pe = 0; pe < n; ++pe) {
    answers[pe] = shmem_long_g(places + me, pe);
    shmem_long_atomic_compare_swap(places + 2 * n + 2 + me, 0, answers[pe] + 1, pe);
  }
}

TEST(DeviceFar, ElementsAndAtomicsReachEveryPe) {
  const int n = n_pes();
  const auto places_of = static_cast<size_t>(3 * n + 2);
  DeviceArray<long> places(places_of, 0), answers(static_cast<size_t>(n), -1);
  shmem_barrier_all();
  launch(elements, 1, 1, places.data(), answers.data());
  meet_after_kernels();
  const std::vector<long> got = places.download(), answered = answers.download();
  for (int pe = 0; pe < n; ++pe) {
    const auto at = static_cast<size_t>(pe);
    EXPECT_EQ(got[at], pe * 10L + my_pe());
    EXPECT_EQ(answered[at], my_pe() * 10L + pe);
    EXPECT_EQ(got[static_cast<size_t>(2 * n + 2 + pe)], pe * 10L + my_pe() + 1);
  }
  EXPECT_EQ(got[static_cast<size_t>(2 * n)], n);
  EXPECT_EQ(got[static_cast<size_t>(2 * n + 1)], n * (n + 1L) / 2);
}

// ---- Order: a PE that sees the flag or signal of another sees that PE's earlier puts, near and
// far.

__global__ void pass_messages(long* data, uint64_t* flags, long* wrong, size_t words, int rounds) {
  const int me = shmem_my_pe(), n = shmem_n_pes();
  long* const mine = data + me * static_cast<int>(words);
  uint64_t* const signals = flags + n;
  for (int round = 1; round <= rounds; ++round) {
    const auto number = static_cast<uint64_t>(round);
    for (int i = 0; i < static_cast<int>(words); ++i) {
      for (int pe = 0; pe < n; ++pe) shmem_long_p(mine + i, round * 100L + i, pe);
    }
    shmem_fence();
    for (int pe = 0; pe < n; ++pe) shmem_signal_set(flags + me, number, pe);
    for (int from = 0; from < n; ++from) {
      shmem_signal_wait_until(flags + from, SHMEM_CMP_GE, number);
      for (int i = 0; i < static_cast<int>(words); ++i)
        if (data[from * static_cast<int>(words) + i] < round * 100L + i) ++*wrong;
    }
    // The next round's data comes after all have seen this one.
    for (int pe = 0; pe < n; ++pe) shmem_signal_add(signals, 1, pe);
    shmem_signal_wait_until(signals, SHMEM_CMP_GE, number * static_cast<uint64_t>(n));
  }
}

TEST(DeviceFar, FencesOrderNearAndFarStores) {
  constexpr size_t kWords = 5;
  const auto n = static_cast<size_t>(n_pes());
  DeviceArray<long> data(kWords * n, 0), wrong(1, 0);
  DeviceArray<uint64_t> flags(n + 1, 0);
  shmem_barrier_all();
  launch(pass_messages, 1, 1, data.data(), flags.data(), wrong.data(), kWords, rounds(50));
  meet_after_kernels();
  EXPECT_EQ(wrong.first(), 0);
}

// A token goes around, with data of all lengths behind one signal each.
__global__ void pass_token(By by, long* data, uint64_t* signal, long* wrong, size_t words,
                           int rounds) {
  if (!takes_part(by)) return;
  const int me = shmem_my_pe(), n = shmem_n_pes(), next = (me + 1) % n;
  const bool leads = threadIdx.x == 0;
  for (int round = 1; round <= rounds; ++round) {
    const auto number = static_cast<uint64_t>(round);
    if (me != 0 || round > 1) {
      const uint64_t awaited = me == 0 ? number - 1 : number;
      if (by == By::thread) shmem_signal_wait_until(signal, SHMEM_CMP_GE, awaited);
      if (by == By::wave) shmemx_signal_wait_until_wave(signal, SHMEM_CMP_GE, awaited);
      if (by == By::block) shmemx_signal_wait_until_block(signal, SHMEM_CMP_GE, awaited);
      if (leads)
        for (size_t i = 0; i < words; ++i)
          if (data[i] != static_cast<long>(awaited * 7 + i)) ++*wrong;
    }
    if (leads)
      for (size_t i = 0; i < words; ++i) data[words + i] = static_cast<long>(number * 7 + i);
    if (by == By::wave) shmemx_fence_wave();
    if (by == By::block) shmemx_fence_block();
    if (by == By::thread)
      shmem_long_put_signal(data, data + words, words, signal, number, SHMEM_SIGNAL_SET, next);
    if (by == By::wave)
      shmemx_long_put_signal_wave(data, data + words, words, signal, number, SHMEM_SIGNAL_SET,
                                  next);
    if (by == By::block)
      shmemx_long_put_signal_block(data, data + words, words, signal, number, SHMEM_SIGNAL_SET,
                                   next);
  }
}

TEST(DeviceFar, ASignalComesAfterItsData) {
  for (const By by : kBys) {
    for (const size_t words : {size_t{0}, size_t{1}, size_t{4}, size_t{5}, size_t{90}}) {
      DeviceArray<long> data(2 * words + 1, 0), wrong(1, 0);
      DeviceArray<uint64_t> signal(1, 0);
      shmem_barrier_all();
      launch(pass_token, 1, 64, by, data.data(), signal.data(), wrong.data(), words, rounds(10));
      meet_after_kernels();
      EXPECT_EQ(wrong.first(), 0) << words << " words, by " << static_cast<int>(by);
      shmem_barrier_all();
    }
  }
}

// ---- Collectives on the team of all PEs and on the even ones

__global__ void collectives(By by, shmem_team_t team, long* dest, const long* source, size_t n) {
  if (!takes_part(by)) return;
  long* to = dest;
  const int pes = shmem_team_n_pes(team);
  const size_t all = n * static_cast<size_t>(pes);
  if (by == By::thread) {
    shmem_long_sum_reduce(team, to, source, n);
    shmem_long_fcollect(team, to += n, source, n);
    shmem_long_alltoall(team, to += all, source, n);
    shmem_long_broadcast(team, to += all, source, n, pes - 1);
    shmem_long_sum_exscan(team, to += n, source, n);
    shmem_team_sync(team);
  } else if (by == By::wave) {
    shmemx_long_sum_reduce_wave(team, to, source, n);
    shmemx_long_fcollect_wave(team, to += n, source, n);
    shmemx_long_alltoall_wave(team, to += all, source, n);
    shmemx_long_broadcast_wave(team, to += all, source, n, pes - 1);
    shmemx_long_sum_exscan_wave(team, to += n, source, n);
    shmemx_team_sync_wave(team);
  } else {
    shmemx_long_sum_reduce_block(team, to, source, n);
    shmemx_long_fcollect_block(team, to += n, source, n);
    shmemx_long_alltoall_block(team, to += all, source, n);
    shmemx_long_broadcast_block(team, to += all, source, n, pes - 1);
    shmemx_long_sum_exscan_block(team, to += n, source, n);
    shmemx_team_sync_block(team);
  }
}

// The elements that collectives() leaves in dest, of members that bring value_of(world PE, i).
std::vector<long> results_of(shmem_team_t team, size_t n) {
  const int pes = shmem_team_n_pes(team), me = shmem_team_my_pe(team);
  const auto brought = [&](int pe, size_t i) {
    return value_of(shmem_team_translate_pe(team, pe, SHMEM_TEAM_WORLD), i);
  };
  std::vector<long> results;
  const auto sum_below = [&](int end, size_t i) {
    long sum = 0;
    for (int pe = 0; pe < end; ++pe) sum += brought(pe, i);
    return sum;
  };
  for (size_t i = 0; i < n; ++i) results.push_back(sum_below(pes, i));
  for (int pe = 0; pe < pes; ++pe)
    for (size_t i = 0; i < n; ++i) results.push_back(brought(pe, i));
  for (int pe = 0; pe < pes; ++pe)
    for (size_t i = 0; i < n; ++i) results.push_back(brought(pe, static_cast<size_t>(me) * n + i));
  for (size_t i = 0; i < n; ++i) results.push_back(brought(pes - 1, i));
  for (size_t i = 0; i < n; ++i) results.push_back(sum_below(me, i));
  return results;
}

std::vector<long> brought_for(size_t n) {
  std::vector<long> source(n * static_cast<size_t>(n_pes()));
  for (size_t i = 0; i < source.size(); ++i) source[i] = value_of(my_pe(), i);
  return source;
}

// How many kernels this PE has launched, where that is known.
uint64_t kernels_so_far() {
#if defined(MESHMEM_HIP_ON_CPU)
  return hip_on_cpu::kernels_submitted();
#else
  return 0;
#endif
}

// The kernel may fill the device, so the host takes no other for it.
void check_collectives(shmem_team_t team, By by, size_t n) {
  const std::vector<long> wanted = results_of(team, n);
  DeviceArray<long> dest(wanted.size(), -1), source(brought_for(n));
  shmem_team_sync(team);
  const uint64_t before = kernels_so_far();
  launch(collectives, 1, 64, by, team, dest.data(), source.data(), n);
  synchronize();
  EXPECT_LE(kernels_so_far() - before, 1u) << n << " elements";
  EXPECT_EQ(dest.download(), wanted);
  shmem_team_sync(team);
}

TEST(DeviceFar, CollectivesOfAllAndOfSomePes) {
  shmem_team_t even = SHMEM_TEAM_INVALID;
  shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 2, (n_pes() + 1) / 2, nullptr, 0, &even);
  for (const By by : kBys) {
    for (const size_t n : {size_t{1}, size_t{3}, size_t{3000}}) {
      check_collectives(SHMEM_TEAM_WORLD, by, n);
      shmem_barrier_all();
    }
  }
  // DeviceArray is made by all PEs: the odd ones stand by.
  const size_t most = 3000 * 4 * static_cast<size_t>(n_pes());
  DeviceArray<long> dest(most, -1), source(brought_for(100));
  if (even != SHMEM_TEAM_INVALID) {
    const std::vector<long> wanted = results_of(even, 100);
    shmem_team_sync(even);
    launch(collectives, 1, 64, By::block, even, dest.data(), source.data(), size_t{100});
    synchronize();
    std::vector<long> got = dest.download();
    got.resize(wanted.size());
    EXPECT_EQ(got, wanted);
  }
  shmem_barrier_all();
  if (even != SHMEM_TEAM_INVALID) shmem_team_destroy(even);
}

// Block 0 puts until block 1, which waits for answers, has got some; how many puts these took.
constexpr long kMostPuts = 300000;
__global__ void put_beside_fetches(long* words, uint64_t* has_answers, long* puts, int pe) {
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 0) {
    long n = 0;
    while (n < kMostPuts && shmem_signal_fetch(has_answers) == 0) shmem_long_p(words, ++n, pe);
    *puts = n;
  } else {
    for (int i = 0; i < 5; ++i) shmem_long_atomic_inc(words + 1, pe);
    for (int i = 0; i < 5; ++i) shmem_long_atomic_fetch_inc(words + 1, pe);
    shmem_quiet();
    shmem_signal_set(has_answers, 1, shmem_my_pe());
  }
}

TEST(DeviceFar, PutsWithoutEndDoNotHoldUpAnswers) {
  DeviceArray<long> words(2, 0), puts(1, 0);
  DeviceArray<uint64_t> has_answers(1, 0);
  const int last = n_pes() - 1;
  static long of_host;
  shmem_barrier_all();
  if (my_pe() == 0 && shmem_ptr(&of_host, last) == nullptr) {
    launch(put_beside_fetches, 2, 1, words.data(), has_answers.data(), puts.data(), last);
    synchronize();
    EXPECT_LT(puts.download()[0], kMostPuts);
    EXPECT_EQ(shmem_long_g(words.data() + 1, last), 10);
  }
  shmem_barrier_all();
}

// All threads put until they are told to end, so the ring is full. When there is room again they
// come late to fill their places.
__global__ void put_until_told(long* words, uint64_t* is_told, int pe) {
  long* const mine = words + blockIdx.x * blockDim.x + threadIdx.x;
  while (shmem_signal_fetch(is_told) == 0)
    for (long i = 0; i < 20; ++i) shmem_long_p(mine, i, pe);
}
__global__ void put_word(long* word, long value, int pe) { shmem_long_p(word, value, pe); }

TEST(DeviceFar, QuietOfTheHostCompletesAKernelBesideOneThatFillsTheRing) {
  constexpr unsigned kBlocks = 4, kThreads = 1024;
  DeviceArray<long> words(kBlocks * kThreads, 0), word(1, 0);
  DeviceArray<uint64_t> is_told(1, 0);
  const int last = n_pes() - 1;
  static long of_host;
  shmem_barrier_all();
  if (my_pe() == 0 && shmem_ptr(&of_host, last) == nullptr) {
    const OwnStream filling, stream;
    launch_on(filling, put_until_told, kBlocks, kThreads, words.data(), is_told.data(), last);
    // Machines that are busy with other tests need not come to 40 rounds.
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(1);
    for (long round = 1; round <= 40 && std::chrono::steady_clock::now() < end; ++round) {
      launch_on(stream, put_word, 1, 1, word.data(), round, last);
      stream.synchronize();
      shmem_quiet();
      EXPECT_EQ(shmem_long_g(word.data(), last), round);
    }
    shmem_signal_set(is_told.data(), 1, my_pe());
    filling.synchronize();
  }
  shmem_barrier_all();
}

// ---- Streams

TEST(DeviceFar, StreamsKeepTheirOrder) {
  constexpr size_t kWords = 3000;
  const OwnStream stream;
  DeviceArray<long> dest(kWords, 0), source(kWords, 0), back(kWords, 0);
  DeviceArray<uint64_t> signal(2, 0);
  std::vector<long> own(kWords);
  std::iota(own.begin(), own.end(), value_of(my_pe(), 0));
  source.upload(own);
  shmem_barrier_all();
  const size_t bytes = kWords * sizeof(long);
  const auto handle = reinterpret_cast<shmemx_stream_t>(static_cast<hipStream_t>(stream));
  shmemx_putmem_signal_on_stream(dest.data(), source.data(), bytes, signal.data(), 1,
                                 SHMEM_SIGNAL_SET, right(), handle);
  shmemx_signal_wait_until_on_stream(signal.data(), SHMEM_CMP_EQ, 1, handle);
  shmemx_getmem_on_stream(back.data(), dest.data(), bytes, my_pe(), handle);
  stream.synchronize();
  const int left = (my_pe() + n_pes() - 1) % n_pes();
  std::vector<long> theirs(kWords);
  std::iota(theirs.begin(), theirs.end(), value_of(left, 0));
  EXPECT_EQ(back.download(), theirs);
  shmem_barrier_all();
  shmemx_putmem_on_stream(back.data(), source.data(), bytes, right(), handle);
  shmemx_quiet_on_stream(handle);
  shmemx_signal_op_on_stream(signal.data() + 1, 5, SHMEM_SIGNAL_ADD, right(), handle);
  shmemx_signal_wait_until_on_stream(signal.data() + 1, SHMEM_CMP_EQ, 5, handle);
  shmemx_barrier_all_on_stream(handle);
  shmemx_getmem_on_stream(dest.data(), back.data(), bytes, right(), handle);
  stream.synchronize();
  EXPECT_EQ(dest.download(), own);
  shmem_barrier_all();
}

shmemx_stream_t handle_of(const OwnStream& stream) {
  return reinterpret_cast<shmemx_stream_t>(static_cast<hipStream_t>(stream));
}

// A word by each block.
__global__ void put_word_by_block(long* dest, long value, int pe) {
  if (threadIdx.x == 0) shmem_long_p(dest + blockIdx.x, value, pe);
}

// PE 1, which is near, tells the last PE that the quiet is over. Its word takes a way of its own,
// so it does not queue behind PE 0's puts.
void expect_quiet_behind(size_t words, const OwnStream& stream,
                         const std::function<void(long* dest, long round)>& put) {
  const int last = n_pes() - 1;
  static long passed_on;
  passed_on = 0;
  DeviceArray<long> dest(words, 0);
  DeviceArray<uint64_t> is_quiet(1, 0);
  for (long round = 1; round <= 30; ++round) {
    shmem_barrier_all();
    const auto number = static_cast<uint64_t>(round);
    if (my_pe() == 0) {
      put(dest.data(), round);
      shmemx_quiet_on_stream(handle_of(stream));
      shmemx_signal_op_on_stream(is_quiet.data(), number, SHMEM_SIGNAL_SET, 1, handle_of(stream));
      stream.synchronize();
    } else if (my_pe() == 1) {
      shmem_signal_wait_until(is_quiet.data(), SHMEM_CMP_EQ, number);
      shmem_long_p(&passed_on, round, last);
      shmem_quiet();
    }
    if (my_pe() != last) continue;
    shmem_long_wait_until(&passed_on, SHMEM_CMP_EQ, round);
    EXPECT_EQ(dest.download(), std::vector<long>(words, round));
  }
  shmem_barrier_all();
}

TEST(DeviceFar, QuietOnAStreamCompletesWhatTheStreamHasPut) {
  if (n_pes() < 3) return;
  const OwnStream stream;
  for (const size_t words : {size_t{1}, size_t{50000}}) {
    DeviceArray<long> source(words, 0);
    expect_quiet_behind(words, stream, [&](long* dest, long round) {
      source.upload(std::vector<long>(words, round));
      shmemx_long_put_on_stream(dest, source.data(), words, n_pes() - 1, handle_of(stream));
    });
  }
}
TEST(DeviceFar, QuietOnAStreamCompletesWhatItsKernelsHavePut) {
  if (n_pes() < 3) return;
  constexpr unsigned kBlocks = 500;
  const OwnStream stream;
  expect_quiet_behind(kBlocks, stream, [&](long* dest, long round) {
    hipLaunchKernelGGL(put_word_by_block, dim3(kBlocks), dim3(1), 0, stream, dest, round,
                       n_pes() - 1);
  });
}
TEST(DeviceFar, BarriersOnAStreamCompleteWhatItsKernelsHavePut) {
  constexpr unsigned kBlocks = 2000;
  const OwnStream stream;
  DeviceArray<long> dest(kBlocks, 0), seen(kBlocks, 0);
  const int last = n_pes() - 1;
  for (long round = 1; round <= 20; ++round) {
    shmem_barrier_all();
    if (my_pe() == last / 2) {  // of its node not the one that speaks for it
      hipLaunchKernelGGL(put_word_by_block, dim3(kBlocks), dim3(1), 0, stream, dest.data(), round,
                         last);
    }
    shmemx_barrier_all_on_stream(handle_of(stream));
    must(hipMemcpyAsync(seen.data(), dest.data(), kBlocks * sizeof(long), hipMemcpyDefault, stream),
         "hipMemcpyAsync");
    stream.synchronize();
    if (my_pe() != last) continue;
    EXPECT_EQ(seen.download(), std::vector<long>(kBlocks, round));
  }
  shmem_barrier_all();
}

TEST(DeviceFar, CapturedCollectivesRunAgain) {
  constexpr size_t kWords = 10007;  // large: in chunks
  const OwnStream stream;
  DeviceArray<long> dest(kWords, 0), source(brought_for(kWords));
  shmem_barrier_all();
  hipGraph_t graph = nullptr;
  hipGraphExec_t replay = nullptr;
  must(hipStreamBeginCapture(stream, hipStreamCaptureModeThreadLocal), "hipStreamBeginCapture");
  shmemx_long_sum_reduce_on_stream(
      SHMEM_TEAM_WORLD, dest.data(), source.data(), kWords,
      reinterpret_cast<shmemx_stream_t>(static_cast<hipStream_t>(stream)));
  must(hipStreamEndCapture(stream, &graph), "hipStreamEndCapture");
  must(hipGraphInstantiate(&replay, graph, nullptr, nullptr, 0), "hipGraphInstantiate");
  for (int round = 0; round < 3; ++round) {
    must(hipGraphLaunch(replay, stream), "hipGraphLaunch");
    stream.synchronize();
    std::vector<long> wanted = results_of(SHMEM_TEAM_WORLD, kWords);
    wanted.resize(kWords);
    EXPECT_EQ(dest.download(), wanted);
    shmem_barrier_all();
  }
  must(hipGraphExecDestroy(replay), "hipGraphExecDestroy");
  must(hipGraphDestroy(graph), "hipGraphDestroy");
}

}  // namespace
}  // namespace meshmem
