// SPDX-License-Identifier: Apache-2.0
//
// Tests which of the host's operations on device memory take a kernel. Small puts and signals take
// no kernel where the device says that the host may store there, and atomics always take one. No
// store overtakes work that a stream still has.
// Invariant: without a large BAR the same counts are not 0, so they prove something. On the cpu
// target only, whose runtime counts kernels.
#include <hip/on_cpu/for_meshmem.h>

#include <functional>

#include "placed_array.hpp"

namespace meshmem {
namespace {

bool stores_by_host() {
  const char* wish = std::getenv("MESHMEM_LARGE_BAR");
  return hip_on_cpu::has_large_bar() && !(wish && std::string_view(wish) == "0");
}

uint64_t kernels_of(const std::function<void()>& call) {
  const uint64_t before = hip_on_cpu::kernels_submitted();
  call();
  shmem_quiet();
  return hip_on_cpu::kernels_submitted() - before;
}

// Copies take no kernel; so only the result tells of a long transfer.
void expect_kernels_without_host_stores(const std::function<void()>& call) {
  const uint64_t n = kernels_of(call);
  if (stores_by_host())
    EXPECT_EQ(n, 0u);
  else
    EXPECT_GT(n, 0u);
}

TEST(HostStores, ElementsAndSignalsTakeNoKernel) {
  PlacedArray<long> word(Place::device, 1);
  PlacedArray<uint64_t> sig(Place::device, 1);
  word.write({0});
  sig.write({0});
  shmem_barrier_all();
  expect_kernels_without_host_stores([&] { shmem_long_p(word, 1L << 40 | my_pe(), next_pe()); });
  expect_kernels_without_host_stores([&] { shmem_signal_set(sig, uint64_t{1} << 63, next_pe()); });
  shmem_barrier_all();
  EXPECT_EQ(word.read_first(), 1L << 40 | previous_pe());
  EXPECT_EQ(sig.read_first(), uint64_t{1} << 63);
  shmem_barrier_all();
  const long value = -my_pe();
  expect_kernels_without_host_stores(
      [&] { shmem_long_put_signal(word, &value, 1, sig, 7, SHMEM_SIGNAL_SET, next_pe()); });
  shmem_barrier_all();
  EXPECT_EQ(word.read_first(), -previous_pe());
  EXPECT_EQ(sig.read_first(), 7u);
  shmem_barrier_all();
}

TEST(HostStores, RunsOfEveryLengthArriveWhole) {
  constexpr size_t kMost = 4097;
  PlacedArray<uint8_t> dest(Place::device, kMost + 8);
  for (const size_t n : {1u, 2u, 3u, 4u, 7u, 8u, 16u, 63u, 4095u, 4096u, 4097u}) {
    for (const size_t at : {0u, 1u, 7u}) {
      dest.write(std::vector<uint8_t>(dest.size(), 0xee));
      shmem_barrier_all();
      const std::vector<uint8_t> values = samples<uint8_t>(n, my_pe(), static_cast<int>(n));
      EXPECT_EQ(kernels_of([&] { shmem_putmem(dest + at, values.data(), n, next_pe()); }) == 0,
                stores_by_host() || at % n != 0 || n > 8 || n == 3 || n == 7)
          << n << " at " << at;
      shmem_barrier_all();
      const std::vector<uint8_t> got = dest.read();
      const std::vector<uint8_t> sent = samples<uint8_t>(n, previous_pe(), static_cast<int>(n));
      for (size_t i = 0; i < got.size(); ++i)
        ASSERT_EQ(got[i], i >= at && i < at + n ? sent[i - at] : 0xee) << n << " at " << at;
      shmem_barrier_all();
    }
  }
}

TEST(HostStores, AtomicsAndAddedSignalsStayKernels) {
  PlacedArray<uint64_t> word(Place::device, 1);
  word.write({0});
  shmem_barrier_all();
  EXPECT_GT(kernels_of([&] { shmem_signal_add(word, 2, next_pe()); }), 0u);
  EXPECT_GT(kernels_of([&] { shmem_uint64_atomic_add(word, 3, next_pe()); }), 0u);
  shmem_barrier_all();
  EXPECT_EQ(word.read_first(), 5u);
  shmem_barrier_all();
  EXPECT_GT(kernels_of([&] { shmem_uint64_atomic_set(word, 9, next_pe()); }), 0u);
  shmem_barrier_all();
  EXPECT_EQ(word.read_first(), 9u);
  shmem_barrier_all();
}

// The caches of a device do not see the host's stores into memory that is not coherent, and nobody
// can tell whether a buffer of the program is coherent.
TEST(HostStores, RegisteredBuffersAreLeftToKernels) {
  PlacedArray<long> word(Place::registered, 1);
  word.write({0});
  shmem_barrier_all();
  EXPECT_GT(kernels_of([&] { shmem_long_p(word, my_pe() + 1, next_pe()); }), 0u);
  shmem_barrier_all();
  EXPECT_EQ(word.read_first(), previous_pe() + 1);
}

// Data of this length is copied, but its signal is stored. The receiver's stream is idle, so the
// receiver looks at once.
TEST(HostStores, ASignalFollowsTheCopyOfItsData) {
  constexpr size_t kBusy = 6 << 20;
  PlacedArray<char> source(Place::device, kBusy), dest(Place::device, kBusy);
  PlacedArray<uint64_t> sig(Place::device, 1);
  sig.write({0});
  dest.write(std::vector<char>(kBusy, 0));
  for (uint64_t round = 1; round <= 10; ++round) {
    const int sender = static_cast<int>(round) % n_pes();
    source.write(std::vector<char>(kBusy, static_cast<char>(round)));
    shmem_barrier_all();
    if (my_pe() == sender)
      shmem_putmem_signal_nbi(dest, source, kBusy, sig, round, SHMEM_SIGNAL_SET, next_pe());
    if (previous_pe() == sender) {
      shmem_signal_wait_until(sig, SHMEM_CMP_EQ, round);
      char last = 0;  // only the last byte, since reading all would take as long as the copy
      expect_success(hipMemcpy(&last, dest + kBusy - 1, 1, hipMemcpyDefault));
      EXPECT_EQ(last, static_cast<char>(round));
    }
  }
  shmem_barrier_all();
}

// Without a fence between them, which is more than the standard promises.
TEST(HostStores, AKernelFindsWhatTheProcessorStoredBefore) {
  PlacedArray<long> word(Place::device, 1);
  for (long value = 1; value <= 50; ++value) {
    shmem_long_p(word, value, my_pe());
    EXPECT_EQ(shmem_long_g(word, my_pe()), value);
    shmem_long_atomic_add(word, 1000, my_pe());
    shmem_long_p(word, -value, my_pe());
    EXPECT_EQ(shmem_long_g(word, my_pe()), -value);
  }
}

TEST(HostStores, TheProcessorGetsAPointerOnlyWhereItMayStore) {
  PlacedArray<long> word(Place::device, 1), on_host(Place::host, 1);
  word.write({0});
  shmem_barrier_all();
  EXPECT_EQ(shmemx_host_ptr(on_host, next_pe()), shmem_ptr(on_host, next_pe()));
  EXPECT_EQ(shmemx_host_ptr(on_host, n_pes()), nullptr);
  const long unknown = 0;
  EXPECT_EQ(shmemx_host_ptr(&unknown, next_pe()), nullptr);
  auto* const there = static_cast<long*>(shmemx_host_ptr(word, next_pe()));
  EXPECT_EQ(there != nullptr, stores_by_host());
  if (there) *there = 100 + my_pe();
  shmem_barrier_all();
  EXPECT_EQ(word.read_first(), there ? 100 + previous_pe() : 0);
  shmem_barrier_all();
}

}  // namespace
}  // namespace meshmem
