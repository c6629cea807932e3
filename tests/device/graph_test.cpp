// SPDX-License-Identifier: Apache-2.0
//
// Collectives, puts, signals and users' kernels in a graph that is replayed ten thousand times, and
// mixed with the same calls outside of graphs.
// Invariant: nothing that changes from round to round is passed by the host; a round's number is a
// word of the device, and all values follow from it.
#include <thread>

#include "forms.hpp"
#include "own_stream.hpp"

namespace meshmem {
namespace {

constexpr int kManyReplays = 10000;
constexpr size_t kElems = 50;
constexpr unsigned kThreads = 64;

__device__ uint64_t word_of(uint64_t round, int pe, size_t i) {
  return round * 10000 + static_cast<uint64_t>(pe) * 100 + i;
}
// Small, for sums of float to be exact.
__device__ float part_of(uint64_t round, int pe, size_t i) {
  return static_cast<float>(round % 1000 + static_cast<uint64_t>(pe) + i);
}

struct Space {
  uint64_t* round;
  uint64_t* errors;
  uint64_t* signal;
  uint64_t *message, *inbox;  // kElems
  float *part, *sum;          // kElems
  uint64_t *all, *exchanged;  // kElems of each PE
  uint64_t *got, *total;      // kElems
};

__device__ void expect(const Space& s, bool right) {
  if (!right) shmem_uint64_atomic_inc(s.errors, shmem_my_pe());
}

// Threads look at what others wrote.
#define MESHMEM_FOR_ELEMS(i) for (size_t i = threadIdx.x; i < kElems; i += blockDim.x)

__global__ void begin_kernel(Space s) {
  const uint64_t round = *s.round + 1;
  const int me = shmem_my_pe();
  MESHMEM_FOR_ELEMS(i) {
    s.message[i] = word_of(round, me, i);
    s.part[i] = part_of(round, me, i);
    s.sum[i] = -1;
  }
  __syncthreads();
  if (threadIdx.x == 0) *s.round = round;
}

__global__ void check_inbox_kernel(Space s) {
  const int n = shmem_n_pes(), previous = (shmem_my_pe() + n - 1) % n;
  MESHMEM_FOR_ELEMS(i) {
    expect(s, s.inbox[i] == word_of(*s.round, previous, i));
    s.inbox[i] = 0;
  }
}

__global__ void check_sum_kernel(Space s) {
  MESHMEM_FOR_ELEMS(i) {
    float sum = 0;
    for (int pe = 0; pe < shmem_n_pes(); ++pe) sum += part_of(*s.round, pe, i);
    expect(s, s.sum[i] == sum);
  }
}

// A user's kernel with collectives of its own, between other work of the stream.
__global__ void own_collectives_kernel(Space s) {
  shmemx_barrier_all_block();
  shmemx_uint64_fcollect_block(SHMEM_TEAM_WORLD, s.all, s.message, kElems);
  shmemx_uint64_max_reduce_block(SHMEM_TEAM_WORLD, s.total, s.message, kElems);
  const int last = shmem_n_pes() - 1;
  MESHMEM_FOR_ELEMS(i) {
    expect(s, s.total[i] == word_of(*s.round, last, i));
    for (int pe = 0; pe <= last; ++pe)
      expect(s, s.all[static_cast<size_t>(pe) * kElems + i] == word_of(*s.round, pe, i));
  }
  __syncthreads();
}

__global__ void check_all_kernel(Space s) {
  const int n = shmem_n_pes(), next = (shmem_my_pe() + 1) % n;
  MESHMEM_FOR_ELEMS(i) {
    expect(s, s.got[i] == word_of(*s.round, next, i));
    expect(s, s.total[i] == word_of(*s.round, n - 1, i));
    for (int pe = 0; pe < n; ++pe) {
      expect(s, s.all[static_cast<size_t>(pe) * kElems + i] == word_of(*s.round, pe, i));
      const auto block = static_cast<size_t>(pe) * kElems;
      expect(s, s.exchanged[block + i] ==
                    word_of(*s.round, pe, static_cast<size_t>(shmem_my_pe()) * kElems + i));
    }
  }
}
__global__ void fill_blocks_kernel(Space s) {
  const int n = shmem_n_pes();
  for (size_t i = threadIdx.x; i < kElems * static_cast<size_t>(n); i += blockDim.x)
    s.all[i] = word_of(*s.round, shmem_my_pe(), i);
}

class Rounds {
 public:
  Rounds() {
    const auto blocks = kElems * static_cast<size_t>(n_pes());
    EXPECT_EQ(shmem_team_split_strided(SHMEM_TEAM_WORLD, n_pes() - 1, -1, n_pes(), nullptr, 0,
                                       &reversed_),
              0);
    space_.round = words_.data();
    space_.errors = words_.data() + 16;
    space_.signal = words_.data() + 32;
    space_.message = words_.data() + 64;
    space_.inbox = space_.message + kElems;
    space_.got = space_.inbox + kElems;
    space_.total = space_.got + kElems;
    space_.part = floats_.data();
    space_.sum = floats_.data() + kElems;
    space_.all = blocks_.data();
    space_.exchanged = blocks_.data() + blocks;
    shmem_barrier_all();
  }
  ~Rounds() { shmem_team_destroy(reversed_); }

