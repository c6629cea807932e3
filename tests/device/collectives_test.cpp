// SPDX-License-Identifier: Apache-2.0
//
// Collectives in kernels that move data: broadcast, collect, fcollect, alltoall and alltoalls of
// every type, by a thread, a wave and a block, on several teams. Also the promises of all
// collectives by a group while its threads are still on their way to the call.
// Invariant: the whole of dest is compared with a model, so tests notice a change of elements that
// must stay. All five run one after another in one kernel, without a barrier between them.
#include "../api/team_views.hpp"
#include "forms.hpp"

namespace meshmem {
namespace {

#define MESHMEM_ROW_MOVE(NAME, TYPE, rma, ...) \
  MESHMEM_CALLS_##rma(Move, MESHMEM_ROWS_COLLECTIVE, NAME, TYPE)
#define MESHMEM_ROW_SHORT(NAME, TYPE, ...) \
  MESHMEM_CALLS_SHORT(Move, MESHMEM_ROWS_COLLECTIVE, NAME, TYPE)
MESHMEM_KERNEL_TYPES(MESHMEM_ROW_MOVE, )
MESHMEM_SHORT_FLOATS(MESHMEM_ROW_SHORT, )
MESHMEM_CALLS(Move, MESHMEM_ROWS_COLLECTIVE, mem, , mem, char, void)
MESHMEM_CALLS(Sum, MESHMEM_ROWS_ARITH, uint64, uint64_, , uint64_t, uint64_t)

constexpr int kOld = 900;
constexpr size_t kAreas = 5;
constexpr ptrdiff_t kDestStride = 2, kSourceStride = 3;

// An area of dest for each routine, with at least an element before and after that stays.
template <typename E>
struct MoveJob {
  E* dest;
  const E* source;
  size_t n, n_collect, area;
  int root;
  int* failures;
};

template <typename Row>
__global__ void move_kernel(Call call, shmem_team_t team, MoveJob<typename Row::E> job) {
  if (!takes_part(call.form)) return;
  auto* dest = job.dest + 1;
  int failed = Row::broadcast(call, team, dest, job.source, job.n, job.root);
  failed |= Row::fcollect(call, team, dest + job.area, job.source, job.n);
  failed |= Row::collect(call, team, dest + 2 * job.area, job.source, job.n_collect);
  failed |= Row::alltoall(call, team, dest + 3 * job.area, job.source, job.n);
  failed |= Row::alltoalls(call, team, dest + 4 * job.area, job.source, kDestStride, kSourceStride,
                           job.n);
  if (failed && leads(call.form)) *job.failures = failed;
}

// How many elements PE `pe` of a team brings to a collect.
size_t collected(size_t n, size_t pe) { return pe % 3 == 1 ? 0 : n + pe; }

template <typename E>
class MoveModel {
 public:
  MoveModel(const TeamView& view, size_t n, int root)
      : area((n + view.size()) * view.size() * static_cast<size_t>(kDestStride) + 2),
        source_size((n + 1) * view.size() * static_cast<size_t>(kSourceStride) + view.size()),
        expected(samples<E>(kAreas * area, my_pe(), kOld)) {
    for (size_t i = 0; i < n; ++i) put(0, i, view.world(static_cast<size_t>(root)), i);
    size_t at = 0;
    for (size_t pe = 0; pe < view.size(); ++pe) {
      const int world = view.world(pe);
      for (size_t i = 0; i < collected(n, pe); ++i) put(2, at++, world, i);
      for (size_t i = 0; i < n; ++i) {
        const size_t theirs = pe * n + i, mine = static_cast<size_t>(view.me) * n + i;
        put(1, theirs, world, i);
        put(3, theirs, world, mine);
        put(4, theirs * static_cast<size_t>(kDestStride), world,
            mine * static_cast<size_t>(kSourceStride));
      }
    }
  }

  const size_t area, source_size;
  std::vector<E> expected;

 private:
  // Element `from` of what a PE of the world brings comes to `to` of a routine's area.
  void put(size_t routine, size_t to, int pe, size_t from) {
    expected[routine * area + 1 + to] = sample<E>(seed_of(pe, from));
  }
};

// Memory for any type and team, since PEs that are not of a team allocate with the others.
struct Workspace {
  DeviceArray<meshmem_bits128> dest{1 << 16}, source{1 << 16};
  DeviceArray<int> failures{1, 0};

