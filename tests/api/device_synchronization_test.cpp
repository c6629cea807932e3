// SPDX-License-Identifier: Apache-2.0
//
// The means by which PEs synchronize through device memory, from host code: signals, fences,
// atomics and waits, by several threads too.
// Invariant: each routine meets every type; the GPU's runtime reads the result.
#include <thread>

#include "placed_array.hpp"
#include "typed_routines.hpp"

namespace meshmem {
namespace {

constexpr size_t kElems = 40;

TEST(DeviceSignals, PutSignalDeliversDataBeforeTheSignal) {
  on_all_places([](Place to, Place from) {
    for (const Place sig_place : kPlaces) {
      SCOPED_TRACE(name_of(sig_place));
      PlacedArray<long> dest(to, kElems), source(from, kElems);
      PlacedArray<uint64_t> sig(sig_place, 1);
      sig.write({0});
      shmem_barrier_all();
      for (uint64_t round = 1; round <= 6; ++round) {
        const int number = static_cast<int>(round);
        source.write(samples<long>(kElems, my_pe(), number));
        const auto put = round % 2 ? shmem_long_put_signal : shmem_long_put_signal_nbi;
        if (round > 3) {
          put(dest, source, kElems, sig, 1, SHMEM_SIGNAL_ADD, next_pe());
        } else {
          put(dest, source, kElems, sig, round, SHMEM_SIGNAL_SET, next_pe());
        }
        EXPECT_EQ(shmem_signal_wait_until(sig, SHMEM_CMP_GE, round), round);
        expect_filled("put_signal", dest.read().data(), kElems, previous_pe(), number);
        shmem_barrier_all();
      }
      EXPECT_EQ(shmem_signal_fetch(sig), 6u);
    }
  });
}

// One element is stored by a kernel, which the call does not wait for.
TEST(DeviceSignals, ASignalInHostMemoryFollowsAnElementInDeviceMemory) {
  constexpr size_t kBusy = 6 << 20;
  PlacedArray<char> busy(Place::device, 2 * kBusy);
  PlacedArray<uint64_t> sig(Place::host, 1);
  sig.write({0});
  uint64_t round = 0;
  for_each_rma([&](auto row) {
    using E = typename decltype(row)::Element;
    if (is_left_out(row.type)) return;
    SCOPED_TRACE(row.type);
    PlacedArray<E> dest(Place::device, 1);
    for (const auto put : {row.put_signal, row.put_signal_nbi}) {
      const E value = sample<E>(seed_of(my_pe(), ++round));
      shmem_barrier_all();
      shmem_putmem_nbi(busy, busy + kBusy, kBusy, my_pe());  // what the stream does first
      put(dest, &value, 1, sig, round, SHMEM_SIGNAL_SET, next_pe());
      shmem_signal_wait_until(sig, SHMEM_CMP_EQ, round);
      EXPECT_TRUE(same(dest.read_first(), sample<E>(seed_of(previous_pe(), round))));
    }
  });
}

TEST(DeviceSignals, SetAndAddReachTheWord) {
  PlacedArray<uint64_t> sig(Place::device, 1);
  sig.write({0});
  shmem_barrier_all();
  shmem_signal_set(sig, uint64_t{1} << 63, next_pe());
  shmem_signal_wait_until(sig, SHMEM_CMP_NE, 0);
  shmem_barrier_all();
  for (int pe = 0; pe < n_pes(); ++pe) shmem_signal_add(sig, 5, pe);
  shmem_signal_wait_until(sig, SHMEM_CMP_EQ,
                          (uint64_t{1} << 63) + 5u * static_cast<unsigned>(n_pes()));
  shmem_barrier_all();
}

// Message passing: data in one kind of memory, the flag in another.
TEST(DeviceOrdering, FenceOrdersDeviceDataBeforeAHostFlagAndTheOtherWayRound) {
  on_all_places([](Place data_place, Place flag_place) {
    constexpr int kRounds = 20;
    PlacedArray<long> data(data_place, kElems);
    PlacedArray<long> flag(flag_place, 1);
    flag.write({0});
    shmem_barrier_all();
    for (long round = 1; round <= kRounds; ++round) {
      const std::vector<long> values = samples<long>(kElems, my_pe(), static_cast<int>(round));
      shmem_long_put_nbi(data, values.data(), kElems, next_pe());
      shmem_fence();
      shmem_long_p(flag, round, next_pe());
      shmem_long_wait_until(flag, SHMEM_CMP_EQ, round);
      expect_filled("data", data.read().data(), kElems, previous_pe(), static_cast<int>(round));
      shmem_barrier_all();
    }
  });
}

TEST(DeviceAtomics, SetSwapAndFetchOfEveryType) {
  const int to = next_pe();
  for_each_atomic_ext([&](auto row) {
    using E = typename decltype(row)::Element;
    SCOPED_TRACE(row.type);
    PlacedArray<E> word(Place::device, 1), fetch(Place::device, 1);
    const E a = sample<E>(1), b = sample<E>(2), c = sample<E>(3);
    E local{};
    row.atomic_set(word, a, to);
    EXPECT_EQ(row.atomic_fetch(word, to), a);
    EXPECT_EQ(row.atomic_swap(word, b, to), a);
    row.atomic_swap_nbi(&local, word, c, to);
    shmem_quiet();
    EXPECT_EQ(local, b);
    row.atomic_fetch_nbi(fetch, word, to);
    shmem_barrier_all();
    EXPECT_EQ(fetch.read_first(), c);
    EXPECT_EQ(word.read_first(), c);
    shmem_barrier_all();
  });
}

TEST(DeviceAtomics, AddIncAndCompareSwapOfEveryTypeFetchTheOldWord) {
  const int to = next_pe();
  for_each_atomic_std([&](auto row) {
    using E = typename decltype(row)::Element;
    SCOPED_TRACE(row.type);
    PlacedArray<E> word(Place::device, 1);
    const E top = static_cast<E>(E{1} << (sizeof(E) * 8 - 1));
    word.write({top});
    shmem_barrier_all();
    EXPECT_EQ(row.atomic_fetch_add(word, E{7}, to), top);
    row.atomic_add(word, E{5}, to);
    row.atomic_inc(word, to);
    EXPECT_EQ(row.atomic_fetch_inc(word, to), static_cast<E>(top + 13));
    EXPECT_EQ(row.atomic_compare_swap(word, E{1}, E{2}, to), static_cast<E>(top + 14));
    EXPECT_EQ(row.atomic_compare_swap(word, static_cast<E>(top + 14), E{9}, to),
              static_cast<E>(top + 14));
    E fetched[3] = {};
    row.atomic_compare_swap_nbi(&fetched[0], word, E{9}, E{11}, to);
    row.atomic_fetch_inc_nbi(&fetched[1], word, to);
    row.atomic_fetch_add_nbi(&fetched[2], word, E{8}, to);
    shmem_quiet();
    EXPECT_EQ(fetched[0], E{9});
    EXPECT_EQ(fetched[1], E{11});
    EXPECT_EQ(fetched[2], E{12});
    shmem_barrier_all();
    EXPECT_EQ(word.read_first(), E{20});
  });
}

TEST(DeviceAtomics, AndOrXorOfEveryTypeFetchTheOldWord) {
  const int to = next_pe();
  for_each_atomic_bit([&](auto row) {
    using E = typename decltype(row)::Element;
    SCOPED_TRACE(row.type);
    PlacedArray<E> word(Place::device, 1);
    const E start = sample<E>(9), mask = sample<E>(10);
    word.write({start});
    shmem_barrier_all();
    E expected = start;
    row.atomic_or(word, mask, to);
    expected = static_cast<E>(expected | mask);
    EXPECT_EQ(row.atomic_fetch_and(word, static_cast<E>(~mask), to), expected);
    expected = static_cast<E>(expected & ~mask);
    EXPECT_EQ(row.atomic_fetch_xor(word, start, to), expected);
    expected = static_cast<E>(expected ^ start);
    EXPECT_EQ(row.atomic_fetch_or(word, E{1}, to), expected);
    expected = static_cast<E>(expected | 1);
    row.atomic_xor(word, mask, to);
    expected = static_cast<E>(expected ^ mask);
    row.atomic_and(word, static_cast<E>(~E{1}), to);
    expected = static_cast<E>(expected & ~E{1});
    E fetched[3] = {};
    row.atomic_fetch_or_nbi(&fetched[0], word, E{0}, to);
    row.atomic_fetch_and_nbi(&fetched[1], word, static_cast<E>(~E{0}), to);
    row.atomic_fetch_xor_nbi(&fetched[2], word, E{0}, to);
    shmem_barrier_all();
    expect_all("fetched", fetched, 3, expected);
    EXPECT_EQ(word.read_first(), expected);
    shmem_barrier_all();
  });
}

TEST(DeviceAtomics, AddsOfAllPesAtOnceAreAllCounted) {
  constexpr int kAdds = 30;
  PlacedArray<uint64_t> counter(Place::device, 1);
  PlacedArray<int> taken(Place::device, static_cast<size_t>(n_pes() * kAdds));
  counter.write({0});
  taken.write(std::vector<int>(taken.size()));
  shmem_barrier_all();
  for (int i = 0; i < kAdds; ++i) {
    const uint64_t ticket = shmem_uint64_atomic_fetch_inc(counter, 0);
    ASSERT_LT(ticket, taken.size());
    shmem_int_atomic_inc(taken + ticket, 0);
  }
  shmem_barrier_all();
  if (my_pe() == 0) {
    EXPECT_EQ(counter.read_first(), taken.size());
    expect_all("tickets", taken.read().data(), taken.size(), 1);
  }
  shmem_barrier_all();
}

TEST(DeviceWaits, EveryFormSeesWhatAPeerPut) {
  for_each_wait([](auto row) {
    using E = typename decltype(row)::Element;
    SCOPED_TRACE(row.type);
    constexpr size_t kWords = 5;
    PlacedArray<E> words(Place::device, kWords);
    PlacedArray<E> wanted(Place::device, kWords);
    PlacedArray<int> status(Place::device, kWords);
    PlacedArray<size_t> indices(Place::device, kWords);
    const std::vector<E> values{E{1}, E{2}, E{3}, E{4}, E{5}};
    words.write(std::vector<E>(kWords));
    wanted.write(values);
    status.write({0, 1, 0, 0, 1});
    shmem_barrier_all();
    EXPECT_EQ(row.test(words, SHMEM_CMP_NE, E{0}), 0);
    EXPECT_EQ(row.test_any(words, kWords, nullptr, SHMEM_CMP_GT, E{0}), SIZE_MAX);
    shmem_barrier_all();
    shmem_putmem(words, values.data(), sizeof(E) * kWords, next_pe());
    row.wait_until(words + 4, SHMEM_CMP_EQ, E{5});
    row.wait_until_all(words, kWords, nullptr, SHMEM_CMP_GE, E{1});
    row.wait_until_all_vector(words, kWords, status, SHMEM_CMP_EQ, wanted);
    EXPECT_EQ(row.wait_until_any(words, kWords, status, SHMEM_CMP_EQ, E{4}), 3u);
    EXPECT_NE(row.wait_until_any_vector(words, kWords, nullptr, SHMEM_CMP_EQ, wanted), SIZE_MAX);
    EXPECT_EQ(row.wait_until_some(words, kWords, indices, status, SHMEM_CMP_GT, E{1}), 2u);
    const std::vector<size_t> found = indices.read();
    EXPECT_EQ(found[0], 2u);
    EXPECT_EQ(found[1], 3u);
    size_t local[kWords] = {};
    EXPECT_EQ(row.wait_until_some_vector(words, kWords, local, nullptr, SHMEM_CMP_EQ, wanted),
              kWords);
    EXPECT_EQ(row.test(words, SHMEM_CMP_LT, E{2}), 1);
    EXPECT_EQ(row.test_all(words, kWords, nullptr, SHMEM_CMP_LE, E{5}), 1);
    EXPECT_EQ(row.test_all(words, kWords, status, SHMEM_CMP_LE, E{3}), 0);
    EXPECT_EQ(row.test_some(words, kWords, local, nullptr, SHMEM_CMP_EQ, E{2}), 1u);
    EXPECT_EQ(local[0], 1u);
    EXPECT_EQ(row.test_all_vector(words, kWords, nullptr, SHMEM_CMP_EQ, values.data()), 1);
    EXPECT_NE(row.test_any_vector(words, kWords, nullptr, SHMEM_CMP_EQ, wanted), SIZE_MAX);
    EXPECT_EQ(row.test_some_vector(words, kWords, local, status, SHMEM_CMP_EQ, wanted), 3u);
    shmem_barrier_all();
  });
}

TEST(DeviceThreads, ThreadsCopyAndCountAtOnce) {
  constexpr size_t kThreads = 3, kRounds = 20;
  PlacedArray<long> data(Place::device, kThreads * kElems);
  PlacedArray<long> counter(Place::device, 1);
  counter.write({0});
  shmem_barrier_all();
  std::vector<std::thread> threads;
  for (size_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (size_t round = 0; round < kRounds; ++round) {
        const std::vector<long> values = samples<long>(kElems, my_pe(), static_cast<int>(t));
        shmem_long_put_nbi(data + t * kElems, values.data(), kElems, next_pe());
        shmem_long_atomic_inc(counter, next_pe());
        shmem_quiet();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  shmem_barrier_all();
  EXPECT_EQ(counter.read_first(), static_cast<long>(kThreads * kRounds));
  const std::vector<long> got = data.read();
  for (size_t t = 0; t < kThreads; ++t)
    expect_filled("thread", got.data() + t * kElems, kElems, previous_pe(), static_cast<int>(t));
  shmem_barrier_all();
}

}  // namespace
}  // namespace meshmem