  const OwnStream& stream() const { return stream_; }

  // A message around the ring and a sum. Nobody sends the next message before all have looked at
  // this one, since all take part in the sum.
  void put_small_round() const {
    const Space& s = space_;
    run(begin_kernel);
    shmemx_putmem_signal_on_stream(s.inbox, s.message, kElems * sizeof(uint64_t), s.signal, 1,
                                   SHMEM_SIGNAL_ADD, next_pe(), stream_);
    shmemx_signal_wait_until_on_stream(s.signal, SHMEM_CMP_EQ, 1, stream_);
    shmemx_signal_op_on_stream(s.signal, ~uint64_t{0}, SHMEM_SIGNAL_ADD, my_pe(), stream_);
    run(check_inbox_kernel);
    expect_success(shmemx_float_sum_reduce_on_stream(SHMEM_TEAM_WORLD, s.part, s.part, 0, stream_));
    expect_success(
        shmemx_float_sum_reduce_on_stream(SHMEM_TEAM_WORLD, s.sum, s.part, kElems, stream_));
    run(check_sum_kernel);
  }

  // All routines on a stream, and a kernel with collectives.
  void put_large_round() const {
    const Space& s = space_;
    constexpr size_t kBytes = kElems * sizeof(uint64_t);
    run(begin_kernel);
    shmemx_barrier_all_on_stream(stream_);
    shmemx_putmem_on_stream(s.inbox, s.message, kBytes, next_pe(), stream_);
    shmemx_quiet_on_stream(stream_);
    shmemx_barrier_all_on_stream(stream_);
    run(check_inbox_kernel);
    run(own_collectives_kernel);
    shmemx_getmem_on_stream(s.got, s.message, kBytes, next_pe(), stream_);
    run(fill_blocks_kernel);
    expect_success(
        shmemx_alltoallmem_on_stream(SHMEM_TEAM_WORLD, s.exchanged, s.all, kBytes, stream_));
    expect_success(
        shmemx_fcollectmem_on_stream(SHMEM_TEAM_WORLD, s.all, s.message, kBytes, stream_));
    // The reversed team's root 0 is the last PE.
    expect_success(
        shmemx_broadcastmem_on_stream(reversed_, s.total, s.message, kBytes, 0, stream_));
    expect_success(shmemx_team_sync_on_stream(reversed_, stream_));
    expect_success(shmemx_float_sum_reduce_on_stream(reversed_, s.sum, s.part, kElems, stream_));
    run(check_all_kernel);
    run(check_sum_kernel);
  }

  void expect_rounds(int rounds) {
    stream_.synchronize();
    const auto words = words_.download();
    EXPECT_EQ(words[0], static_cast<uint64_t>(rounds));
    EXPECT_EQ(words[16], 0u) << "wrong elements";
    shmem_barrier_all();
  }

 private:
  void run(void (*kernel)(Space)) const { launch_on(stream_, kernel, 1, kThreads, space_); }
  static void expect_success(int result) { EXPECT_EQ(result, 0); }

