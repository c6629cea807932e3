// SPDX-License-Identifier: Apache-2.0
//
// A running kernel waits for puts of hosts, element by element or in small runs: by stores of the
// processor where it may, else by kernels and copies.
// Invariant: in each round the kernel checks data that the round before cannot have left, and
// answers before the next one.
#include "own_stream.hpp"

namespace meshmem {
namespace {

__host__ __device__ long value_of(int pe, int round, size_t i) {
  return (1L << 40) * (pe + 1) + 1000L * round + static_cast<long>(i);
}

__global__ void check_rounds(const long* data, uint64_t* arrived, uint64_t* answer, int* n_wrong,
                             size_t n, int n_rounds, int from) {
  for (int round = 1; round <= n_rounds; ++round) {
    shmemx_signal_wait_until_block(arrived, SHMEM_CMP_EQ, static_cast<uint64_t>(round));
    for (size_t i = threadIdx.x; i < n; i += blockDim.x) {
      if (data[i] != value_of(from, round, i)) atomicAdd(n_wrong, 1);
    }
    __syncthreads();
    if (threadIdx.x == 0) shmem_signal_set(answer, static_cast<uint64_t>(round), from);
  }
}

// put(data, values, n, arrived, round) to the next PE.
template <typename Put>
void check_puts(size_t n, const Put& put) {
  SCOPED_TRACE(n);
  DeviceArray<long> data(n, -1);
  DeviceArray<uint64_t> arrived(1, 0), answer(1, 0);
  DeviceArray<int> n_wrong(1, 0);
  shmem_barrier_all();
  const OwnStream stream;
  const int n_rounds = rounds(40);
  launch_on(stream, check_rounds, 1, 64, data.data(), arrived.data(), answer.data(), n_wrong.data(),
            n, n_rounds, previous_pe());
  std::vector<long> values(n);
  for (int round = 1; round <= n_rounds; ++round) {
    for (size_t i = 0; i < n; ++i) values[i] = value_of(my_pe(), round, i);
    put(data.data(), values.data(), n, arrived.data(), static_cast<uint64_t>(round));
    shmem_signal_wait_until(answer.data(), SHMEM_CMP_EQ, static_cast<uint64_t>(round));
  }
  stream.synchronize();
  EXPECT_EQ(n_wrong.first(), 0);
  shmem_barrier_all();
}

constexpr size_t kPage = 4096 / sizeof(long);  // from there on it is a copy

TEST(HostStores, ASignalFollowsItsData) {
  for (const size_t n : {size_t{1}, size_t{5}, kPage, kPage + 1}) {
    check_puts(n, [](long* data, long* values, size_t count, uint64_t* arrived, uint64_t round) {
      shmem_long_put_signal(data, values, count, arrived, round, SHMEM_SIGNAL_SET, next_pe());
    });
  }
}

TEST(HostStores, AFenceOrdersElements) {
  check_puts(7, [](long* data, long* values, size_t count, uint64_t* arrived, uint64_t round) {
    for (size_t i = 0; i < count; ++i) shmem_long_p(data + i, values[i], next_pe());
    shmem_fence();
    shmem_uint64_p(arrived, round, next_pe());
  });
}

// A put that a stream holds, and a store that follows it.
TEST(HostStores, AFenceOrdersACopyBeforeAnElement) {
  check_puts(2 * kPage,
             [](long* data, long* values, size_t count, uint64_t* arrived, uint64_t round) {
               shmem_long_put_nbi(data, values, count, next_pe());
               shmem_fence();
               shmem_uint64_p(arrived, round, next_pe());
             });
}

}  // namespace
}  // namespace meshmem
