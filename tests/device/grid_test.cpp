// SPDX-License-Identifier: Apache-2.0
//
// Collectives by all blocks of a kernel. Every routine of every type is compared with the model, in
// grids of one to three dimensions and with more blocks than a team has channels. Also data that
// other blocks wrote or read afterwards, barriers, two grids at a time, and graphs.
// Invariant: kernels are launched cooperatively, for reductions with as many blocks on every PE of
// the team. Data that a block reads after a call was brought about by others.
#include "forms.hpp"
#include "own_stream.hpp"
#include "routine_check.hpp"

namespace meshmem {
namespace {

// The names of the routines, and which of them a kernel calls.
#define MESHMEM_GRID_NAMES(F)         \
  MESHMEM_OPS_REDUCE_ORDER(F, , int)  \
  MESHMEM_OPS_REDUCE_ARITH(F, , int)  \
  MESHMEM_OPS_REDUCE_LOGIC(F, , int)  \
  MESHMEM_OPS_AVERAGE(F, , int)       \
  MESHMEM_OPS_SCATTER_ORDER(F, , int) \
  MESHMEM_OPS_SCATTER_ARITH(F, , int) MESHMEM_OPS_SCATTER_LOGIC(F, , int)
#define MESHMEM_WHICH(name, op, ...) op,
enum class Which { MESHMEM_GRID_NAMES(MESHMEM_WHICH) };
#define MESHMEM_KIND(name, op, ...) op,
constexpr Extension kKinds[] = {MESHMEM_GRID_NAMES(MESHMEM_KIND)};

// struct Grid_<NAME>: the routines of a type by a grid, by their overloads where they have one. A
// row that has none stands for a type that another row has: of that there have to be the names, and
// no more, since compilers take long over each.
#define MESHMEM_GRID_BY(routine, op, result, params, args)              \
  static __device__ __attribute__((noinline)) result call_##op params { \
    return shmemx_##routine##_grid args;                                \
  }
#define MESHMEM_GRID_CALL(name, op, Elem, result, params, args) \
  MESHMEM_GRID_BY(name, op, result, params, args)
#define MESHMEM_GRID_OVERLOAD(name, op, Elem, result, params, args) \
  MESHMEM_GRID_BY(op, op, result, params, args)
template <typename E>
using GridRoutine = int (*)(shmem_team_t, E*, const E*, size_t);
// The cast finds the one of exactly this type, and nothing is made of it.
#define MESHMEM_GRID_NAME(name, op, Elem, ...) \
  static_assert(sizeof(static_cast<GridRoutine<Elem>>(&shmemx_##name##_grid)) != 0, #name);
#define MESHMEM_GRID_CASE(name, op, ...) \
  case Which::op:                        \
    return call_##op(team, dest, source, n);
#define MESHMEM_GRID_STRUCT(NAME, TYPE, CALLS, CASES)                                      \
  struct Grid_##NAME {                                                                     \
    using E = TYPE;                                                                        \
    static const char* type() { return #NAME; }                                            \
    CALLS                                                                                  \
    static __device__ int call(Which which, [[maybe_unused]] shmem_team_t team,            \
                               [[maybe_unused]] E* dest, [[maybe_unused]] const E* source, \
                               [[maybe_unused]] size_t n) {                                \
      switch (which) {                                                                     \
        CASES                                                                              \
        default:                                                                           \
          return -1;                                                                       \
      }                                                                                    \
    }                                                                                      \
  };
// clang-format off
#define MESHMEM_GRID_ROW(NAME, TYPE, rma, arith, logic, F, IN) \
  MESHMEM_REDUCTION_ROW(NAME, TYPE, rma, 0, 0, 0, arith, logic, F, IN) \
  MESHMEM_SCAN_ROW(NAME, TYPE, rma, 0, 0, 0, arith, logic, F, IN) \
  MESHMEM_EXTENSION_ROW(NAME, TYPE, rma, 0, 0, 0, arith, logic, F, IN)
#define MESHMEM_GRID_TYPE(NAME, TYPE, rma, ext, amo, bit, arith, logic, ...) \
  MESHMEM_GRID_STRUCT(NAME, TYPE, \
      MESHMEM_GRID_ROW(NAME, TYPE, rma, arith, logic, MESHMEM_GRID_NAME, MESHMEM_ALIAS) \
      MESHMEM_GRID_ROW(NAME, TYPE, rma, arith, logic, MESHMEM_GRID_OVERLOAD, MESHMEM_GENERIC), \
      MESHMEM_GRID_ROW(NAME, TYPE, rma, arith, logic, MESHMEM_GRID_CASE, MESHMEM_GENERIC))
#define MESHMEM_GRID_SHORT(NAME, TYPE, ...) \
  MESHMEM_GRID_STRUCT(NAME, TYPE, MESHMEM_SHORT_REDUCTIONS(MESHMEM_GRID_CALL, NAME, TYPE), \
                      MESHMEM_SHORT_REDUCTIONS(MESHMEM_GRID_CASE, NAME, TYPE))
// clang-format on
MESHMEM_KERNEL_TYPES(MESHMEM_GRID_TYPE, )
MESHMEM_SHORT_FLOATS(MESHMEM_GRID_SHORT, )

template <typename Row>
__global__ void grid_kernel(Which which, shmem_team_t team, typename Row::E* dest,
                            const typename Row::E* source, size_t n, int* failures) {
  if (Row::call(which, team, dest, source, n) != 0) *failures = 1;
}

inline dim3 grid_of(unsigned x, unsigned y = 1, unsigned z = 1) { return dim3(x, y, z); }
const dim3 kShapes[] = {grid_of(7), grid_of(1), grid_of(2), grid_of(2, 2), grid_of(1, 2, 3)};

unsigned blocks_in(dim3 shape) { return shape.x * shape.y * shape.z; }

template <typename Row>
void check(Which which, Workspace& space, const TeamView& view, dim3 shape, size_t n,
           unsigned threads = odd_block()) {
  SCOPED_TRACE(testing::Message() << Row::type() << ", routine " << static_cast<int>(which)
                                  << " by " << blocks_in(shape) << " blocks, count " << n);
  using E = typename Row::E;
  check_routine<E>(space, kKinds[static_cast<size_t>(which)], view, n,
                   [&](E* dest, const E* source) {
                     launch_grid_on(nullptr, grid_kernel<Row>, shape, threads, which, view.team,
                                    dest, source, n, space.failures.data());
                   });
}

// visit(row, which) for each routine that there is.
template <typename Visit>
void for_each_routine(const Visit& visit) {
#define MESHMEM_VISIT(name, op, ...) visit(row, Which::op);
#define MESHMEM_VISIT_ROW(NAME, TYPE, rma, ext, amo, bit, arith, logic, ...)        \
  {                                                                                 \
    [[maybe_unused]] const Grid_##NAME row;                                         \
    MESHMEM_GRID_ROW(NAME, TYPE, rma, arith, logic, MESHMEM_VISIT, MESHMEM_GENERIC) \
  }
#define MESHMEM_VISIT_SHORT(NAME, TYPE, ...)            \
  {                                                     \
    const Grid_##NAME row;                              \
    MESHMEM_SHORT_REDUCTIONS(MESHMEM_VISIT, NAME, TYPE) \
  }
  MESHMEM_KERNEL_TYPES(MESHMEM_VISIT_ROW, )
  MESHMEM_SHORT_FLOATS(MESHMEM_VISIT_SHORT, )
}

TEST(DeviceGrid, S53_S56_S57_EveryTypeAndOperation) {
  Workspace space;
  const TeamView world = world_view();
  size_t turn = 0;
  for_each_routine([&](auto row, Which which) {
    check<decltype(row)>(which, space, world, kShapes[turn % 5], 61 + turn % 7);
    ++turn;
  });
}

TEST(DeviceGrid, S57_Fractions) {
  const uint64_t seed = agreed_seed();
  SCOPED_TRACE(testing::Message() << "seed " << seed << " (MESHMEM_TEST_SEED repeats it)");
  Workspace space;
  const TeamView world = world_view();
  for_each_routine([&](auto row, Which which) {
    using Row = decltype(row);
    using E = typename Row::E;
    if constexpr (!std::is_integral<E>::value) {
      SCOPED_TRACE(testing::Message() << Row::type() << ", routine " << static_cast<int>(which));
      check_fractions<E>(space, kKinds[static_cast<size_t>(which)], world, 301, seed,
                         [&](E* dest, const E* source) {
                           launch_grid_on(nullptr, grid_kernel<Row>, grid_of(3), 64, which,
                                          world.team, dest, source, 301, space.failures.data());
                         });
    }
  });
}

// None, one, fewer than a slice for each block, and what takes each algorithm.
TEST(DeviceGrid, S57_AnyCountOnEveryTeam) {
  Workspace space;
  on_every_team([&](const TeamView& view) {
    size_t turn = 0;
    for (const size_t n : {size_t{0}, size_t{1}, size_t{5}, size_t{777}, size_t{4097}}) {
      const dim3 shape = kShapes[turn++ % 5];
      check<Grid_float>(Which::sum_reduce, space, view, shape, n);
      check<Grid_uchar>(Which::xor_reduce, space, view, shape, n);
      check<Grid_float>(Which::avg_reduce_scatter, space, view, shape, n);
      check<Grid_long>(turn % 2 == 0 ? Which::sum_inscan : Which::sum_exscan, space, view, shape,
                       n);
      check<Grid_bfloat16>(Which::avg_reduce, space, view, shape, n);
    }
    check<Grid_long>(Which::min_reduce, space, view, grid_of(7), 5001);
    check<Grid_long>(Which::min_reduce, space, view, grid_of(2, 2), 20001);
    check<Grid_short>(Which::max_reduce, space, view, grid_of(2), 40001);
    check<Grid_uchar>(Which::or_reduce_scatter, space, view, grid_of(3), 4099);
  });
}

TEST(DeviceGrid, S57_BlocksBeyondTheChannelsOfATeamMeetTheOthers) {
  Workspace space;
  check<Grid_double>(Which::sum_reduce, space, world_view(), grid_of(device::kChannels + 3), 1001,
                     3);
  std::vector<TeamView> views;
  for (int i = 0; i < device::kLargeSlots; ++i)
    views.push_back(make_view(n_pes() - 1, -1, n_pes()));
  for (const size_t n : {3u, 300u, 9001u})
    check<Grid_double>(Which::sum_reduce, space, views.back(), grid_of(5), n);
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

// In each round other blocks write an element, and other blocks read it, than those that reduce it.
// Nothing but the reduction is between the threads.
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

// Each thread puts a word to the next PE, or stores it; after the meeting another block looks for
// it.
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

}  // namespace
}  // namespace meshmem