  template <typename E>
  E* dest_of(size_t elems) {
    EXPECT_LE(elems * sizeof(E), dest.size() * sizeof(meshmem_bits128));
    return reinterpret_cast<E*>(dest.data());
  }
  template <typename E>
  E* source_of(size_t elems) {
    EXPECT_LE(elems * sizeof(E), source.size() * sizeof(meshmem_bits128));
    return reinterpret_cast<E*>(source.data());
  }
};

template <typename Row>
void check_moves(Workspace& space, const TeamView& view, Form form, size_t n) {
  using E = typename Row::E;
  SCOPED_TRACE(testing::Message() << Row::type() << " by a " << name_of(form) << ", count " << n);
  const int root = static_cast<int>((n + 1) % view.size());
  const MoveModel<E> model(view, n, root);
  E* dest = space.dest_of<E>(model.expected.size());
  E* source = space.source_of<E>(model.source_size);
  upload(dest, samples<E>(model.expected.size(), my_pe(), kOld));
  upload(source, samples<E>(model.source_size, my_pe()));
  const size_t n_collect = collected(n, static_cast<size_t>(view.me));
  launch(move_kernel<Row>, 1, odd_block(), Call{form, SHMEM_CTX_DEFAULT}, view.team,
         MoveJob<E>{dest, source, n, n_collect, model.area, root, space.failures.data()});
  synchronize();
  expect_equal("dest of all five", download(dest, model.expected.size()), model.expected);
  expect_equal("source", download(source, model.source_size),
               samples<E>(model.source_size, my_pe()));
  EXPECT_EQ(space.failures.first(), 0);
}

template <typename Check>
void for_each_move(const Check& check) {
#define MESHMEM_CHECK_ROW(NAME, TYPE, rma, ...) MESHMEM_IN_##rma(check(Move_##NAME());)
  MESHMEM_KERNEL_TYPES(MESHMEM_CHECK_ROW, )
  MESHMEM_SHORT_FLOATS(MESHMEM_CHECK_ROW, )
#undef MESHMEM_CHECK_ROW
  check(Move_mem());
}

TEST(DeviceCollectives, S53_EveryTypeByEveryGroup) {
  Workspace space;
  const TeamView world = world_view();
  for_each_move([&](auto row) {
    for (const Form form : kGroups) check_moves<decltype(row)>(space, world, form, 7);
  });
}

TEST(DeviceCollectives, S53_EveryTypeOnEveryTeam) {
  Workspace space;
  on_every_team([&](const TeamView& view) {
    size_t turn = 0;
    for_each_move([&](auto row) {
      ++turn;
      check_moves<decltype(row)>(space, view, kGroups[turn % 3], 1 + turn % 6);
    });
  });
}

TEST(DeviceCollectives, S18_ZeroCountsMoveNothingAndStayMatched) {
  Workspace space;
  on_every_team([&](const TeamView& view) {
    for (const Form form : kGroups) {
      check_moves<Move_long>(space, view, form, 0);
      check_moves<Move_mem>(space, view, form, 0);
      check_moves<Move_short>(space, view, form, 1);
    }
  });
}

TEST(DeviceCollectives, S53_LargerCounts) {
  Workspace space;
  on_every_team([&](const TeamView& view) {
    check_moves<Move_mem>(space, view, Form::kBlock, 5003);
    check_moves<Move_float>(space, view, Form::kBlock, 1021);
    check_moves<Move_ulong>(space, view, Form::kWave, 515);
    check_moves<Move_short>(space, view, Form::kThread, 333);
  });
}

// Where packets give way to pushes, of rows of any length: full lines and partial ones on either
// side.
TEST(DeviceCollectives, S53_CountsAroundTheLimitsOfPackets) {
  Workspace space;
  const TeamView world = world_view();
  for (const size_t bytes : {504u, 512u, 513u})
    check_moves<Move_mem>(space, world, Form::kThread, bytes);
  for (const size_t bytes : {2040u, 2048u, 2051u})
    check_moves<Move_mem>(space, world, Form::kWave, bytes);
  for (const size_t bytes : {8176u, 8184u, 8190u, 8192u, 8195u})
    check_moves<Move_mem>(space, world, Form::kBlock, bytes);
  for (const size_t elems : {2046u, 2048u, 2049u})
    check_moves<Move_float>(space, world, Form::kBlock, elems);
}

// A team whose rows are short, since the slots with long ones are taken.
TEST(DeviceCollectives, S53_CountsAroundTheShortRowsOfLateTeams) {
  Workspace space;
  shmem_team_t taken[device::kLargeSlots];
  for (auto& team : taken)
    ASSERT_EQ(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, n_pes(), nullptr, 0, &team), 0);
  TeamView late = world_view();
  ASSERT_EQ(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, n_pes(), nullptr, 0, &late.team), 0);
  for (const size_t bytes : {240u, 247u, 248u, 249u, 256u})
    for (const Form form : kGroups) check_moves<Move_mem>(space, late, form, bytes);
  shmem_barrier_all();
  shmem_team_destroy(late.team);
  for (const auto& team : taken) shmem_team_destroy(team);
}

