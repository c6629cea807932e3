// SPDX-License-Identifier: Apache-2.0
//
// Work that is still on a stream when an object that it uses is to go: memory, a team, an
// AllReduce.
// Invariant: the stream waits for a signal that comes late, so that the work is there when the
// host's call begins; the call returns when it is over.
#include <chrono>
#include <meshmem/allreduce.hpp>
#include <thread>

#include "own_stream.hpp"

namespace meshmem {
namespace {

constexpr size_t kCount = 20000;

// Work on the stream that is submitted after it was made waits for a tenth of a second.
class LateStream {
 public:
  LateStream() {
    shmemx_signal_wait_until_on_stream(signal_.data(), SHMEM_CMP_EQ, 1, stream_);
    late_ = std::thread([signal = signal_.data(), device = device_] {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      const uint64_t one = 1;
      must(hipSetDevice(device), "hipSetDevice");
      must(hipMemcpy(signal, &one, sizeof one, hipMemcpyHostToDevice), "hipMemcpy");
    });
  }
  ~LateStream() {
    late_.join();
    stream_.synchronize();
  }
  LateStream(const LateStream&) = delete;
  LateStream& operator=(const LateStream&) = delete;

  operator hipStream_t() const { return stream_; }
  bool is_at_work() const { return hipStreamQuery(stream_) == hipErrorNotReady; }
  void synchronize() const { stream_.synchronize(); }

 private:
  static int current_device() {
    int device = 0;
    must(hipGetDevice(&device), "hipGetDevice");
    return device;
  }

  int device_ = current_device();
  DeviceArray<uint64_t> signal_{1, 0};
  OwnStream stream_;
  std::thread late_;
};

// Memory that is taken right after something like it was given back stays as the host fills it.
void expect_untouched(const LateStream& stream) {
  EXPECT_FALSE(stream.is_at_work());
  const DeviceArray<float> next(kCount, 5);
  stream.synchronize();
  EXPECT_EQ(next.download(), std::vector<float>(kCount, 5));
}

TEST(PendingWork, IsOverBehindAMark) {
  DeviceArray<float> source(kCount, 1);
  auto* dest =
      static_cast<float*>(shmem_malloc_with_hints(kCount * sizeof(float), SHMEMX_MALLOC_DEVICE));
  shmem_barrier_all();
  const LateStream stream;
  shmemx_mark_t mark = nullptr;
  shmemx_stream_mark(&mark, stream);
  shmemx_float_sum_reduce_on_stream(SHMEM_TEAM_WORLD, dest, source.data(), kCount, stream);
  shmemx_stream_mark(&mark, stream);
  shmemx_stream_mark_wait(&mark);
  EXPECT_EQ(mark, nullptr);
  shmemx_stream_mark_wait(&mark);
  shmem_free(dest);
  expect_untouched(stream);
}

// Work on a stream of another team waits for another PE, which drops its AllReduce first.
TEST(PendingWork, OfOthersDoesNotHoldUpAnAllReduce) {
  DeviceArray<float> source(kCount, 1), dest(kCount, 0);
  shmem_team_t team = SHMEM_TEAM_INVALID;
  shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, n_pes(), nullptr, 0, &team);
  const OwnStream stream;
  const auto put = [&] {
    shmemx_float_sum_reduce_on_stream(team, dest.data(), source.data(), kCount, stream);
  };
  {
    AllReduce all(SHMEM_TEAM_WORLD, 4096);
    if (my_pe() == 0) put();
  }
  if (my_pe() != 0) put();
  stream.synchronize();
  shmem_team_destroy(team);
  EXPECT_EQ(dest.download(), std::vector<float>(kCount, static_cast<float>(n_pes())));
}

// Of memory and teams that the stream does not use the end waits for nothing.
TEST(PendingWork, HoldsUpNothingElse) {
  DeviceArray<uint64_t> signal(1, 0);
  void* block = shmem_malloc(64);
  shmem_team_t team = SHMEM_TEAM_INVALID;
  shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, n_pes(), nullptr, 0, &team);
  const OwnStream stream;
  shmemx_signal_wait_until_on_stream(signal.data(), SHMEM_CMP_EQ, 1, stream);
  shmem_free(block);
  shmem_team_destroy(team);
  shmem_signal_set(signal.data(), 1, my_pe());
  stream.synchronize();
}

