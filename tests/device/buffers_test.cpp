// SPDX-License-Identifier: Apache-2.0
//
// Buffers that the program has registered, as kernels find them: in a table, a row for each.
// Invariant: a kernel may run, with rows in its caches, while the host registers and unregisters
// other buffers; so the rows of those that stay are never written.
#include "device_array.hpp"

namespace meshmem {
namespace {

constexpr size_t kElems = 100;
constexpr int kNowhere = -1;

__global__ void find_row(const void* address, int* row) {
  const device::State& job = device::state();
  *row = kNowhere;
  for (int i = 0; i < job.n_registered; ++i) {
    const device::RegisteredBuffer& buffer = job.registered[i];
    if (reinterpret_cast<uintptr_t>(address) - buffer.base < buffer.bytes) *row = i;
  }
}

__global__ void put(long* dest, const long* source, int pe) {
  shmemx_long_put_block(dest, source, kElems, pe);
}

class Registered {
 public:
  Registered() {
    must(hipMalloc(&data_, kElems * sizeof(long)), "hipMalloc");
    enter();
  }
  ~Registered() {
    if (is_in_) leave();
    must(hipFree(data_), "hipFree");
  }
  Registered(const Registered&) = delete;
  Registered& operator=(const Registered&) = delete;

  void enter() {
    EXPECT_EQ(shmemx_buffer_register(data_, kElems * sizeof(long)), 0);
    is_in_ = true;
  }
  void leave() {
    EXPECT_EQ(shmemx_buffer_unregister(data_), 0);
    is_in_ = false;
  }

  int row() const {
    DeviceArray<int> row(1);
    launch(find_row, 1, 1, data_ + kElems - 1, row.data());
    return row.first();
  }
  // By a kernel of the PE before.
  void expect_put(int round) {
    DeviceArray<long> source(samples<long>(kElems, my_pe(), round));
    shmem_barrier_all();
    launch(put, 1, 64, data_, source.data(), next_pe());
    meet_after_kernels();
    expect_equal("put", download(data_, kElems), samples<long>(kElems, previous_pe(), round));
    shmem_barrier_all();
  }

 private:
  long* data_ = nullptr;
  bool is_in_ = false;
};

TEST(RegisteredBuffers, KeepTheirRowWhileOthersComeAndGo) {
  Registered first, second, third;
  const int row_of_second = second.row(), row_of_third = third.row();
  first.leave();
  EXPECT_EQ(first.row(), kNowhere);
  EXPECT_EQ(second.row(), row_of_second);
  EXPECT_EQ(third.row(), row_of_third);
  second.leave();
  EXPECT_EQ(second.row(), kNowhere);
  first.enter();
  EXPECT_EQ(third.row(), row_of_third);
}

TEST(RegisteredBuffers, DoNotOverlap) {
  char* data = nullptr;
  must(hipMalloc(&data, 4096), "hipMalloc");
  ASSERT_EQ(shmemx_buffer_register(data + 512, 1024), 0);
  EXPECT_EQ(shmemx_buffer_register(data + 512, 1024), 0);  // symmetric already
  EXPECT_EQ(shmemx_buffer_register(data + 600, 8), 0);
  EXPECT_NE(shmemx_buffer_register(data, 1024), 0);
  EXPECT_NE(shmemx_buffer_register(data + 512, 2048), 0);
  EXPECT_NE(shmemx_buffer_register(data, 4096), 0);
  EXPECT_EQ(shmemx_buffer_register(data + 2048, 1024), 0);
  EXPECT_EQ(shmemx_buffer_unregister(data + 2048), 0);
  EXPECT_EQ(shmemx_buffer_unregister(data + 512), 0);
  EXPECT_EQ(shmemx_buffer_register(data, 4096), 0);
  EXPECT_EQ(shmemx_buffer_unregister(data), 0);
  must(hipFree(data), "hipFree");
}

TEST(RegisteredBuffers, LeaveByTheirFirstAddressOnAllPes) {
  char* data = nullptr;
  must(hipMalloc(&data, 1024), "hipMalloc");
  ASSERT_EQ(shmemx_buffer_register(data, 1024), 0);
  EXPECT_NE(shmemx_buffer_unregister(data + 8), 0);
  if (n_pes() > 1) {
    EXPECT_NE(shmemx_buffer_unregister(my_pe() == 0 ? data : data + 8), 0);
  }
  EXPECT_EQ(shmemx_buffer_unregister(data), 0);
  EXPECT_NE(shmemx_buffer_unregister(data), 0);
  must(hipFree(data), "hipFree");
}

TEST(RegisteredBuffers, AreReachedInRowsThatOthersHaveLeft) {
  Registered first, second, third;
  first.leave();
  second.expect_put(1);
  third.expect_put(2);
  Registered fourth;
  fourth.expect_put(3);
  third.leave();
  fourth.leave();
  third.enter();
  second.expect_put(4);
  third.expect_put(5);
}

// At another distance from a multiple of 16 bytes, too: no PE may take another's address for as even as its own.
TEST(RegisteredBuffers, MayBeginElsewhereInEachPe) {
  constexpr size_t kCount = 3001, kRoom = kCount + 8;
  float *source = nullptr, *dest = nullptr;
  must(hipMalloc(&source, kRoom * sizeof(float)), "hipMalloc");
  must(hipMalloc(&dest, kRoom * sizeof(float)), "hipMalloc");
  float* const mine = source + my_pe() % 4;
  float* const sum = dest + (my_pe() + 1) % 4;
  ASSERT_EQ(shmemx_buffer_register(mine, kCount * sizeof(float)), 0);
  ASSERT_EQ(shmemx_buffer_register(sum, kCount * sizeof(float)), 0);
  std::vector<float> values(kCount), expected(kCount);
  for (size_t i = 0; i < kCount; ++i) {
    values[i] = static_cast<float>(i % 50 + static_cast<size_t>(my_pe()));
    for (int pe = 0; pe < n_pes(); ++pe)
      expected[i] += static_cast<float>(i % 50 + static_cast<size_t>(pe));
  }
  must(hipMemcpy(mine, values.data(), kCount * sizeof(float), hipMemcpyHostToDevice), "hipMemcpy");
  for (const char* plan :
       {"pull 2 64", "direct 2 64", "ring 2 64", "two_shot 2 64", "one_shot 2 64"}) {
    SCOPED_TRACE(plan);
    must(hipMemset(dest, 0, kRoom * sizeof(float)), "hipMemset");
    must(hipDeviceSynchronize(), "hipDeviceSynchronize");
    ASSERT_EQ(shmemx_reduce_plan(plan), 0);
    shmem_barrier_all();
    EXPECT_EQ(shmem_float_sum_reduce(SHMEM_TEAM_WORLD, sum, mine, kCount), 0);
    expect_equal("sum", download(sum, kCount), expected);
    shmem_barrier_all();
  }
  ASSERT_EQ(shmemx_reduce_plan(nullptr), 0);
  EXPECT_EQ(shmemx_buffer_unregister(sum), 0);
  EXPECT_EQ(shmemx_buffer_unregister(mine), 0);
  must(hipFree(dest), "hipFree");
  must(hipFree(source), "hipFree");
}

}  // namespace
}  // namespace meshmem
