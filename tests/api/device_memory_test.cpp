// SPDX-License-Identifier: Apache-2.0
//
// The host API on device memory: puts, gets, atomics, waits, signals and allocation where one address
// or all are in the device heap or in a registered buffer.
// Invariant: each routine meets every mixture of places with every type; what it did is read by the
// GPU's runtime.
#include <atomic>
#include <cstdlib>
#include <string>
#include <thread>

#include "placed_array.hpp"
#include "typed_routines.hpp"

namespace meshmem {
namespace {

constexpr size_t kElems = 40;

// Runs copy(dest, source, n) on fresh contents and expects what `from` had in its source.
template <typename E, typename Copy>
void check_copy(const char* what, PlacedArray<E>& dest, PlacedArray<E>& source, size_t n, int from,
                const Copy& copy) {
  static int round = 0;
  ++round;
  source.write(samples<E>(source.size(), my_pe(), round));
  dest.write(samples<E>(dest.size(), my_pe(), -round));
  shmem_barrier_all();
  copy(dest.data(), source.data(), n);
  shmem_barrier_all();
  const std::vector<E> got = dest.read();
  expect_filled(what, got.data(), n, from, round);
  EXPECT_TRUE(same(got[n], sample<E>(seed_of(my_pe(), n, -round)))) << what << " went too far";
}

TEST(DeviceRma, PutAndGetMoveEveryTypeBetweenAnyPlaces) {
  on_all_places([](Place to, Place from) {
    for_each_rma([&](auto row) {
      using E = typename decltype(row)::Element;
      SCOPED_TRACE(row.type);
      PlacedArray<E> dest(to, kElems), source(from, kElems);
      for (const size_t n : {size_t{1}, size_t{0}, size_t{3}, kElems - 1}) {
        check_copy("put", dest, source, n, previous_pe(),
                   [&](E* d, E* s, size_t count) { row.put(d, s, count, next_pe()); });
        check_copy("get", dest, source, n, next_pe(),
                   [&](E* d, E* s, size_t count) { row.get(d, s, count, next_pe()); });
      }
      check_copy("put_nbi", dest, source, 17, previous_pe(),
                 [&](E* d, E* s, size_t count) { row.put_nbi(d, s, count, next_pe()); });
      check_copy("get_nbi", dest, source, 17, next_pe(), [&](E* d, E* s, size_t count) {
        row.get_nbi(d, s, count, next_pe());
        shmem_quiet();
      });
    });
  });
}

TEST(DeviceRma, PutTakesASourceOfTheStack) {
  PlacedArray<long> dest(Place::device, 4);
  const long values[4] = {1, -1, 1L << 40, my_pe()};
  shmem_long_put(dest, values, 4, next_pe());
  shmem_barrier_all();
  EXPECT_EQ(dest.read(), (std::vector<long>{1, -1, 1L << 40, previous_pe()}));
}

TEST(DeviceRma, LargePutsAndGetsArriveWhole) {
  constexpr size_t kLarge = (3 << 20) + 5;
  on_all_places([](Place to, Place from) {
    PlacedArray<uint8_t> dest(to, kLarge + 1), source(from, kLarge + 1);
    check_copy("put", dest, source, kLarge, previous_pe(), [](uint8_t* d, uint8_t* s, size_t n) {
      shmem_putmem_nbi(d, s, n, next_pe());
      shmem_quiet();
    });
    check_copy("get", dest, source, kLarge, next_pe(),
               [](uint8_t* d, uint8_t* s, size_t n) { shmem_getmem(d, s, n, next_pe()); });
  });
}

TEST(DeviceRma, PAndGMoveOneElementOfEveryType) {
  for_each_single([](auto row) {
    using E = typename decltype(row)::Element;
    SCOPED_TRACE(row.type);
    for (const Place place : {Place::device, Place::registered}) {
      PlacedArray<E> word(place, 3);
      row.p(word + 1, sample<E>(seed_of(my_pe(), 7)), next_pe());
      shmem_barrier_all();
      EXPECT_TRUE(same(word.read()[1], sample<E>(seed_of(previous_pe(), 7))));
      EXPECT_TRUE(same(row.g(word + 1, next_pe()), sample<E>(seed_of(my_pe(), 7))));
      shmem_barrier_all();
    }
  });
}

TEST(DeviceRma, StridedFormsMoveTheirElementsOnly) {
  on_all_places([](Place to, Place from) {
    for_each_strided([&](auto row) {
      using E = typename decltype(row)::Element;
      SCOPED_TRACE(row.type);
      PlacedArray<E> dest(to, kElems), source(from, kElems);
      const auto check = [&](const char* what, int pe, size_t block, const auto& copy) {
        source.write(samples<E>(kElems, my_pe(), 1));
        dest.write(samples<E>(kElems, my_pe(), 2));
        shmem_barrier_all();
        copy();
        shmem_barrier_all();
        const std::vector<E> got = dest.read();
        expect_each(what, got.data(), kElems, [&](size_t i) {
          const size_t index = i / 5, within = i % 5;  // blocks at 5 in dest, at 3 in source
          const bool moved = index < 6 && within < block;
          return moved ? sample<E>(seed_of(pe, index * 3 + within, 1))
                       : sample<E>(seed_of(my_pe(), i, 2));
        });
      };
      check("iput", previous_pe(), 1,
            [&] { row.iput(dest.data(), source.data(), 5, 3, 6, next_pe()); });
      check("iget", next_pe(), 1,
            [&] { row.iget(dest.data(), source.data(), 5, 3, 6, next_pe()); });
      check("ibput", previous_pe(), 3,
            [&] { row.ibput(dest.data(), source.data(), 5, 3, 3, 6, next_pe()); });
      check("ibget", next_pe(), 3,
            [&] { row.ibget(dest.data(), source.data(), 5, 3, 3, 6, next_pe()); });
    });
  });
}

TEST(DeviceRma, StridedBlocksMayBeLargerThanAPage) {
  constexpr size_t kBlock = 3000, kBlocks = 40;
  on_all_places([](Place to, Place from) {
    PlacedArray<int> dest(to, kBlock * kBlocks), source(from, (kBlock + 3) * kBlocks);
    source.write(samples<int>(source.size(), my_pe()));
    shmem_barrier_all();
    shmem_int_ibput(dest, source, kBlock, kBlock + 3, kBlock, kBlocks, next_pe());
    shmem_barrier_all();
    expect_each("ibput", dest.read().data(), dest.size(), [](size_t i) {
      return sample<int>(seed_of(previous_pe(), i / kBlock * (kBlock + 3) + i % kBlock));
    });
  });
}

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

TEST(DeviceAtomics, EveryOperationOfEveryTypeChangesTheWordAndFetchesTheOld) {
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

TEST(DeviceHeap, HintsChooseTheHeap) {
  EXPECT_EQ(shmem_malloc_with_hints(0, SHMEMX_MALLOC_DEVICE), nullptr);
  EXPECT_EQ(shmem_malloc_with_hints(size_t{1} << 50, SHMEMX_MALLOC_DEVICE), nullptr);
  void* on_device =
      shmem_malloc_with_hints(100, SHMEMX_MALLOC_DEVICE | SHMEM_MALLOC_ATOMICS_REMOTE | (1L << 40));
  void* on_host = shmem_malloc_with_hints(100, SHMEMX_MALLOC_HOST);
  hipPointerAttribute_t attributes{};
  ASSERT_EQ(hipPointerGetAttributes(&attributes, on_device), hipSuccess);
  EXPECT_EQ(attributes.devicePointer, on_device);
  static_cast<char*>(on_host)[99] = 1;
  shmem_free(on_device);
  shmem_free(on_host);
}

TEST(DeviceHeap, TheEnvironmentChoosesTheHeapOfTheOtherRoutines) {
  const char* heap = std::getenv("MESHMEM_HEAP");
  const bool by_default = heap && std::string(heap) == "device";
  auto* dirty = static_cast<char*>(shmem_malloc(5000));
  auto* aligned = static_cast<char*>(shmem_align(65536, 100));
  EXPECT_EQ(reinterpret_cast<uintptr_t>(aligned) % 65536, 0u);
  PlacedArray<char> on_device(Place::device, 1), on_host(Place::host, 1);
  const auto distance = [](const char* a, const char* b) { return a < b ? b - a : a - b; };
  // The heaps are further apart than these blocks of one heap.
  for (const char* block : {dirty, aligned}) {
    EXPECT_EQ(distance(block, on_device) < (1 << 20), by_default);
    EXPECT_EQ(distance(block, on_host) < (1 << 20), !by_default);
  }
  expect_success(hipMemset(on_device.data(), 1, 1));
  if (by_default) expect_success(hipMemset(dirty, 0x55, 5000));
  shmem_free(aligned);
  shmem_free(dirty);
  auto* zeros = static_cast<char*>(shmem_calloc(50, 100));
  std::vector<char> got(5000, 1);
  expect_success(hipMemcpy(got.data(), zeros, 5000, hipMemcpyDefault));
  expect_all("calloc", got.data(), 5000, char{0});
  shmem_free(zeros);
}

TEST(DeviceHeap, ReallocKeepsWhatFits) {
  auto* block = static_cast<long*>(shmem_malloc_with_hints(8 * 100, SHMEMX_MALLOC_DEVICE));
  void* behind = shmem_malloc_with_hints(64, SHMEMX_MALLOC_DEVICE);  // so that it must move
  const std::vector<long> values = samples<long>(100, my_pe());
  expect_success(hipMemcpy(block, values.data(), 800, hipMemcpyDefault));
  block = static_cast<long*>(shmem_realloc(block, 8 * 5000));
  ASSERT_NE(block, nullptr);
  std::vector<long> got(100);
  expect_success(hipMemcpy(got.data(), block, 800, hipMemcpyDefault));
  EXPECT_EQ(got, values);
  shmem_free(behind);
  shmem_free(block);
}

// PEs have the devices in turn.
bool kernels_reach(int pe) {
  int devices = 1, can = 1;
  expect_success(hipGetDeviceCount(&devices));
  const int mine = my_pe() % devices, theirs = pe % devices;
  if (mine != theirs) expect_success(hipDeviceCanAccessPeer(&can, mine, theirs));
  return can;
}

TEST(DeviceHeap, PtrAndAccessibleKnowIt) {
  PlacedArray<long> word(Place::device, 1);
  EXPECT_EQ(shmem_ptr(word, my_pe()), word.data());
  for (int pe = 0; pe < n_pes(); ++pe) {
    EXPECT_EQ(shmem_addr_accessible(word, pe), 1);
    auto* there = static_cast<long*>(shmem_ptr(word, pe));
    ASSERT_EQ(there != nullptr, kernels_reach(pe));
    const long value = my_pe() * 100 + pe;
    if (pe != next_pe()) continue;
    if (there) {
      expect_success(hipMemcpy(there, &value, sizeof value, hipMemcpyDefault));
    } else {
      shmem_long_p(word, value, pe);
    }
  }
  shmem_barrier_all();
  EXPECT_EQ(word.read_first(), previous_pe() * 100 + my_pe());
  EXPECT_EQ(shmem_ptr(word, n_pes()), nullptr);
  shmem_barrier_all();
}

TEST(Buffers, PartsOfOneAllocationAreSymmetricApart) {
  char* memory = nullptr;
  expect_success(hipMalloc(&memory, 1 << 16));
  // At another offset on each PE.
  char* one = memory + 256 * my_pe();
  char* other = memory + 30000;
  EXPECT_EQ(shmemx_buffer_register(one, 1024), 0);
  EXPECT_EQ(shmemx_buffer_register(other, 1000), 0);
  const std::vector<char> values = samples<char>(1000, my_pe());
  shmem_putmem(one + 24, values.data(), 1000, next_pe());
  shmem_barrier_all();
  shmem_putmem(other, one + 24, 1000, next_pe());
  shmem_barrier_all();
  std::vector<char> got(1000);
  expect_success(hipMemcpy(got.data(), other, 1000, hipMemcpyDefault));
  expect_filled("twice put", got.data(), 1000, previous_pe(2));
  EXPECT_EQ(shmemx_buffer_unregister(one), 0);
  EXPECT_NE(shmemx_buffer_unregister(one), 0);
  EXPECT_EQ(shmem_addr_accessible(one, next_pe()), 0);
  EXPECT_EQ(shmemx_buffer_unregister(other), 0);
  expect_success(hipFree(memory));
}

TEST(Buffers, MemoryThatCannotBeSharedIsRefusedOnAllPes) {
  std::vector<char> host(4096);
  EXPECT_NE(shmemx_buffer_register(host.data(), host.size()), 0);
  void* device = nullptr;
  expect_success(hipMalloc(&device, 4096));
  void* mine = my_pe() == n_pes() - 1 ? static_cast<void*>(host.data()) : device;
  EXPECT_NE(shmemx_buffer_register(mine, 4096), 0) << "one PE's is host memory";
  const size_t length = my_pe() == n_pes() - 1 && n_pes() > 1 ? 64 : 128;
  const bool is_alike = n_pes() == 1;
  EXPECT_EQ(shmemx_buffer_register(device, length) == 0, is_alike) << "different lengths";
  EXPECT_EQ(shmemx_buffer_unregister(device) == 0, is_alike);
  EXPECT_EQ(shmem_addr_accessible(device, 0), 0);
  expect_success(hipFree(device));
  PlacedArray<long> symmetric(Place::device, 8);
  EXPECT_EQ(shmemx_buffer_register(symmetric, 64), 0);
  EXPECT_EQ(shmemx_buffer_unregister(symmetric), 0);
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