TEST(PendingWork, IsOverWhenAnAllReduceIsDropped) {
  float* own = nullptr;
  must(hipMalloc(reinterpret_cast<void**>(&own), kCount * sizeof(float)), "hipMalloc");
  upload(own, std::vector<float>(kCount, 1));
  {
    const LateStream stream;
    {
      AllReduce all(SHMEM_TEAM_WORLD, kCount * sizeof(float) / 4);
      ASSERT_TRUE(all.status().ok()) << all.status().text();
      const Status done = all.execute(own, own, kCount, DataType::f32, ReduceOp::sum, stream);
      ASSERT_TRUE(done.ok()) << done.text();
    }
    expect_untouched(stream);
  }
  EXPECT_EQ(download(own, kCount), std::vector<float>(kCount, static_cast<float>(n_pes())));
  must(hipFree(own), "hipFree");
}

// The next team of the same members comes to the same place in the PEs' memory.
TEST(PendingWork, IsOverWhenItsTeamIsDestroyed) {
  DeviceArray<float> source(kCount, 1), dest(kCount, 0), next(kCount, 0);
  const OwnStream other;
  const auto split = [] {
    shmem_team_t team = SHMEM_TEAM_INVALID;
    shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, n_pes(), nullptr, 0, &team);
    return team;
  };
  const LateStream stream;
  const shmem_team_t first = split();
  for (int i = 0; i < 3; ++i)
    shmemx_float_sum_reduce_on_stream(first, dest.data(), source.data(), kCount, stream);
  shmem_team_destroy(first);
  EXPECT_FALSE(stream.is_at_work());
  const shmem_team_t second = split();
  shmemx_float_sum_reduce_on_stream(second, next.data(), source.data(), kCount, other);
  other.synchronize();
  shmem_team_destroy(second);
  const std::vector<float> sums(kCount, static_cast<float>(n_pes()));
  EXPECT_EQ(dest.download(), sums);
  EXPECT_EQ(next.download(), sums);
}

TEST(PendingWork, OfNothingNeedsNoMemory) {
  const OwnStream stream;
  EXPECT_EQ(shmemx_float_sum_reduce_on_stream(SHMEM_TEAM_WORLD, nullptr, nullptr, 0, stream), 0);
  EXPECT_EQ(shmemx_fcollectmem_on_stream(SHMEM_TEAM_WORLD, nullptr, nullptr, 0, stream), 0);
  EXPECT_EQ(shmemx_collectmem_on_stream(SHMEM_TEAM_WORLD, nullptr, nullptr, 0, stream), 0);
  EXPECT_EQ(shmemx_alltoallmem_on_stream(SHMEM_TEAM_WORLD, nullptr, nullptr, 0, stream), 0);
  EXPECT_EQ(shmemx_broadcastmem_on_stream(SHMEM_TEAM_WORLD, nullptr, nullptr, 0, 0, stream), 0);
  shmemx_putmem_on_stream(nullptr, nullptr, 0, 0, stream);
  shmemx_getmem_on_stream(nullptr, nullptr, 0, 0, stream);
  EXPECT_FALSE(AllReduce(SHMEM_TEAM_WORLD, SIZE_MAX).status().ok());
  AllReduce all(SHMEM_TEAM_WORLD, 0);
  EXPECT_TRUE(all.execute(nullptr, nullptr, 0, DataType::f32, ReduceOp::sum, stream).ok());
}

}  // namespace
}  // namespace meshmem