__global__ void in_place_kernel(Call call, char* broadcast, char* fcollect, size_t n, int root) {
  if (!takes_part(call.form)) return;
  const size_t mine = static_cast<size_t>(shmem_my_pe()) * n;
  Move_mem::broadcast(call, SHMEM_TEAM_WORLD, broadcast, broadcast, n, root);
  Move_mem::fcollect(call, SHMEM_TEAM_WORLD, fcollect, fcollect + mine, n);
}

// A source that is where the result comes to: the root's, and each PE's own block.
TEST(DeviceCollectives, S53_InPlace) {
  const auto pes = static_cast<size_t>(n_pes());
  DeviceArray<char> broadcast(10000, 0), fcollect(10000 * pes, 0);
  for (const size_t n : {size_t{9}, size_t{500}, size_t{9001}, size_t{9008}}) {
    for (const Form form : kGroups) {
      SCOPED_TRACE(testing::Message() << n << " bytes by a " << name_of(form));
      const int root = static_cast<int>(n) % n_pes();
      upload(broadcast.data(), samples<char>(n, my_pe()));
      upload(fcollect.data(), samples<char>(n * pes, my_pe()));
      launch(in_place_kernel, 1, odd_block(), Call{form, SHMEM_CTX_DEFAULT}, broadcast.data(),
             fcollect.data(), n, root);
      synchronize();
      expect_equal("broadcast", download(broadcast.data(), n), samples<char>(n, root));
      std::vector<char> all(n * pes);
      for (size_t i = 0; i < all.size(); ++i)
        all[i] = sample<char>(seed_of(static_cast<int>(i / n), i));
      expect_equal("fcollect", download(fcollect.data(), n * pes), all);
    }
  }
}

// Rows and columns of PEs.
TEST(DeviceCollectives, TeamsOfSplit2d) {
  Workspace space;
  const int range = 2, n = n_pes();
  TeamView x{SHMEM_TEAM_INVALID, my_pe() % range, {}}, y{SHMEM_TEAM_INVALID, my_pe() / range, {}};
  ASSERT_EQ(shmem_team_split_2d(SHMEM_TEAM_WORLD, range < n ? range : n, nullptr, 0, &x.team,
                                nullptr, 0, &y.team),
            0);
  for (int pe = 0; pe < n; ++pe) {
    if (pe / range == my_pe() / range) x.pes.push_back(pe);
    if (pe % range == my_pe() % range) y.pes.push_back(pe);
  }
  for (const Form form : kGroups) {
    check_moves<Move_int>(space, x, form, 9);
    check_moves<Move_double>(space, y, form, 9);
  }
  shmem_barrier_all();
  shmem_team_destroy(x.team);
  shmem_team_destroy(y.team);
}

__global__ void sync_kernel(Call call, shmem_team_t team, int rounds, int* failures) {
  if (!takes_part(call.form)) return;
  for (int i = 0; i < rounds; ++i) {
    const int failed = Untyped::team_sync(call, team);
    if (failed && leads(call.form)) *failures = failed;
  }
}

TEST(DeviceCollectives, S51_TeamSyncByEveryGroup) {
  DeviceArray<int> failures(1, 0);
  on_every_team([&](const TeamView& view) {
    for (const Form form : kGroups) {
      launch(sync_kernel, 1, odd_block(), Call{form, SHMEM_CTX_DEFAULT}, view.team, 50,
             failures.data());
    }
    synchronize();
    EXPECT_EQ(failures.first(), 0);
  });
}

// A collective by a group, one of whose threads comes late, without a barrier of the group before
// it.
enum class Late { broadcast, fcollect, collect, alltoall, sum_reduce, sum_inscan };
constexpr int kLateRoutines = 6;
constexpr uint64_t kUntouched = ~uint64_t{0};

