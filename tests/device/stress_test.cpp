// SPDX-License-Identifier: Apache-2.0
//
// A thousand collectives in one kernel, in an order, of sizes and of teams that are drawn at
// random, with nothing between them; PEs are late by turns. ctest also runs this program with first
// epochs just below the powers of two at which epochs or packets wrap.
// Invariant: the draw is the same in all PEs. Each round's source is rewritten and its dest
// poisoned right before the call, and the result is compared right after it.
#include "forms.hpp"
#include "reduce_by_any.hpp"

namespace meshmem {
namespace {

MESHMEM_CALLS(Move, MESHMEM_ROWS_COLLECTIVE, uint64, uint64_, , uint64_t, uint64_t)
MESHMEM_CALLS(Move, MESHMEM_ROWS_COLLECTIVE, mem, , mem, char, void)
MESHMEM_CALLS(Sum, MESHMEM_ROWS_ARITH, uint64, uint64_, , uint64_t, uint64_t)
MESHMEM_CALLS(Sum, MESHMEM_ROWS_ARITH, float, float_, , float, float)
MESHMEM_CALLS(Order, MESHMEM_ROWS_ORDER, int, int_, , int, int)
MESHMEM_CALLS(Logic, MESHMEM_ROWS_LOGIC, uchar, uchar_, , unsigned char, unsigned char)

constexpr int kManyRounds = 1000;
constexpr int kMostPes = 16;
constexpr size_t kMostElems = 1060;  // more than packets carry, in short rows and in long ones
constexpr size_t kWords = kMostElems * kMostPes;

__device__ uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

// An element that PE `pe` of the team brings in a round; small, for sums of float to be exact.
template <typename E>
__device__ E brought(uint64_t round, int pe, size_t i) {
  return static_cast<E>(mix(round * 1024 + static_cast<uint64_t>(pe) * 64 + i % 64) % 1000);
}

struct Failure {
  uint64_t count, round, routine, elem, elems, found, expected;
};

struct Memory {
  uint64_t *dest, *source;
  Failure* failure;
};

// A round as one thread of the group sees it.
struct Round {
  const Call& call;
  shmem_team_t team;
  const Memory& memory;
  uint64_t number, routine;
  size_t n;
  int root;

  __device__ int me() const { return shmem_team_my_pe(team); }
  __device__ int pes() const { return shmem_team_n_pes(team); }

