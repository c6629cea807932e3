// SPDX-License-Identifier: Apache-2.0
//
// The reductions beyond the standard in kernels, of every type and operation. A thread, a wave and
// a block call them, on several teams, in place and not, in one chunk and in many.
// Invariant: routines come from the table, none is named here; ../api/extension_model.hpp says what
// they must give.
#include "forms.hpp"
#include "routine_check.hpp"

namespace meshmem {
namespace {

// struct Call_<name>: a routine, by whichever group makes the call; by its overload where it has
// one.
#define MESHMEM_CALL_EXTENSION(name, op, Elem, result, params, args) \
  MESHMEM_EXTENSION_BY(name, name, op, Elem, result, params, args)
#define MESHMEM_OVERLOAD_EXTENSION(name, op, Elem, result, params, args) \
  MESHMEM_EXTENSION_BY(op, name, op, Elem, result, params, args)
#define MESHMEM_EXTENSION_BY(routine, name, op, Elem, result, params, args)            \
  struct Call_##name {                                                                 \
    using E = Elem;                                                                    \
    static Extension kind() { return op; }                                             \
    static __device__ __attribute__((noinline)) result call MESHMEM_WITH_CALL params { \
      if (call.form == Form::kWave) return shmemx_##routine##_wave args;               \
      if (call.form == Form::kBlock) return shmemx_##routine##_block args;             \
      return shmemx_##routine args;                                                    \
    }                                                                                  \
  };
MESHMEM_EXTENSIONS(MESHMEM_CALL_EXTENSION, MESHMEM_ALIAS)
MESHMEM_EXTENSIONS(MESHMEM_OVERLOAD_EXTENSION, MESHMEM_GENERIC)

template <typename Routine>
__global__ void extension_kernel(Call call, shmem_team_t team, typename Routine::E* dest,
                                 const typename Routine::E* source, size_t n, int* failures) {
  if (!takes_part(call.form)) return;
  if (Routine::call(call, team, dest, source, n) != 0 && leads(call.form)) *failures = 1;
}

template <typename Routine>
void check(const char* name, Workspace& space, const TeamView& view, Form form, size_t n) {
  SCOPED_TRACE(testing::Message() << name << " by a " << name_of(form) << ", count " << n);
  using E = typename Routine::E;
  check_routine<E>(space, Routine::kind(), view, n, [&](E* dest, const E* source) {
    launch(extension_kernel<Routine>, 1, odd_block(), Call{form, SHMEM_CTX_DEFAULT}, view.team,
           dest, source, n, space.failures.data());
  });
}

TEST(DeviceExtensions, FractionsByEveryGroup) {
  const uint64_t seed = agreed_seed();
  SCOPED_TRACE(testing::Message() << "seed " << seed << " (MESHMEM_TEST_SEED repeats it)");
  Workspace space;
  on_every_team([&](const TeamView& view) {
    for (const Form form : kGroups) {
#define MESHMEM_CHECK(name, op, E, ...)                                                    \
  {                                                                                        \
    SCOPED_TRACE(#name);                                                                   \
    const auto run = [&](E* dest, const E* source) {                                       \
      launch(extension_kernel<Call_##name>, 1, odd_block(), Call{form, SHMEM_CTX_DEFAULT}, \
             view.team, dest, source, size_t{13}, space.failures.data());                  \
    };                                                                                     \
    check_fractions<E>(space, op, view, 13, seed, run);                                    \
  }
      MESHMEM_OPS_AVERAGE(MESHMEM_CHECK, double_, double)
      MESHMEM_OPS_SCATTER_ARITH(MESHMEM_CHECK, float_, float)
#undef MESHMEM_CHECK
    }
  });
}

// Counts change from routine to routine: none, one, fewer than PEs, odd.
size_t count_of(size_t turn) {
  constexpr size_t kCounts[] = {13, 1, 0, 3, 61};
  return kCounts[turn % 5];
}

TEST(DeviceExtensions, EveryTypeByEveryGroup) {
  Workspace space;
  const TeamView world = world_view();
#define MESHMEM_CHECK(name, ...) \
  for (const Form form : kGroups) check<Call_##name>(#name, space, world, form, 13);
  MESHMEM_EXTENSIONS(MESHMEM_CHECK, MESHMEM_IN)
#undef MESHMEM_CHECK
}

TEST(DeviceExtensions, EveryTypeOnEveryTeamOfAnyCount) {
  Workspace space;
  on_every_team([&](const TeamView& view) {
    size_t turn = 0;
#define MESHMEM_CHECK(name, ...) \
  ++turn;                        \
  check<Call_##name>(#name, space, view, kGroups[turn % 3], count_of(turn));
    MESHMEM_EXTENSIONS(MESHMEM_CHECK, MESHMEM_IN)
#undef MESHMEM_CHECK
  });
}

// More than the stage holds of one PE, and teams made late, whose stages are small.
TEST(DeviceExtensions, CountsOfSeveralParts) {
  Workspace space;
  const TeamView world = world_view();
  check<Call_float_avg_reduce>("float", space, world, Form::kBlock, 35001);
  check<Call_double_sum_reduce_scatter>("double", space, world, Form::kBlock, 35001);
  check<Call_uchar_xor_reduce_scatter>("uchar", space, world, Form::kBlock, 140001);
  std::vector<TeamView> views;
  for (int i = 0; i < 18; ++i) views.push_back(make_view(n_pes() - 1, -1, n_pes()));
  for (const Form form : kGroups) {
    check<Call_short_avg_reduce>("short", space, views.back(), form, 257);
    check<Call_longlong_min_reduce_scatter>("longlong", space, views.back(), form, 257);
  }
  for (const TeamView& view : views) shmem_team_destroy(view.team);
}

}  // namespace
}  // namespace meshmem
