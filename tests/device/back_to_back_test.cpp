// SPDX-License-Identifier: Apache-2.0
//
// Reductions on a stream, a hundred thousand behind one another on GPUs, of sizes, types,
// operations, teams and algorithms that are drawn at random. The host waits for none of them; PEs
// are late by turns, one of them once by a second. ctest also runs this just below where packets'
// epochs wrap.
// Invariant: the draw is the same in all PEs and follows from the seed, which a failure names.
// Right after a call, on the stream, its results are compared, its source overwritten and its dest
// poisoned. The element behind dest stays.
#include <chrono>
#include <iterator>
#include <memory>
#include <string>
#include <thread>

#include "drawn_values.hpp"
#include "own_stream.hpp"

namespace meshmem {
namespace {

#if defined(MESHMEM_TARGET_IS_CPU)
constexpr int kCalls = 300;
constexpr size_t kMostBytes = 20000;
#else
constexpr int kCalls = 100000;
constexpr size_t kMostBytes = 1 << 20;
#endif
constexpr size_t kMostShift = 4;  // elements by which a buffer begins later

// Every C type of a reduction, by the overloads that it has.
template <typename E, typename = void>
constexpr bool has_logic = false;
template <typename E>
constexpr bool has_logic<E, decltype(static_cast<void>(shmemx_and_reduce_on_stream(
                                SHMEM_TEAM_WORLD, static_cast<E*>(nullptr),
                                static_cast<const E*>(nullptr), 0, nullptr)))> = true;
struct Type {
  const char* name;
  size_t bytes;
  bool has_logic;
};
#define MESHMEM_TYPE_OF(NAME, E, rma, ext, amo, bit, arith, ...) \
  MESHMEM_GENERIC_##arith(Type{#NAME, sizeof(E), has_logic<E>}, )
#define MESHMEM_SHORT_TYPE(NAME, E, ...) Type{#NAME, sizeof(E), false},
constexpr Type kTypes[] = {MESHMEM_KERNEL_TYPES(MESHMEM_TYPE_OF, )
                               MESHMEM_SHORT_FLOATS(MESHMEM_SHORT_TYPE, )};

// One reduction, as all PEs draw it.
struct Draw {
  uint64_t bits, number;
  size_t type;
  Operation op;
  bool in_place;
  size_t count, source_shift, dest_shift;
  size_t team;
  int late;  // this PE of the world, unless there is none such

  Draw(uint64_t seed, uint64_t k, size_t teams) : bits(mixed(seed + k)), number(k) {
    const auto take = [this](uint64_t below) {
      bits = mixed(bits + 1);
      return bits % below;
    };
    type = static_cast<size_t>(take(std::size(kTypes)));
    op = static_cast<Operation>(take(kOperations));
    if (op >= Operation::bit_and && !kTypes[type].has_logic) op = Operation::sum;
    in_place = take(4) == 0;
    team = static_cast<size_t>(take(teams));
    const uint64_t kind = take(64);
    const size_t bytes = kind == 0   ? take(kMostBytes)
                         : kind < 8  ? take(20000)
                         : kind < 24 ? take(20)
                                     : take(1500);
    count = bytes / kTypes[type].bytes;
    source_shift = take(3) == 0 ? take(kMostShift) : 0;
    dest_shift = in_place ? source_shift : take(3) == 0 ? take(kMostShift) : 0;
    late = static_cast<int>(take(256));
  }
  std::string plan(int algorithms) const {
    constexpr int kBlocks[] = {1, 2, 7, 16, 64}, kThreads[] = {32, 64, 256, 512};
    const uint64_t more = mixed(bits + 7);
    return std::string(shmemx_reduce_plan_algorithm(
               static_cast<int>(more % static_cast<uint64_t>(algorithms)))) +
           " " + std::to_string(kBlocks[more / 64 % 5]) + " " +
           std::to_string(kThreads[more / 1024 % 4]);
  }
  bool takes_the_default() const { return bits % 8 == 0; }
};

// Whole and small, for sums of sums to be exact.
__device__ inline double whole(uint64_t number, int pe, size_t i) {
  return static_cast<double>(mixed(number * 64 + static_cast<uint64_t>(pe) + i * 4099) % 1000);
}

__global__ void prepare_whole_kernel(double* source, double* dest, size_t count, uint64_t number,
                                     int me) {
  for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
    poison(dest + i);
    source[i] = whole(number, me, i);
  }
}

__global__ void compare_whole_kernel(const double* dest, size_t count, uint64_t number, int n,
                                     double times, Failure* failure) {
  for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
    double total = 0;
    for (int pe = 0; pe < n; ++pe) total += whole(number, pe, i);
    if (dest[i] != total * times) note(failure, number, i, count);
  }
}