  // Threads write and check other elements than the collective lets them write.
  template <typename Visit>
  __device__ void for_mine(size_t elems, const Visit& visit) const {
    for (size_t i = threadIdx.x; i < elems; i += blockDim.x) visit(elems - 1 - i);
  }
  template <typename E>
  __device__ void prepare(size_t source_elems, size_t dest_elems) const {
    __syncthreads();  // the last round's result has been compared
    E* source = reinterpret_cast<E*>(memory.source);
    E* dest = reinterpret_cast<E*>(memory.dest);
    const int self = me();
    for_mine(source_elems, [&](size_t i) { source[i] = brought<E>(number, self, i); });
    for_mine(dest_elems, [&](size_t i) { dest[i] = static_cast<E>(-1); });
    __syncthreads();
  }
  template <typename E, typename Expected>
  __device__ void expect(size_t elems, const Expected& expected) const {
    const E* dest = reinterpret_cast<const E*>(memory.dest);
    for_mine(elems, [&](size_t i) {
      if (dest[i] != expected(i))
        fail(i, elems, static_cast<uint64_t>(dest[i]), static_cast<uint64_t>(expected(i)));
    });
  }
  __device__ void fail(size_t i, size_t elems, uint64_t found, uint64_t wanted) const {
    Failure* f = memory.failure;
    if (shmem_uint64_atomic_fetch_inc(&f->count, shmem_my_pe()) != 0) return;
    *f = {1, number, routine, i, elems, found, wanted};
  }
  template <typename E>
  __device__ E* dest() const {
    return reinterpret_cast<E*>(memory.dest);
  }
  template <typename E>
  __device__ const E* source() const {
    return reinterpret_cast<const E*>(memory.source);
  }
  // The combination of the elements of the team's PEs 0 to end - 1.
  template <typename E, typename Combine>
  __device__ E combined(size_t i, int end, const Combine& combine) const {
    E total = end > 0 ? brought<E>(number, 0, i) : E(0);
    for (int pe = 1; pe < end; ++pe)
      total = static_cast<E>(combine(total, brought<E>(number, pe, i)));
    return total;
  }
};

__device__ void run_broadcast(const Round& r) {
  r.prepare<uint64_t>(r.n, r.n);
  Move_uint64::broadcast(r.call, r.team, r.memory.dest, r.memory.source, r.n, r.root);
  r.expect<uint64_t>(r.n, [&](size_t i) { return brought<uint64_t>(r.number, r.root, i); });
}
template <typename Row>
__device__ void run_fcollect(const Round& r) {
  using E = typename Row::E;
  const size_t all = r.n * static_cast<size_t>(r.pes());
  r.prepare<E>(r.n, all);
  Row::fcollect(r.call, r.team, r.dest<E>(), r.source<E>(), r.n);
  r.expect<E>(all,
              [&](size_t i) { return brought<E>(r.number, static_cast<int>(i / r.n), i % r.n); });
}
// PE k brings n + k elements.
__device__ void run_collect(const Round& r) {
  const auto pes = static_cast<size_t>(r.pes());
  const size_t all = r.n * pes + pes * (pes - 1) / 2, mine = r.n + static_cast<size_t>(r.me());
  r.prepare<uint64_t>(mine, all);
  Move_uint64::collect(r.call, r.team, r.memory.dest, r.memory.source, mine);
  r.expect<uint64_t>(all, [&](size_t i) {
    size_t pe = 0;
    while (i >= r.n + pe) i -= r.n + pe++;
    return brought<uint64_t>(r.number, static_cast<int>(pe), i);
  });
}
template <typename Row>
__device__ void run_alltoall(const Round& r) {
  using E = typename Row::E;
  const size_t all = r.n * static_cast<size_t>(r.pes());
  r.prepare<E>(all, all);
  Row::alltoall(r.call, r.team, r.dest<E>(), r.source<E>(), r.n);
  const size_t first = static_cast<size_t>(r.me()) * r.n;
  r.expect<E>(all, [&](size_t i) {
    return brought<E>(r.number, static_cast<int>(i / r.n), first + i % r.n);
  });
}
template <typename Row>
__device__ void run_sum(const Round& r) {
  using E = typename Row::E;
  r.prepare<E>(r.n, r.n);
  Row::sum_reduce(r.call, r.team, r.dest<E>(), r.source<E>(), r.n);
  const auto add = [](E a, E b) { return a + b; };
  r.expect<E>(r.n, [&](size_t i) { return r.combined<E>(i, r.pes(), add); });
}
// By an algorithm that is given.
template <typename Group>
__device__ __attribute__((noinline)) void call_sum_by(const Round& r, const Group& group) {
  device::reduce_by_any(device::StaticOp<device::ReduceOp::sum>(),
                        static_cast<device::ReduceAlgorithm>(r.number % 5), group,
                        device::TeamSync(r.team), r.memory.dest, r.memory.source, r.n);
}
__device__ __attribute__((noinline)) void run_sum_by(const Round& r) {
  using E = uint64_t;
  r.prepare<E>(r.n, r.n);
  if (r.call.form == Form::kBlock) call_sum_by(r, device::Block());
  if (r.call.form == Form::kWave) call_sum_by(r, device::Wave());
  if (r.call.form == Form::kThread) call_sum_by(r, device::Thread());
  const auto add = [](E a, E b) { return a + b; };
  r.expect<E>(r.n, [&](size_t i) { return r.combined<E>(i, r.pes(), add); });
}
__device__ void run_scan(const Round& r) {
  using E = uint64_t;
  r.prepare<E>(r.n, r.n);
  if (r.number % 2) {
    Sum_uint64::sum_inscan(r.call, r.team, r.memory.dest, r.memory.source, r.n);
  } else {
    Sum_uint64::sum_exscan(r.call, r.team, r.memory.dest, r.memory.source, r.n);
  }
  const int end = r.me() + static_cast<int>(r.number % 2);
  const auto add = [](E a, E b) { return a + b; };
  r.expect<E>(r.n, [&](size_t i) { return r.combined<E>(i, end, add); });
}
__device__ void run_min(const Round& r) {
  r.prepare<int>(r.n, r.n);
  Order_int::min_reduce(r.call, r.team, r.dest<int>(), r.source<int>(), r.n);
  const auto less = [](int a, int b) { return b < a ? b : a; };
  r.expect<int>(r.n, [&](size_t i) { return r.combined<int>(i, r.pes(), less); });
}
// In place: the source is compared.
__device__ void run_xor_in_place(const Round& r) {
  using E = unsigned char;
  r.prepare<E>(0, r.n);
  const int self = r.me();
  r.for_mine(r.n, [&](size_t i) { r.dest<E>()[i] = brought<E>(r.number, self, i); });
  __syncthreads();
  Logic_uchar::xor_reduce(r.call, r.team, r.dest<E>(), r.dest<E>(), r.n);
  const auto flip = [](E a, E b) { return a ^ b; };
  r.expect<E>(r.n, [&](size_t i) { return r.combined<E>(i, r.pes(), flip); });
}

__device__ void run(const Round& r) {
  switch (r.routine) {
    case 0:
      return run_broadcast(r);
    case 1:
      return run_fcollect<Move_uint64>(r);
    case 2:
      return run_collect(r);
    case 3:
      return run_alltoall<Move_uint64>(r);
    case 4:
      return run_sum<Sum_uint64>(r);
    case 5:
      return run_sum<Sum_float>(r);
    case 6:
      return run_scan(r);
    case 7:
      return run_min(r);
    case 8:
      return run_xor_in_place(r);
    case 9:
    case 10:
      return run_sum_by(r);
    case 11:
      return run_fcollect<Move_mem>(r);
    case 12:
      return run_alltoall<Move_mem>(r);
    default:
      Untyped::team_sync(r.call, r.team);
  }
}
constexpr uint64_t kRoutines = 14;

__device__ void be_late() {
  const long long start = clock64();
  while (clock64() - start < 20000) {
  }
}

// Small counts mostly; sometimes none, or many, or as many as packets carry, but for one or two.
__device__ size_t drawn_count(uint64_t bits) {
  const uint64_t kind = bits % 8;
  if (kind == 0) return bits / 8 % 2;
  constexpr size_t kLimits[] = {31, 64, 256, 1024};
  if (kind == 6) return kLimits[bits / 8 % 4] - 2 + bits / 32 % 5;
  return kind == 7 ? bits / 8 % (kMostElems - kMostPes) : bits / 8 % 40;
}

__global__ void stress_kernel(Call call, shmem_team_t other, Memory memory, uint64_t seed,
                              int rounds) {
  const auto n = static_cast<uint64_t>(shmem_n_pes()), me = static_cast<uint64_t>(shmem_my_pe());
  for (uint64_t k = 1; k <= static_cast<uint64_t>(rounds); ++k) {
    const uint64_t bits = mix(seed + k);
    if (bits % 16 == 0 && (bits >> 8) % n == me) be_late();
    run(Round{call, (bits >> 16) % 3 ? SHMEM_TEAM_WORLD : other, memory, seed + k,
              (bits >> 24) % kRoutines, drawn_count(mix(bits)),
              static_cast<int>((bits >> 40) % n)});
  }
}

void expect_no_failure(const Failure& f) {
  EXPECT_EQ(f.count, 0u) << "round " << f.round << ", routine " << f.routine << ": element "
                         << f.elem << " of " << f.elems << " is " << f.found << ", not "
                         << f.expected;
}

void run_rounds(Form form, shmem_team_t other, uint64_t seed) {
  SCOPED_TRACE(name_of(form));
  ASSERT_LE(n_pes(), kMostPes);
  DeviceArray<uint64_t> dest(kWords, 0), source(kWords, 0);
  DeviceArray<Failure> failure(1, Failure{});
  shmem_barrier_all();
  launch(stress_kernel, 1, block_of(form), Call{form, SHMEM_CTX_DEFAULT}, other,
         Memory{dest.data(), source.data(), failure.data()}, seed, rounds(kManyRounds));
  meet_after_kernels();
  expect_no_failure(failure.first());
}

// Each reduction is longer than all before it, so that its last packets fall where none ever was:
// the initial contents must not pass for a packet. The threads that get them get nothing before,
// and one PE sends them late.
__global__ void grow_kernel(Call call, shmem_team_t team, Memory memory, int rounds) {
  for (int k = 1; k <= rounds; ++k) {
    const auto n = static_cast<size_t>(k);
    if (k % shmem_n_pes() == shmem_my_pe()) be_late();
    run_sum<Sum_uint64>(Round{call, team, memory, n, 4, n, 0});
  }
}

TEST(DeviceStress, S51_GrowingCountsFindNoStalePackets) {
  shmem_team_t fresh = SHMEM_TEAM_INVALID;
  ASSERT_EQ(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, n_pes(), nullptr, 0, &fresh), 0);
  DeviceArray<uint64_t> dest(kWords, 0), source(kWords, 0);
  DeviceArray<Failure> failure(1, Failure{});
  shmem_barrier_all();
  launch(grow_kernel, 1, 128, Call{Form::kBlock, SHMEM_CTX_DEFAULT}, fresh,
         Memory{dest.data(), source.data(), failure.data()}, 120 + rounds(100));
  meet_after_kernels();
  expect_no_failure(failure.first());
  shmem_team_destroy(fresh);
}

TEST(DeviceStress, S51_BackToBackCollectivesKeepApart) {
  shmem_team_t reversed = SHMEM_TEAM_INVALID;
  ASSERT_EQ(
      shmem_team_split_strided(SHMEM_TEAM_WORLD, n_pes() - 1, -1, n_pes(), nullptr, 0, &reversed),
      0);
  for (const Form form : kGroups) run_rounds(form, reversed, static_cast<uint64_t>(form) << 32);
  shmem_team_destroy(reversed);
}

TEST(DeviceStress, S51_TeamsWithShortRows) {
  shmem_team_t teams[18];
  for (auto& team : teams)
    ASSERT_EQ(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, n_pes(), nullptr, 0, &team), 0);
  run_rounds(Form::kBlock, teams[17], 77);
  for (const auto& team : teams) shmem_team_destroy(team);
}

}  // namespace
}  // namespace meshmem
