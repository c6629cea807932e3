// SPDX-License-Identifier: Apache-2.0
//
// Collectives by all blocks of a kernel: every type against the model, in grids of one to three
// dimensions and with more blocks than a team has channels; what other blocks wrote, what they read
// afterwards; barriers; two grids at a time; graphs.
// Invariant: kernels are launched cooperatively, with as many blocks on every PE of the team where it is a
// reduction. What a block reads after a call was brought about by others.
#include "forms.hpp"
#include "own_stream.hpp"
#include "routine_check.hpp"

namespace meshmem {
namespace {

constexpr Extension max_reduce{Op::kMax, false}, min_reduce{Op::kMin, false},
    sum_reduce{Op::kSum, false}, prod_reduce{Op::kProd, false}, and_reduce{Op::kAnd, false},
    or_reduce{Op::kOr, false}, xor_reduce{Op::kXor, false};

// struct Grid_<name>: a routine by a grid.
#define MESHMEM_GRID_CALL(name, op, Elem, result, params, args)      \
  struct Grid_##name {                                               \
    using E = Elem;                                                  \
    static Extension kind() { return op; }                           \
    static __device__ __attribute__((noinline)) result call params { \
      return shmemx_##name##_grid args;                              \
    }                                                                \
  };
#define MESHMEM_GRID_SUMS(F, PRE, E) \
  MESHMEM_OP_REDUCE(F, PRE, E, sum_reduce) MESHMEM_OP_REDUCE(F, PRE, E, prod_reduce)
#define MESHMEM_GRID_ROW(NAME, TYPE, rma, ext, amo, bit, arith, logic, F) \
  MESHMEM_IN_##rma(MESHMEM_OPS_REDUCE_ORDER(F, NAME##_, TYPE))            \
      MESHMEM_IN_##arith(MESHMEM_GRID_SUMS(F, NAME##_, TYPE))             \
          MESHMEM_IN_##arith(MESHMEM_OPS_AVERAGE(F, NAME##_, TYPE))       \
              MESHMEM_IN_##logic(MESHMEM_OPS_REDUCE_LOGIC(F, NAME##_, TYPE))
#define MESHMEM_GRID_ROUTINES(F) MESHMEM_KERNEL_TYPES(MESHMEM_GRID_ROW, F)
MESHMEM_GRID_ROUTINES(MESHMEM_GRID_CALL)
MESHMEM_OPS_SCATTER_ARITH(MESHMEM_GRID_CALL, float_, float)
MESHMEM_OPS_SCATTER_LOGIC(MESHMEM_GRID_CALL, uchar_, unsigned char)

template <typename Routine>
__global__ void grid_kernel(shmem_team_t team, typename Routine::E* dest,
                            const typename Routine::E* source, size_t n, int* failures) {
  if (Routine::call(team, dest, source, n) != 0) *failures = 1;
}

inline dim3 grid_of(unsigned x, unsigned y = 1, unsigned z = 1) { return dim3(x, y, z); }
const dim3 kShapes[] = {grid_of(7), grid_of(1), grid_of(2), grid_of(2, 2), grid_of(1, 2, 3)};

unsigned blocks_in(dim3 shape) { return shape.x * shape.y * shape.z; }

template <typename Routine>
void check(const char* name, Workspace& space, const TeamView& view, dim3 shape, size_t n,
           unsigned threads = odd_block()) {
  SCOPED_TRACE(testing::Message() << name << " by " << blocks_in(shape) << " blocks, count " << n);
  using E = typename Routine::E;
  check_routine<Routine>(space, view, n, [&](E* dest, const E* source) {
    launch_grid_on(nullptr, grid_kernel<Routine>, shape, threads, view.team, dest, source, n,
                   space.failures.data());
  });
}

TEST(DeviceGrid, S53_S57_EveryTypeAndOperation) {
  Workspace space;
  const TeamView world = world_view();
  size_t turn = 0;
#define MESHMEM_CHECK(name, ...) \
  check<Grid_##name>(#name, space, world, kShapes[turn % 5], 61 + turn % 7), ++turn;
  MESHMEM_GRID_ROUTINES(MESHMEM_CHECK)
#undef MESHMEM_CHECK
}

// None, one, fewer than a slice for each block, and what takes each algorithm.
TEST(DeviceGrid, S57_AnyCountOnEveryTeam) {
  Workspace space;
  on_every_team([&](const TeamView& view) {
    size_t turn = 0;
    for (const size_t n : {size_t{0}, size_t{1}, size_t{5}, size_t{777}, size_t{4097}}) {
      const dim3 shape = kShapes[turn++ % 5];
      check<Grid_float_sum_reduce>("float", space, view, shape, n);
      check<Grid_uchar_xor_reduce>("uchar", space, view, shape, n);
      check<Grid_float_avg_reduce_scatter>("float scatter", space, view, shape, n);
    }
    check<Grid_long_min_reduce>("long", space, view, grid_of(7), 5001);
    check<Grid_long_min_reduce>("long", space, view, grid_of(2, 2), 20001);
    check<Grid_short_max_reduce>("short", space, view, grid_of(2), 40001);
    check<Grid_uchar_or_reduce_scatter>("uchar scatter", space, view, grid_of(3), 4099);
  });
}

TEST(DeviceGrid, S57_BlocksBeyondTheChannelsOfATeamMeetTheOthers) {
  Workspace space;
  check<Grid_double_sum_reduce>("world", space, world_view(), grid_of(device::kChannels + 3), 1001,
                                3);
  std::vector<TeamView> views;
  for (int i = 0; i < device::kLargeSlots; ++i)
    views.push_back(make_view(n_pes() - 1, -1, n_pes()));
  for (const size_t n : {3u, 300u, 9001u})
    check<Grid_double_sum_reduce>("team of one channel", space, views.back(), grid_of(5), n);
  for (const TeamView& view : views) shmem_team_destroy(view.team);
}

// ---- What is between blocks

__device__ uint64_t brought(uint64_t round, int pe, size_t i) {
  return (round << 32) + (static_cast<uint64_t>(pe) << 24) + i;
}
__device__ size_t thread_of_grid() {
  return static_cast<size_t>(device::CooperativeGrid().block()) * blockDim.x + threadIdx.x;
}
__device__ size_t threads_of_grid() {
  return static_cast<size_t>(device::CooperativeGrid().blocks()) * blockDim.x;
}

struct RoundsJob {
  uint64_t *dest, *source, *errors;
  size_t n;
};

// In each round other blocks write an element, and other blocks read it, than those that reduce it. Nothing
// but the reduction is between the threads.
__device__ void reduce_in_rounds(shmem_team_t team, const RoundsJob& job, uint64_t first,
                                 int rounds) {
  const int n_pes = shmem_team_n_pes(team), me = shmem_team_my_pe(team);
  const size_t threads = threads_of_grid();
  for (uint64_t round = first; round < first + static_cast<uint64_t>(rounds); ++round) {
    const size_t shift = static_cast<size_t>(round) * blockDim.x;
    const size_t here = (thread_of_grid() + shift) % threads;
    for (size_t i = here; i < job.n; i += threads) job.source[i] = brought(round, me, i);
    shmemx_uint64_sum_reduce_grid(team, job.dest, job.source, job.n);
    for (size_t i = threads - 1 - here; i < job.n; i += threads) {
      uint64_t sum = 0;
      for (int pe = 0; pe < n_pes; ++pe) sum += brought(round, pe, i);
      if (job.dest[i] != sum) shmem_uint64_atomic_inc(job.errors, shmem_my_pe());
    }
  }
}
__global__ void rounds_kernel(shmem_team_t team, RoundsJob job, int rounds) {
  reduce_in_rounds(team, job, 1, rounds);
}

TEST(DeviceGrid, ReductionsTakeWhatOtherBlocksWroteAndGiveItToAll) {
  // By one shot, by two, directly.
  for (const size_t n : {size_t{500}, size_t{3001}, size_t{20001}}) {
    SCOPED_TRACE(n);
    DeviceArray<uint64_t> dest(n, 0), source(n, 0), errors(1, 0);
    shmem_barrier_all();
    for (const dim3 shape : {grid_of(3), grid_of(2, 1, 2)}) {
      launch_grid_on(nullptr, rounds_kernel, shape, 64, SHMEM_TEAM_WORLD,
                     RoundsJob{dest.data(), source.data(), errors.data(), n}, rounds(20));
    }
    meet_after_kernels();
    EXPECT_EQ(errors.first(), 0u);
  }
}

enum class Meet { barrier_all, sync_all, team_sync };

__device__ void meet_by(Meet routine) {
  if (routine == Meet::team_sync) shmemx_team_sync_grid(SHMEM_TEAM_WORLD);
  if (routine == Meet::sync_all) shmemx_sync_all_grid();
  if (routine == Meet::barrier_all) shmemx_barrier_all_grid();
}

// Each thread puts a word to the next PE, or stores it; after the meeting another block looks for it.
__global__ void meet_kernel(Meet routine, uint64_t* words, size_t n, uint64_t* errors, int rounds) {
  const int me = shmem_my_pe(), n_pes = shmem_n_pes();
  const bool puts = routine == Meet::barrier_all;
  const int to = puts ? (me + 1) % n_pes : me, from = puts ? (me + n_pes - 1) % n_pes : me;
  const size_t threads = threads_of_grid(), here = thread_of_grid();
  for (uint64_t round = 0; round < static_cast<uint64_t>(rounds); ++round) {
    for (size_t i = here; i < n; i += threads) shmem_ulong_p(words + i, brought(round, me, i), to);
    meet_by(routine);
    for (size_t i = threads - 1 - here; i < n; i += threads)
      if (words[i] != brought(round, from, i)) shmem_uint64_atomic_inc(errors, me);
    meet_by(routine);
  }
}

TEST(DeviceGrid, S51_MeetingsOrderWhatAllBlocksDid) {
  const size_t n = 400;
  DeviceArray<uint64_t> words(n, 0), errors(1, 0);
  shmem_barrier_all();
  for (const Meet routine : {Meet::barrier_all, Meet::sync_all, Meet::team_sync}) {
    // Of other sizes on other PEs.
    const dim3 shape = grid_of(1 + static_cast<unsigned>(my_pe()) % 3, 2);
    launch_grid_on(nullptr, meet_kernel, shape, 33, routine, words.data(), n, errors.data(),
                   rounds(20));
  }
  meet_after_kernels();
  EXPECT_EQ(errors.first(), 0u);
}

// ---- Two grids at a time, and graphs

TEST(DeviceGrid, TwoOfAPeAtATimeAreApartOnDifferentTeams) {
  const size_t n = 700;
  DeviceArray<uint64_t> dest(2 * n, 0), source(2 * n, 0), errors(1, 0);
  const TeamView reversed = make_view(n_pes() - 1, -1, n_pes());
  shmem_barrier_all();
  {
    const OwnStream first, second;
    launch_grid_on(first, rounds_kernel, grid_of(3), 64, SHMEM_TEAM_WORLD,
                   RoundsJob{dest.data(), source.data(), errors.data(), n}, rounds(20));
    launch_grid_on(second, rounds_kernel, grid_of(2, 2), 64, reversed.team,
                   RoundsJob{dest.data() + n, source.data() + n, errors.data(), n}, rounds(20));
    first.synchronize();
    second.synchronize();
  }
  meet_after_kernels();
  EXPECT_EQ(errors.first(), 0u);
  shmem_team_destroy(reversed.team);
}

// The round is a word of the device, which all blocks have read when the first one counts it up.
__global__ void graph_kernel(RoundsJob job, uint64_t* round) {
  const uint64_t now = *round;
  reduce_in_rounds(SHMEM_TEAM_WORLD, job, now, 1);
  if (thread_of_grid() == 0) *round = now + 1;
}

TEST(DeviceGrid, CountsOnWhenGraphsAreReplayed) {
  const size_t n = 300;
  const auto replays = static_cast<uint64_t>(rounds(50));
  DeviceArray<uint64_t> dest(n, 0), source(n, 0), errors(1, 0), round(1, 0);
  shmem_barrier_all();
  {
    const OwnStream stream;
    const RoundsJob job{dest.data(), source.data(), errors.data(), n};
    const OwnGraph graph(stream, [&] {
      launch_grid_on(stream, graph_kernel, grid_of(3), 40, job, round.data());
      launch_grid_on(stream, graph_kernel, grid_of(2), 64, job, round.data());
    });
    for (uint64_t i = 0; i < replays; ++i) graph.replay(stream);
    stream.synchronize();
  }
  meet_after_kernels();
  EXPECT_EQ(errors.first(), 0u);
  EXPECT_EQ(round.first(), 2 * replays);
}

// ---- Scans

__global__ void scan_kernel(shmem_team_t team, int64_t* in, int64_t* ex, const int64_t* source,
                            size_t n) {
  shmemx_sum_inscan_grid(team, in, source, n);
  shmemx_int64_sum_exscan_grid(team, ex, source, n);
}
TEST(DeviceGrid, S56_Scans) {
  const size_t n = 3001;
  DeviceArray<int64_t> in(n, -1), ex(n, -1), source(n);
  source.upload(samples<int64_t>(n, my_pe()));
  launch_grid_on(nullptr, scan_kernel, grid_of(3, 2), 40, SHMEM_TEAM_WORLD, in.data(), ex.data(),
                 source.data(), n);
  synchronize();
  std::vector<int64_t> before(n, 0);
  const auto add = [&](int pe) {
    const std::vector<int64_t> theirs = samples<int64_t>(n, pe);
    for (size_t i = 0; i < n; ++i)
      before[i] =
          static_cast<int64_t>(static_cast<uint64_t>(before[i]) + static_cast<uint64_t>(theirs[i]));
  };
  for (int pe = 0; pe < my_pe(); ++pe) add(pe);
  expect_equal("exclusive", ex.download(), before);
  add(my_pe());
  expect_equal("inclusive", in.download(), before);
}

}  // namespace
}  // namespace meshmem