__global__ void late_kernel() {
  const long long start = clock64();
  while (clock64() - start < 40000) {
  }
}

struct Team {
  shmem_team_t handle;
  int me, n;
};

class BackToBack {
 public:
  BackToBack() : source_(kMostBytes + 64, 0), dest_(kMostBytes + 64, 0), failure_(1, Failure{}) {
    while (shmemx_reduce_plan_algorithm(algorithms_)) ++algorithms_;
    add(SHMEM_TEAM_WORLD);
    split(n_pes() - 1, -1, n_pes());
    split(0, 2, (n_pes() + 1) / 2);
    for (int i = 0; i < 5; ++i) split(0, 1, n_pes());  // the last have one channel each
  }
  ~BackToBack() {
    EXPECT_EQ(shmemx_reduce_plan(nullptr), 0);
    for (size_t i = 1; i < teams_.size(); ++i) shmem_team_destroy(teams_[i].handle);
  }

  void run(uint64_t seed, int calls) {
    shmem_barrier_all();
    for (int k = 0; k < calls; ++k) {
      const Draw draw(seed, static_cast<uint64_t>(k), teams_.size());
      const std::string plan = draw.plan(algorithms_);
      ASSERT_EQ(shmemx_reduce_plan(draw.takes_the_default() ? nullptr : plan.c_str()), 0) << plan;
      if (k == calls / 2 && my_pe() == n_pes() - 1)
        std::this_thread::sleep_for(std::chrono::seconds(1));
      call(draw);
    }
    stream_.synchronize();
    shmem_barrier_all();
    const Failure failure = failure_.first();
    if (failure.count == 0) return;
    const Draw wrong(seed, failure.number, teams_.size());
    ADD_FAILURE() << failure.count << " wrong elements, first in call " << failure.number << " ("
                  << (wrong.takes_the_default() ? "default" : wrong.plan(algorithms_)) << ", type "
                  << kTypes[wrong.type].name << ", operation " << static_cast<int>(wrong.op)
                  << ", team " << wrong.team << "): element " << failure.elem << " of "
                  << failure.elems;
  }

 private:
  void add(shmem_team_t handle) {
    teams_.push_back({handle, shmem_team_my_pe(handle), shmem_team_n_pes(handle)});
  }
  void split(int start, int stride, int size) {
    shmem_team_t team = SHMEM_TEAM_INVALID;
    const bool is_member = stride < 0 || my_pe() % stride == 0;
    const int result =
        shmem_team_split_strided(SHMEM_TEAM_WORLD, start, stride, size, nullptr, 0, &team);
    EXPECT_EQ(team != SHMEM_TEAM_INVALID, result == 0 && is_member);
    add(team);
  }
  void call(const Draw& draw) {
    const Team& team = teams_[draw.team];
    if (team.handle == SHMEM_TEAM_INVALID) return;
    if (draw.late == my_pe()) launch_on(stream_, late_kernel, 1, 1);
    size_t type = 0;
#define MESHMEM_REDUCE_ROW(NAME, E, rma, ext, amo, bit, arith, ...) \
  MESHMEM_GENERIC_##arith(if (draw.type == type++) reduce<E>(draw, team);)
#define MESHMEM_REDUCE_SHORT(NAME, E, ...) \
  if (draw.type == type++) reduce<E>(draw, team);
    MESHMEM_KERNEL_TYPES(MESHMEM_REDUCE_ROW, )
    MESHMEM_SHORT_FLOATS(MESHMEM_REDUCE_SHORT, )
  }
  template <typename E>
  void reduce(const Draw& draw, const Team& team) {
    E* const source = reinterpret_cast<E*>(source_.data()) + draw.source_shift;
    E* const dest = draw.in_place ? source : reinterpret_cast<E*>(dest_.data()) + draw.dest_shift;
    const auto blocks = static_cast<unsigned>(1 + draw.count / 4096);
    launch_on(stream_, prepare_kernel<E>, blocks, kThreads, draw.op, source, dest, draw.count,
              draw.number, team.me);
    EXPECT_EQ(put(draw.op, team.handle, dest, source, draw.count), 0);
    launch_on(stream_, compare_kernel<E>, blocks, kThreads, draw.op, dest, draw.count, draw.number,
              team.n, failure_.data());
  }
  template <typename E>
  int put(Operation op, shmem_team_t team, E* dest, const E* source, size_t count) const {
    switch (op) {
      case Operation::prod:
        return shmemx_prod_reduce_on_stream(team, dest, source, count, stream_);
      case Operation::max:
        return shmemx_max_reduce_on_stream(team, dest, source, count, stream_);
      case Operation::min:
        return shmemx_min_reduce_on_stream(team, dest, source, count, stream_);
      case Operation::avg:
        return shmemx_avg_reduce_on_stream(team, dest, source, count, stream_);
      default:
        break;
    }
    if constexpr (has_logic<E>) {
      if (op == Operation::bit_and)
        return shmemx_and_reduce_on_stream(team, dest, source, count, stream_);
      if (op == Operation::bit_or)
        return shmemx_or_reduce_on_stream(team, dest, source, count, stream_);
      if (op == Operation::bit_xor)
        return shmemx_xor_reduce_on_stream(team, dest, source, count, stream_);
    }
    return shmemx_sum_reduce_on_stream(team, dest, source, count, stream_);
  }