struct LateJob {
  uint64_t *dest, *source, *errors;
  size_t n;  // elements of a PE: as many as the group has threads, so that each reads one
};

__device__ uint64_t brought(uint64_t round, int pe, size_t i) {
  return (round << 32) + (static_cast<uint64_t>(pe) << 16) + i;
}

__device__ void call_late(Late routine, const Call& call, const LateJob& job, int root) {
  const shmem_team_t world = SHMEM_TEAM_WORLD;
  switch (routine) {
    case Late::broadcast:
      Move_ulong::broadcast(call, world, job.dest, job.source, job.n, root);
      break;
    case Late::fcollect:
      Move_ulong::fcollect(call, world, job.dest, job.source, job.n);
      break;
    case Late::collect:
      Move_ulong::collect(call, world, job.dest, job.source, job.n);
      break;
    case Late::alltoall:
      Move_ulong::alltoall(call, world, job.dest, job.source, job.n);
      break;
    case Late::sum_reduce:
      Sum_uint64::sum_reduce(call, world, job.dest, job.source, job.n);
      break;
    case Late::sum_inscan:
      Sum_uint64::sum_inscan(call, world, job.dest, job.source, job.n);
      break;
  }
}

// Element i of dest after it; kUntouched where it has no result.
__device__ uint64_t expected_of(Late routine, uint64_t round, size_t n, int root, size_t i) {
  const int me = shmem_my_pe(), from = static_cast<int>(i / n);
  if (routine == Late::alltoall) return brought(round, from, static_cast<size_t>(me) * n + i % n);
  if (routine == Late::fcollect || routine == Late::collect) return brought(round, from, i % n);
  if (i >= n) return kUntouched;
  if (routine == Late::broadcast) return brought(round, root, i);
  uint64_t total = 0;
  const int end = routine == Late::sum_inscan ? me + 1 : shmem_n_pes();
  for (int pe = 0; pe < end; ++pe) total += brought(round, pe, i);
  return total;
}

// Long enough for the other PEs to do what they must not: write into the dest.
__device__ void come_late(const LateJob& job, size_t elems) {
  const long long start = clock64();
  bool touched = false;
  while (clock64() - start < 2000000)
    for (size_t i = 0; i < elems; ++i)
      touched |= shmem_ulong_g(job.dest + i, shmem_my_pe()) != kUntouched;
  if (touched) shmem_uint64_atomic_inc(job.errors, shmem_my_pe());
}

__global__ void late_kernel(Call call, LateJob job, int rounds) {
  const size_t rank = threadIdx.x, size = blockDim.x,
               all = job.n * static_cast<size_t>(shmem_n_pes());
  for (uint64_t round = 0; round < static_cast<uint64_t>(rounds * kLateRoutines); ++round) {
    const auto routine = static_cast<Late>(round % kLateRoutines);
    const int late = static_cast<int>(round / kLateRoutines) % shmem_n_pes();
    for (size_t i = rank; i < all; i += size) job.dest[i] = kUntouched;
    __syncthreads();
    if (shmem_my_pe() == late && rank + 1 == size) come_late(job, all);
    for (size_t i = rank; i < all; i += size)  // for other threads to read
      job.source[all - 1 - i] = brought(round, shmem_my_pe(), all - 1 - i);
    call_late(routine, call, job, late);
    for (size_t i = rank; i < all; i += size)
      if (job.dest[all - 1 - i] != expected_of(routine, round, job.n, late, all - 1 - i))
        shmem_uint64_atomic_inc(job.errors, shmem_my_pe());
    __syncthreads();
  }
}

TEST(DeviceCollectives, BeginWhenAllThreadsOfTheGroupHaveCome) {
  for (const Form form : {Form::kWave, Form::kBlock}) {
    SCOPED_TRACE(name_of(form));
    const size_t n = block_of(form), all = n * static_cast<size_t>(n_pes());
    DeviceArray<uint64_t> dest(all, 0), source(all, 0), errors(1, 0);
    shmem_barrier_all();
    launch(late_kernel, 1, block_of(form), Call{form, SHMEM_CTX_DEFAULT},
           LateJob{dest.data(), source.data(), errors.data(), n}, rounds(4));
    meet_after_kernels();
    EXPECT_EQ(errors.first(), 0u);
  }
}

}  // namespace
}  // namespace meshmem
