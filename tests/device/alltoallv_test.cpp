// SPDX-License-Identifier: Apache-2.0
//
// alltoallv in kernels, of every type that kernels have: by a thread, a wave and a block, on
// several teams. PEs are near or, on simulated nodes, far.
// Invariant: routines come from the table, none is named here; ../api/alltoallv_model.hpp says what
// they must give.
#include "../api/alltoallv_model.hpp"
#include "forms.hpp"

namespace meshmem {
namespace {

// struct Call_<name>: a routine, by whichever group makes the call; by its overload where it has
// one.
#define MESHMEM_CALL_ROUTINE(name, op, Elem, result, params, args) \
  MESHMEM_ROUTINE_BY(name, name, Elem, result, params, args)
#define MESHMEM_CALL_OVERLOAD(name, op, Elem, result, params, args) \
  MESHMEM_ROUTINE_BY(op, name, Elem, result, params, args)
#define MESHMEM_ROUTINE_BY(routine, name, Elem, result, params, args)                  \
  struct Call_##name {                                                                 \
    using E = Elem;                                                                    \
    static __device__ __attribute__((noinline)) result call MESHMEM_WITH_CALL params { \
      if (call.form == Form::kWave) return shmemx_##routine##_wave args;               \
      if (call.form == Form::kBlock) return shmemx_##routine##_block args;             \
      return shmemx_##routine args;                                                    \
    }                                                                                  \
  };
MESHMEM_KERNEL_TYPES(MESHMEM_ALLTOALLV_ROW, MESHMEM_CALL_ROUTINE, MESHMEM_ALIAS)
MESHMEM_KERNEL_TYPES(MESHMEM_ALLTOALLV_ROW, MESHMEM_CALL_OVERLOAD, MESHMEM_GENERIC)
MESHMEM_SHORT_FLOATS(MESHMEM_ALLTOALLV_ROW, MESHMEM_CALL_OVERLOAD, MESHMEM_GENERIC)
MESHMEM_OP_ALLTOALLV(MESHMEM_CALL_ROUTINE, , mem, char, void)

template <typename Routine>
__global__ void exchange(Call call, shmem_team_t team, void* dest, const void* source,
                         const size_t* arrays, size_t n, int* failures) {
  if (!takes_part(call.form)) return;
  using E = typename Routine::E;
  const int failed = Routine::call(call, team, static_cast<E*>(dest), arrays, arrays + n,
                                   static_cast<const E*>(source), arrays + 2 * n, arrays + 3 * n);
  if (failed != 0 && leads(call.form)) *failures = 1;
}

// Values are compared by their bits.
template <size_t bytes>
using BitsOf = std::conditional_t<
    bytes == 1, uint8_t,
    std::conditional_t<bytes == 2, uint16_t, std::conditional_t<bytes == 4, uint32_t, uint64_t>>>;

struct Workspace {
  DeviceArray<uint64_t> dest{40000}, source{40000};
  DeviceArray<size_t> arrays{64};
  DeviceArray<int> failures{1, 0};
};

template <typename Routine>
void check(const char* name, Workspace& space, const AlltoallvModel& model, Form form) {
  SCOPED_TRACE(testing::Message() << name << " by a " << name_of(form));
  using Bits = BitsOf<sizeof(typename Routine::E)>;
  auto* dest = reinterpret_cast<Bits*>(space.dest.data());
  auto* source = reinterpret_cast<Bits*>(space.source.data());
  ASSERT_LE(model.size() + 1, space.dest.size());
  upload(source, model.brought<Bits>(my_pe()));
  upload(dest, model.before<Bits>());
  space.arrays.upload(model.arrays());
  launch(exchange<Routine>, 1, odd_block(), Call{form, SHMEM_CTX_DEFAULT}, model.view.team,
         static_cast<void*>(dest), static_cast<const void*>(source), space.arrays.data(),
         model.view.size(), space.failures.data());
  synchronize();
  expect_equal("dest", download(dest, model.size()), model.after<Bits>());
  EXPECT_EQ(space.failures.first(), 0);
}

TEST(DeviceAlltoallv, EveryTypeByEveryGroup) {
  Workspace space;
  const TeamView world = world_view();
  size_t turn = 0;
#define MESHMEM_CHECK(name, ...) \
  ++turn;                        \
  for (const Form form : kGroups) check<Call_##name>(#name, space, {world, 2, turn}, form);
  MESHMEM_ALLTOALLV(MESHMEM_CHECK, MESHMEM_IN)
  MESHMEM_SHORT_FLOATS(MESHMEM_ALLTOALLV_ROW, MESHMEM_CHECK, MESHMEM_IN)
#undef MESHMEM_CHECK
}

// One behind the other, so that a block of the next call must not come too early.
TEST(DeviceAlltoallv, OnEveryTeamOfAnyLength) {
  Workspace space;
  on_every_team([&](const TeamView& view) {
    size_t turn = 0;
    for (const Form form : kGroups) {
      for (const size_t scale : {size_t{0}, size_t{1}, size_t{13}, size_t{1400}})
        check<Call_long_alltoallv>("long", space, {view, scale, ++turn}, form);
    }
  });
}

__global__ void exchange_often(long* dest, const long* source, const size_t* arrays, size_t n) {
  for (int i = 0; i < 5; ++i)
    shmemx_long_alltoallv_block(SHMEM_TEAM_WORLD, dest, arrays, arrays + n, source, arrays + 2 * n,
                                arrays + 3 * n);
}

// A packet that is there already keeps no thread waiting, which then comes to the last meeting
// before the first thread has counted the packets.
TEST(DeviceAlltoallv, ByBlocksOfAnySizeOneBehindTheOther) {
  Workspace space;
  const AlltoallvModel model{world_view(), 1, 1};
  auto* dest = reinterpret_cast<long*>(space.dest.data());
  auto* source = reinterpret_cast<long*>(space.source.data());
  for (const unsigned threads : {1u, 2u, 3u, wave_size(), odd_block()}) {
    SCOPED_TRACE(threads);
    upload(reinterpret_cast<uint64_t*>(source), model.brought<uint64_t>(my_pe()));
    upload(reinterpret_cast<uint64_t*>(dest), model.before<uint64_t>());
    space.arrays.upload(model.arrays());
    launch(exchange_often, 1, threads, dest, static_cast<const long*>(source), space.arrays.data(),
           model.view.size());
    synchronize();
    expect_equal("dest", download(reinterpret_cast<uint64_t*>(dest), model.size()),
                 model.after<uint64_t>());
  }
}

__global__ void fetch_signal(Form form, uint64_t* signal, uint64_t* found) {
  if (!takes_part(form)) return;
  uint64_t value = 0;
  if (form == Form::kThread) value = shmem_signal_fetch(signal);
  if (form == Form::kWave) value = shmemx_signal_fetch_wave(signal);
  if (form == Form::kBlock) value = shmemx_signal_fetch_block(signal);
  found[threadIdx.x] = value;
}

TEST(DeviceSignalFetch, AllThreadsOfAGroupGetIt) {
  DeviceArray<uint64_t> signal(1, 77 + static_cast<uint64_t>(my_pe()));
  for (const Form form : kGroups) {
    const unsigned threads = block_of(form);
    DeviceArray<uint64_t> found(threads, 0);
    launch(fetch_signal, 1, threads, form, signal.data(), found.data());
    synchronize();
    expect_equal(name_of(form), found.download(),
                 std::vector<uint64_t>(threads, 77 + static_cast<uint64_t>(my_pe())));
  }
}

}  // namespace
}  // namespace meshmem