  static constexpr unsigned kThreads = 64;
  DeviceArray<char> source_, dest_;
  DeviceArray<Failure> failure_;
  const OwnStream stream_;
  std::vector<Team> teams_;
  int algorithms_ = 0;
};

// Small reductions and barriers with no other kernel between, on teams of all PEs in turn: the
// library may start each while the one before it ends. The first sums, those in the middle change
// nothing, the last sums again.
class Chains {
 public:
  Chains() : source_(kMost, 0), dest_(2 * kMost, 0), failure_(1, Failure{}) {
    for (auto& team : teams_)
      EXPECT_EQ(
          shmem_team_split_strided(SHMEM_TEAM_WORLD, n_pes() - 1, -1, n_pes(), nullptr, 0, &team),
          0);
  }
  ~Chains() {
    for (const auto& team : teams_) shmem_team_destroy(team);
  }

  void run(uint64_t seed, int chains) {
    for (int k = 0; k < chains; ++k) put(mixed(seed + static_cast<uint64_t>(k)), stream_);
    expect_no_failure();
  }
  // Two branches of a graph with a team each, between kernels that both follow and that follow
  // both.
  void fork(int replays) {
    const OwnStream other;
    hipEvent_t begun, ended;
    must(hipEventCreate(&begun), "hipEventCreate");
    must(hipEventCreate(&ended), "hipEventCreate");
    const OwnGraph graph(stream_, [&] {
      prepare(7, kMost, stream_);
      must(hipEventRecord(begun, stream_), "hipEventRecord");
      must(hipStreamWaitEvent(other, begun, 0), "hipStreamWaitEvent");
      sum(teams_[0], source_.data(), dest_.data(), kMost, stream_);
      sum(teams_[1], source_.data(), dest_.data() + kMost, kMost, other);
      must(hipEventRecord(ended, other), "hipEventRecord");
      must(hipStreamWaitEvent(stream_, ended, 0), "hipStreamWaitEvent");
      compare(7, dest_.data(), kMost, 1, stream_);
      compare(7, dest_.data() + kMost, kMost, 1, stream_);
    });
    for (int i = 0; i < replays; ++i) graph.replay(stream_);
    expect_no_failure();
    must(hipEventDestroy(begun), "hipEventDestroy");
    must(hipEventDestroy(ended), "hipEventDestroy");
  }

 private:
  static constexpr size_t kMost = 3000;

