// SPDX-License-Identifier: Apache-2.0
//
// Signaling: put with a signal in all types and forms, signal_add, signal_set, signal_fetch and
// signal_wait_until. Invariant: a receiver reads the data as soon as it has seen the signal, with
// no other synchronization between.
#include <vector>

#include "symmetric_array.hpp"
#include "typed_routines.hpp"

namespace meshmem {
namespace {

constexpr size_t kElems = 37;

uint64_t static_signal;
alignas(16) std::byte static_dest[kElems * sizeof(meshmem_bits128)];

// Sends n elements to the next PE with a signal, and waits for those of the previous one.
template <typename E, typename PutSignal>
void exchange(const PutSignal& put_signal, E* dest, uint64_t* signal, size_t n, int round) {
  std::vector<E> source(kElems);
  fill(source.data(), kElems, my_pe(), round);
  fill(dest, kElems, my_pe(), round + 1000);
  *signal = 0;
  shmem_barrier_all();
  const auto news = static_cast<uint64_t>(round) << 33 | 1;
  put_signal(dest, source.data(), n, signal, news, SHMEM_SIGNAL_SET, next_pe());
  EXPECT_EQ(shmem_signal_wait_until(signal, SHMEM_CMP_NE, 0), news);
  expect_filled("put_signal", dest, n, previous_pe(), round);
  if (n < kElems) {
    EXPECT_TRUE(same(dest[n], sample<E>(seed_of(my_pe(), n, round + 1000))));
  }
  shmem_barrier_all();
}

TEST(PutSignal, S43_DataIsThereWhenTheSignalIs) {
  SymmetricArray<uint64_t> signal(1);
  for_each_rma([&](const auto& row) {
    SCOPED_TRACE(row.type);
    using E = typename std::decay_t<decltype(row)>::Element;
    SymmetricArray<E> dest(kElems);
    int round = 0;
    for (size_t n : {size_t{1}, size_t{2}, size_t{9}, kElems}) {
      exchange<E>(row.put_signal, dest, signal, n, ++round);
      exchange<E>(row.put_signal_nbi, dest, signal, n, ++round);
    }
  });
}

TEST(PutSignal, S9_MixesHeapAndStaticMemory) {
  SymmetricArray<uint64_t> signal(1);
  for_each_rma([&](const auto& row) {
    SCOPED_TRACE(row.type);
    using E = typename std::decay_t<decltype(row)>::Element;
    SymmetricArray<E> heap(kElems);
    E* global = reinterpret_cast<E*>(static_dest);
    exchange<E>(row.put_signal, heap, &static_signal, 5, 1);
    exchange<E>(row.put_signal, global, signal, 5, 2);
    exchange<E>(row.put_signal_nbi, global, &static_signal, 5, 3);
  });
}

TEST(PutSignal, S43_ZeroLengthUpdatesTheSignal) {
  SymmetricArray<uint64_t> signal(1);
  SymmetricArray<long> dest(1);
  signal[0] = 0;
  dest[0] = 11;
  shmem_barrier_all();
  uint64_t expected = 0;
  const long source = 12;
  for_each_rma([&](const auto& row) {
    SCOPED_TRACE(row.type);
    row.put_signal(nullptr, nullptr, 0, signal, 1, SHMEM_SIGNAL_ADD, next_pe());
    row.put_signal_nbi(nullptr, nullptr, 0, signal, 1, SHMEM_SIGNAL_ADD, next_pe());
    expected += 2;
    shmem_signal_wait_until(signal, SHMEM_CMP_GE, expected);
  });
  shmem_long_put_signal(dest, &source, 0, signal, 1, SHMEM_SIGNAL_ADD, next_pe());
  shmem_barrier_all();
  EXPECT_EQ(signal[0], expected + 1);
  EXPECT_EQ(dest[0], 11);
}

TEST(PutSignal, S44_AddsOfAllPesAddUp) {
  const auto size = static_cast<size_t>(n_pes());
  SymmetricArray<uint64_t> signal(1);
  SymmetricArray<int> dest(size);
  signal[0] = 0;
  shmem_barrier_all();
  for (int pe = 0; pe < n_pes(); ++pe) {
    const int value = 100 * my_pe() + pe;
    shmem_int_put_signal(&dest[static_cast<size_t>(my_pe())], &value, 1, signal, uint64_t{1} << 40,
                         SHMEM_SIGNAL_ADD, pe);
  }
  const uint64_t all = static_cast<uint64_t>(n_pes()) << 40;
  EXPECT_EQ(shmem_signal_wait_until(signal, SHMEM_CMP_EQ, all), all);
  expect_each("dest", dest.data(), size,
              [](size_t pe) { return 100 * static_cast<int>(pe) + my_pe(); });
}

TEST(Signal, S44_AddAndSetReachTheTarget) {
  SymmetricArray<uint64_t> heap(1);
  for (uint64_t* signal : {heap.data(), &static_signal}) {
    *signal = 0;
    shmem_barrier_all();
    const uint64_t value = sample<uint64_t>(seed_of(my_pe(), 1));
    shmem_signal_set(signal, value, next_pe());
    const uint64_t received = sample<uint64_t>(seed_of(previous_pe(), 1));
    EXPECT_EQ(shmem_signal_wait_until(signal, SHMEM_CMP_EQ, received), received);
    shmem_barrier_all();
    for (int pe = 0; pe < n_pes(); ++pe) shmem_signal_add(signal, 3, pe);
    const uint64_t sum = received + 3 * static_cast<uint64_t>(n_pes());
    EXPECT_EQ(shmem_signal_wait_until(signal, SHMEM_CMP_EQ, sum), sum);
    EXPECT_EQ(shmem_signal_fetch(signal), sum);
    shmem_barrier_all();
  }
}

// Fetch reads the caller's own signal, whatever the others have.
TEST(Signal, S44_FetchIsLocal) {
  SymmetricArray<uint64_t> signal(1);
  signal[0] = 500 + static_cast<uint64_t>(my_pe());
  shmem_barrier_all();
  EXPECT_EQ(shmem_signal_fetch(signal), 500 + static_cast<uint64_t>(my_pe()));
}

TEST(Signal, S44_WaitReturnsTheValueThatSatisfiedIt) {
  SymmetricArray<uint64_t> signal(1);
  signal[0] = 0;
  shmem_barrier_all();
  constexpr uint64_t kUpdates = 500;
  uint64_t seen = 0;
  if (my_pe() == 0) {
    for (uint64_t i = 1; i <= kUpdates; ++i) shmem_signal_set(signal, i, n_pes() - 1);
  }
  if (my_pe() == n_pes() - 1) {
    while (seen < kUpdates) {
      const uint64_t now = shmem_signal_wait_until(signal, SHMEM_CMP_GT, seen);
      EXPECT_GT(now, seen) << "a value that does not satisfy the condition";
      if (now <= seen) break;
      seen = now;
    }
    EXPECT_EQ(seen, kUpdates);
  }
}

TEST(Signal, S44_ComparesUnsigned) {
  SymmetricArray<uint64_t> signal(1);
  signal[0] = ~uint64_t{0} - 1;
  EXPECT_EQ(shmem_signal_wait_until(signal, SHMEM_CMP_GT, 5), ~uint64_t{0} - 1);
  EXPECT_EQ(shmem_signal_wait_until(signal, SHMEM_CMP_GE, uint64_t{1} << 63), ~uint64_t{0} - 1);
  EXPECT_EQ(shmem_signal_wait_until(signal, SHMEM_CMP_LT, ~uint64_t{0}), ~uint64_t{0} - 1);
  EXPECT_EQ(shmem_signal_wait_until(signal, SHMEM_CMP_LE, ~uint64_t{0} - 1), ~uint64_t{0} - 1);
}

TEST(Signal, S41_CountsAllAdditions) {
  SymmetricArray<uint64_t> signal(1);
  signal[0] = 0;
  shmem_barrier_all();
  for (int i = 0; i < 500; ++i) shmem_signal_add(signal, 1, 0);
  if (my_pe() == 0) {
    const uint64_t all = 500 * static_cast<uint64_t>(n_pes());
    EXPECT_EQ(shmem_signal_wait_until(signal, SHMEM_CMP_GE, all), all);
  }
}

}  // namespace
}  // namespace meshmem
