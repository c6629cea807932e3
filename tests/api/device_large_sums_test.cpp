// SPDX-License-Identifier: Apache-2.0
//
// Host sums of device memory that take many messages between two nodes with one PE each. Each PE
// sends several large messages before it receives one, and the transport must let it.
// Invariant: the values are small whole numbers, whose sum is exact in any order.
#include "placed_array.hpp"

namespace meshmem {
namespace {

constexpr size_t kMiB = 1 << 20;

float term(int pe, size_t i) { return static_cast<float>((i + static_cast<size_t>(pe)) % 251); }

TEST(DeviceSums, OfManyMessagesAreRight) {
  // The first leaves the last chunk half empty.
  for (const size_t bytes : {9 * kMiB, 16 * kMiB}) {
    SCOPED_TRACE(bytes);
    const size_t n = bytes / sizeof(float);
    PlacedArray<float> dest(Place::device, n), source(Place::device, n);
    std::vector<float> mine(n);
    for (size_t i = 0; i < n; ++i) mine[i] = term(my_pe(), i);
    source.write(mine);
    shmem_barrier_all();
    EXPECT_EQ(shmem_float_sum_reduce(SHMEM_TEAM_WORLD, dest, source, n), 0);
    expect_each("sum", dest.read().data(), n, [](size_t i) {
      float sum = 0;
      for (int pe = 0; pe < n_pes(); ++pe) sum += term(pe, i);
      return sum;
    });
    shmem_barrier_all();
  }
}

}  // namespace
}  // namespace meshmem