  static void sum(shmem_team_t team, const double* from, double* to, size_t count,
                  hipStream_t stream) {
    EXPECT_EQ(shmemx_sum_reduce_on_stream(team, to, from, count, stream), 0);
  }
  void prepare(uint64_t bits, size_t count, hipStream_t stream) {
    launch_on(stream, prepare_whole_kernel, 2, 64, source_.data(), dest_.data(), count, bits,
              my_pe());
  }
  void compare(uint64_t bits, const double* found, size_t count, double times, hipStream_t stream) {
    launch_on(stream, compare_whole_kernel, 2, 64, found, count, bits, n_pes(), times,
              failure_.data());
  }
  void put(uint64_t bits, hipStream_t stream) {
    const size_t count = 1 + (bits % 4 == 0 ? mixed(bits) % kMost : mixed(bits) % 200);
    double *from = dest_.data(), *to = dest_.data() + kMost;
    prepare(bits, count, stream);
    sum(SHMEM_TEAM_WORLD, source_.data(), from, count, stream);
    for (uint64_t link = 0; link < bits / 8 % 12; ++link) {
      const uint64_t draw = mixed(bits + link);
      const shmem_team_t team = draw % 3 == 2 ? SHMEM_TEAM_WORLD : teams_[draw % 3];
      if (draw / 4 % 4 == 0) shmemx_team_sync_on_stream(team, stream);
      EXPECT_EQ(shmemx_max_reduce_on_stream(team, to, from, count, stream), 0);
      std::swap(from, to);
    }
    sum(teams_[0], from, to, count, stream);
    compare(bits, to, count, n_pes(), stream);
  }
  void expect_no_failure() {
    stream_.synchronize();
    shmem_barrier_all();
    const Failure failure = failure_.first();
    EXPECT_EQ(failure.count, 0u) << "element " << failure.elem << " of " << failure.elems;
  }

  DeviceArray<double> source_, dest_;
  DeviceArray<Failure> failure_;
  const OwnStream stream_;
  shmem_team_t teams_[2] = {};
};

// One of several streams, each with a team of its own and no order among them. It does the same
// work by calls and by a graph, in turns that differ from stream to stream.
class Lane {
 public:
  explicit Lane(uint64_t number) : number_(number), source_(kElems, 0), dest_(kElems, 0) {
    EXPECT_EQ(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, n_pes(), nullptr, 0, &team_), 0);
    graph_ = std::make_unique<OwnGraph>(stream_, [&] { put(); });
  }
  ~Lane() {
    graph_.reset();
    shmem_team_destroy(team_);
  }
  void go(uint64_t turn) {
    if (mixed(number_ * 1000 + turn) % 2 == 0) {
      graph_->replay(stream_);
    } else {
      put();
    }
  }
  void expect_no_failure() {
    stream_.synchronize();
    const Failure failure = failure_.first();
    EXPECT_EQ(failure.count, 0u) << "lane " << number_ << ", element " << failure.elem;
  }

 private:
  static constexpr size_t kElems = 700;

  void put() {
    launch_on(stream_, prepare_whole_kernel, 2, 64, source_.data(), dest_.data(), kElems, number_,
              my_pe());
    EXPECT_EQ(shmemx_sum_reduce_on_stream(team_, dest_.data(), source_.data(), kElems, stream_), 0);
    shmemx_team_sync_on_stream(team_, stream_);
    launch_on(stream_, compare_whole_kernel, 2, 64, dest_.data(), kElems, number_, n_pes(), 1.0,
              failure_.data());
  }

  uint64_t number_;
  DeviceArray<double> source_, dest_;
  DeviceArray<Failure> failure_{1, Failure{}};
  const OwnStream stream_;
  shmem_team_t team_ = SHMEM_TEAM_INVALID;
  std::unique_ptr<OwnGraph> graph_;
};

TEST(BackToBackReductions, S51_MixCallsAndReplaysOnStreamsWithATeamEach) {
  Lane lanes[] = {Lane(1), Lane(2), Lane(3)};
  shmem_barrier_all();
  const int turns = rounds(kCalls / 5);
  for (int turn = 0; turn < turns; ++turn)
    for (Lane& lane : lanes) lane.go(static_cast<uint64_t>(turn));
  for (Lane& lane : lanes) lane.expect_no_failure();
  shmem_barrier_all();
}
TEST(BackToBackReductions, S51_FollowEachOtherWithNothingBetween) {
  const uint64_t seed = agreed_seed();
  SCOPED_TRACE(testing::Message() << "seed " << seed << " (MESHMEM_TEST_SEED repeats it)");
  Chains().run(seed, rounds(kCalls / 10));
}
TEST(BackToBackReductions, S51_AreRightInGraphsThatFork) { Chains().fork(rounds(kCalls / 100)); }

TEST(BackToBackReductions, S51_AreRightWhateverTheyFollow) {
  const uint64_t seed = agreed_seed();
  SCOPED_TRACE(testing::Message() << "seed " << seed << " (MESHMEM_TEST_SEED repeats it)");
  BackToBack().run(seed, rounds(kCalls));
}

}  // namespace
}  // namespace meshmem
