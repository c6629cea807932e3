// SPDX-License-Identifier: Apache-2.0
//
// Buffers that the program has registered, as kernels find them: in a table, a row for each. And
// those that cannot be registered.
// Invariant: a kernel may run, with rows in its caches, while the host registers and unregisters
// other buffers; so the rows of those that stay are never written.
#include <limits>

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

// ---- Refusals: the same on all PEs, and nothing has changed

void expect_refused(const char* what, void* address, size_t bytes) {
  SCOPED_TRACE(what);
  EXPECT_NE(shmemx_buffer_register(address, bytes), 0);
  EXPECT_NE(shmemx_buffer_unregister(address), 0);
}

class Allocation {
 public:
  static constexpr size_t kBytes = 1 << 16;

  Allocation() { must(hipMalloc(&data_, kBytes), "hipMalloc"); }
  ~Allocation() { must(hipFree(data_), "hipFree"); }
  Allocation(const Allocation&) = delete;
  Allocation& operator=(const Allocation&) = delete;

  operator char*() const { return data_; }

 private:
  char* data_ = nullptr;
};

TEST(RegisteredBuffers, AreNotEmptyNorMemoryThatIsNoAllocationOfTheDevice) {
  const Allocation device;
  std::vector<char> host(4096);
  char local[64];
  expect_refused("null", nullptr, 64);
  expect_refused("null and empty", nullptr, 0);
  expect_refused("empty", device, 0);
  expect_refused("host memory", host.data(), host.size());
  expect_refused("the stack", local, sizeof local);
  expect_refused("beyond the allocation", device, std::numeric_limits<size_t>::max());
  expect_refused("beyond all addresses", reinterpret_cast<void*>(~uintptr_t{7}), 64);
  expect_refused("null on one PE", my_pe() == 0 ? nullptr : device + 0, 64);
  const bool alone = n_pes() == 1;
  if (!alone) expect_refused("empty on one PE", device, my_pe() == 0 ? 0 : 64);
  EXPECT_EQ(shmemx_reached_on_stream(device, 1), 0);
  EXPECT_EQ(shmemx_buffer_register(device, 64), 0);
  EXPECT_EQ(shmemx_reached_on_stream(device, 64), 1);
  EXPECT_EQ(shmemx_reached_on_stream(device, 65), 0);
  EXPECT_EQ(shmemx_buffer_unregister(device), 0);
}

TEST(RegisteredBuffers, AreOfThePesOwnDevice) {
  int devices = 0, own = 0;
  must(hipGetDeviceCount(&devices), "hipGetDeviceCount");
  must(hipGetDevice(&own), "hipGetDevice");
  if (agreed(static_cast<uint64_t>(devices)) < 2) GTEST_SKIP() << "there is one device";
  char* elsewhere = nullptr;
  must(hipSetDevice((own + 1) % devices), "hipSetDevice");
  must(hipMalloc(&elsewhere, 4096), "hipMalloc on another device");
  must(hipSetDevice(own), "hipSetDevice");
  expect_refused("of another device", elsewhere, 4096);
  const Allocation here;
  if (n_pes() > 1)
    expect_refused("of another device on one PE", my_pe() == 0 ? elsewhere : here + 0, 4096);
  must(hipFree(elsewhere), "hipFree");
}

TEST(RegisteredBuffers, AreNoMoreThanThereIsRoomFor) {
  constexpr int kRoom = 256;  // docs/limits.md
  constexpr size_t kEach = 64;
  if (n_pes() > 3) GTEST_SKIP() << "each takes a meeting of all PEs";
  const Allocation device;
  const auto buffer = [&](int number) { return device + static_cast<size_t>(number) * kEach; };
  for (int i = 0; i < kRoom; ++i) ASSERT_EQ(shmemx_buffer_register(buffer(i), kEach), 0) << i;
  expect_refused("one more", buffer(kRoom), kEach);
  EXPECT_EQ(shmemx_buffer_unregister(buffer(100)), 0);
  EXPECT_EQ(shmemx_buffer_register(buffer(kRoom), kEach), 0);
  expect_refused("again one more", buffer(100), kEach);
  for (int i = 0; i <= kRoom; ++i) {
    if (i != 100) {
      ASSERT_EQ(shmemx_buffer_unregister(buffer(i)), 0) << i;
    }
  }
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

// At another distance from a multiple of 16 bytes, too: no PE may take another's address for as
// even as its own.
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