  OwnStream stream_;
  shmem_team_t reversed_ = SHMEM_TEAM_INVALID;
  DeviceArray<uint64_t> words_{64 + 4 * kElems, 0};
  DeviceArray<uint64_t> blocks_{2 * kElems * static_cast<size_t>(n_pes()), 0};
  DeviceArray<float> floats_{2 * kElems, 0};
  Space space_{};
};

// Where there are more PEs than cores, each message takes time slices of the others.
int replays() {
  const int cores = static_cast<int>(std::thread::hardware_concurrency());
  return n_pes() <= 3 || n_pes() <= cores ? rounds(kManyReplays) : rounds(kManyReplays) / 10;
}

TEST(DeviceGraph, ReplaysCountOnByThemselves) {
  Rounds rounds;
  {
    const OwnGraph graph(rounds.stream(), [&] { rounds.put_small_round(); });
    for (int i = 0; i < replays(); ++i) graph.replay(rounds.stream());
    rounds.expect_rounds(replays());
  }
}

TEST(DeviceGraph, ReplaysMixWithCallsOutsideOfGraphs) {
  Rounds rounds;
  {
    const OwnGraph small(rounds.stream(), [&] { rounds.put_small_round(); });
    const OwnGraph large(rounds.stream(), [&] { rounds.put_large_round(); });
    const int turns = replays() / 100 + 5;
    for (int i = 0; i < turns; ++i) {
      for (int k = 0; k < i % 4; ++k) small.replay(rounds.stream());
      if (i % 3 == 0) rounds.put_small_round();
      large.replay(rounds.stream());
      if (i % 5 == 0) rounds.put_large_round();
    }
    int expected = 0;
    for (int i = 0; i < turns; ++i) expected += i % 4 + (i % 3 == 0) + 1 + (i % 5 == 0);
    rounds.expect_rounds(expected);
  }
}

// Calls of the host on device memory while a stream is captured are not part of the graph, and need
// no call that the capture forbids. The waits of two threads make lanes that no call before has
// made.
void call_beside(hipStreamCaptureMode mode) {
  SCOPED_TRACE(mode);
  const size_t n = static_cast<size_t>(n_pes());
  DeviceArray<uint64_t> inbox(n, 0), outbox(n, 7), sums(n, 0), signal(4, 0);
  DeviceArray<float> captured(kElems, 0), part(kElems, 1);
  uint64_t* own = nullptr;
  must(hipMalloc(reinterpret_cast<void**>(&own), n * sizeof *own), "hipMalloc");
  shmem_barrier_all();
  const OwnStream stream;
  must(hipStreamBeginCapture(stream, mode), "hipStreamBeginCapture");
  std::thread other([&] { shmem_uint64_wait_until(signal.data(), SHMEM_CMP_EQ, 1); });
  std::thread third([&] { shmem_uint64_wait_until(signal.data() + 1, SHMEM_CMP_EQ, 1); });
  shmem_uint64_put(inbox.data() + my_pe(), outbox.data(), 1, next_pe());
  shmem_uint64_p(signal.data() + 2, 5, next_pe());
  const uint64_t on_stack = 9;
  uint64_t back = 0;
  shmem_uint64_put(signal.data() + 3, &on_stack, 1, my_pe());
  shmem_quiet();
  shmem_uint64_get(&back, signal.data() + 3, 1, my_pe());
  EXPECT_EQ(back, on_stack);
  shmem_team_t team = SHMEM_TEAM_INVALID;
  EXPECT_EQ(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, n_pes(), nullptr, 0, &team), 0);
  shmem_team_destroy(team);
  shmemx_float_sum_reduce_on_stream(SHMEM_TEAM_WORLD, captured.data(), part.data(), kElems, stream);
  shmem_barrier_all();
  EXPECT_EQ(shmem_uint64_g(inbox.data() + my_pe(), next_pe()), 7u);
  EXPECT_EQ(shmem_uint64_atomic_fetch_add(signal.data() + 2, 1, my_pe()), 5u);
  EXPECT_EQ(shmem_uint64_sum_reduce(SHMEM_TEAM_WORLD, sums.data(), outbox.data(), n), 0);
  EXPECT_EQ(shmemx_buffer_register(own, n * sizeof *own), 0);
  shmem_uint64_put_signal(own, outbox.data(), n, signal.data(), 1, SHMEM_SIGNAL_SET, next_pe());
  shmem_signal_set(signal.data() + 1, 1, next_pe());
  other.join();
  third.join();
  EXPECT_EQ(shmemx_buffer_unregister(own), 0);
  hipGraph_t graph = nullptr;
  must(hipStreamEndCapture(stream, &graph), "hipStreamEndCapture");
  must(hipGraphDestroy(graph), "hipGraphDestroy");
  EXPECT_EQ(captured.first(), 0);
  EXPECT_EQ(sums.first(), 7u * n);
  EXPECT_EQ(download(own, n), std::vector<uint64_t>(n, 7));
  shmem_barrier_all();
  must(hipFree(own), "hipFree");
}

TEST(DeviceGraph, LeavesTheHostItsOwnCalls) {
  for (const auto mode :
       {hipStreamCaptureModeGlobal, hipStreamCaptureModeThreadLocal, hipStreamCaptureModeRelaxed})
    call_beside(mode);
}

}  // namespace
}  // namespace meshmem
