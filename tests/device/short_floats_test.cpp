// SPDX-License-Identifier: Apache-2.0
//
// Reductions and scans of half and bfloat16: in kernels by every group and by grids, and on
// streams. They are computed in float and rounded once. Routines that only move them are tested
// with the other types, in rma_test.cpp, strided_test.cpp and collectives_test.cpp.
// Invariant: the expected values are computed in float, where all of these are exact. Overloads are
// called, which call the routines with the types' names.
#include <cstring>

#include "../api/team_views.hpp"
#include "forms.hpp"
#include "own_stream.hpp"

namespace meshmem {
namespace {

constexpr size_t kMost = 8 * 1001;

// PE `pe`'s element i: the larger ones fill the 8 bits that bfloat16 has.
float element(int pe, size_t i) {
  const float values[] = {1, -2, 0.5f, -1, 4, 96, -31, 0};
  return values[(static_cast<size_t>(pe) * 3 + i) % 8];
}
// Of a product: powers of two.
float factor(int pe, size_t i) { return element(pe, i % 4); }

enum class Kind { reduce, scatter, inscan, exscan };

struct Case {
  const char* name;
  float (*combine)(float, float);
  Kind kind;
  bool is_average, is_product;

  float source(int pe, size_t i) const { return is_product ? factor(pe, i) : element(pe, i); }
  size_t source_size(const TeamView& view, size_t n) const {
    return kind == Kind::scatter ? view.size() * n : n;
  }
  size_t place(const TeamView& view, size_t n) const {
    return kind == Kind::scatter ? static_cast<size_t>(view.me) * n : 0;
  }
  float result(const TeamView& view, size_t at) const {
    const size_t end = kind == Kind::inscan   ? static_cast<size_t>(view.me) + 1
                       : kind == Kind::exscan ? static_cast<size_t>(view.me)
                                              : view.size();
    if (end == 0) return 0;
    float total = source(view.world(0), at);
    for (size_t pe = 1; pe < end; ++pe) total = combine(total, source(view.world(pe), at));
    return is_average ? total / static_cast<float>(end) : total;
  }
};

float add(float a, float b) { return a + b; }
float multiply(float a, float b) { return a * b; }
float larger(float a, float b) { return a < b ? b : a; }
float smaller(float a, float b) { return b < a ? b : a; }
#define MESHMEM_CASES(op, combine)                                                    \
  const Case op##_reduce{#op "_reduce", combine, Kind::reduce, false, #op[0] == 'p'}, \
      op##_reduce_scatter{#op "_reduce_scatter", combine, Kind::scatter, false, #op[0] == 'p'};
MESHMEM_CASES(sum, add)
MESHMEM_CASES(prod, multiply)
MESHMEM_CASES(max, larger)
MESHMEM_CASES(min, smaller)
const Case avg_reduce{"avg_reduce", add, Kind::reduce, true, false},
    avg_reduce_scatter{"avg_reduce_scatter", add, Kind::scatter, true, false},
    sum_inscan{"sum_inscan", add, Kind::inscan, false, false},
    sum_exscan{"sum_exscan", add, Kind::exscan, false, false};

// struct Call_<name>: a routine by whichever group makes the call, by a grid, and on a stream.
#define MESHMEM_CALL_SHORT(name, op, Elem, result, params, args)        \
  struct Call_##name {                                                  \
    using E = Elem;                                                     \
    static const Case& kind() { return op; }                            \
    MESHMEM_BY_GROUP(shmemx_, op, by_group, result, params, args)       \
    static __device__ __attribute__((noinline)) result by_grid params { \
      return shmemx_##op##_grid args;                                   \
    }                                                                   \
    static result on_stream MESHMEM_WITH_STREAM params {                \
      return shmemx_##op##_on_stream MESHMEM_PASS_STREAM args;          \
    }                                                                   \
  };
MESHMEM_SHORT_REDUCTIONS(MESHMEM_CALL_SHORT, half, meshmem_half)
MESHMEM_SHORT_REDUCTIONS(MESHMEM_CALL_SHORT, bfloat16, meshmem_bfloat16)

template <typename Routine>
__global__ void group_kernel(Call call, shmem_team_t team, typename Routine::E* dest,
                             const typename Routine::E* source, size_t n, int* failures) {
  if (!takes_part(call.form)) return;
  if (Routine::by_group(call, team, dest, source, n) != 0 && leads(call.form)) *failures = 1;
}
template <typename Routine>
__global__ void grid_kernel(shmem_team_t team, typename Routine::E* dest,
                            const typename Routine::E* source, size_t n, int* failures) {
  if (Routine::by_grid(team, dest, source, n) != 0) *failures = 1;
}

struct Workspace {
  DeviceArray<uint16_t> dest{kMost + 2}, source{kMost + 2};
  DeviceArray<int> failures{1, 0};
  OwnStream stream;
};

template <typename E>
std::vector<uint16_t> bits_of(const std::vector<float>& values) {
  std::vector<uint16_t> bits(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    const E value(values[i]);
    std::memcpy(&bits[i], &value, sizeof value);
  }
  return bits;
}

// Into another buffer, at an odd element, and then in place.
template <typename Routine, typename Run>
void check(Workspace& space, const TeamView& view, size_t n, const Run& run) {
  using E = typename Routine::E;
  const Case& kind = Routine::kind();
  SCOPED_TRACE(testing::Message() << kind.name << ", count " << n);
  const size_t place = kind.place(view, n);
  std::vector<float> mine, result;
  for (size_t i = 0; i < kind.source_size(view, n); ++i) mine.push_back(kind.source(my_pe(), i));
  for (size_t i = 0; i < n; ++i) result.push_back(kind.result(view, place + i));
  auto* dest = reinterpret_cast<E*>(space.dest.data());
  auto* source = reinterpret_cast<E*>(space.source.data());
  std::vector<uint16_t> around(n + 2, 0x1234), in_place = bits_of<E>(mine);
  upload(space.dest.data(), around);
  upload(space.source.data(), in_place);
  run(dest + 1, source);
  run(source + place, source);
  synchronize();
  space.stream.synchronize();
  const std::vector<uint16_t> expected = bits_of<E>(result);
  std::copy(expected.begin(), expected.end(), around.begin() + 1);
  std::copy(expected.begin(), expected.end(),
            in_place.begin() + static_cast<std::ptrdiff_t>(place));
  expect_equal("dest", download(space.dest.data(), around.size()), around);
  expect_equal("in place", download(space.source.data(), in_place.size()), in_place);
}

template <typename Visit>
void for_each_routine(const Visit& visit) {
#define MESHMEM_VISIT(name, ...) visit(Call_##name());
  MESHMEM_SHORT_REDUCTIONS(MESHMEM_VISIT, half, meshmem_half)
  MESHMEM_SHORT_REDUCTIONS(MESHMEM_VISIT, bfloat16, meshmem_bfloat16)
#undef MESHMEM_VISIT
}

TEST(ShortFloats, EveryOperationInKernelsByEveryGroup) {
  Workspace space;
  const TeamView world = world_view();
  for_each_routine([&](auto routine) {
    using Routine = decltype(routine);
    using E = typename Routine::E;
    for (const Form form : kGroups) {
      SCOPED_TRACE(name_of(form));
      check<Routine>(space, world, 13, [&](E* dest, const E* source) {
        launch(group_kernel<Routine>, 1, odd_block(), Call{form, SHMEM_CTX_DEFAULT}, world.team,
               dest, source, size_t{13}, space.failures.data());
      });
    }
  });
  EXPECT_EQ(space.failures.first(), 0);
}

TEST(ShortFloats, EveryOperationInKernelsByGrids) {
  Workspace space;
  const TeamView world = world_view();
  for_each_routine([&](auto routine) {
    using Routine = decltype(routine);
    using E = typename Routine::E;
    constexpr size_t kCount = 1001;
    check<Routine>(space, world, kCount, [&](E* dest, const E* source) {
      launch_grid_on(nullptr, grid_kernel<Routine>, dim3(3), odd_block(), world.team, dest, source,
                     kCount, space.failures.data());
    });
  });
  EXPECT_EQ(space.failures.first(), 0);
}

TEST(ShortFloats, EveryOperationOnStreamsOfEveryTeamOfAnyCount) {
  Workspace space;
  size_t turn = 0;  // on each team other counts
  on_every_team([&](const TeamView& view) {
    for_each_routine([&](auto routine) {
      using Routine = decltype(routine);
      using E = typename Routine::E;
      constexpr size_t kCounts[] = {1001, 1, 1008, 0, 3};
      const size_t n = kCounts[turn++ % 5];
      check<Routine>(space, view, n, [&](E* dest, const E* source) {
        EXPECT_EQ(Routine::on_stream(view.team, dest, source, n, space.stream), 0);
      });
    });
  });
}

// 2048 and 256 are the first whole numbers after which the types leave some out: a 1 that is added
// in the type itself is lost.
template <typename E>
void check_float_total(int first,
                       int (*reduce)(shmem_team_t, void*, const void*, size_t, shmemx_stream_t)) {
  Workspace space;
  upload(space.source.data(), bits_of<E>({my_pe() == 0 ? static_cast<float>(first) : 1.0f}));
  EXPECT_EQ(reduce(SHMEM_TEAM_WORLD, space.dest.data(), space.source.data(), 1, space.stream), 0);
  space.stream.synchronize();
  expect_equal("sum", download(space.dest.data(), 1),
               bits_of<E>({static_cast<float>(first + n_pes() - 1)}));
}
TEST(ShortFloats, SumsAreFormedInFloatAndRoundedOnce) {
  const char* forced = std::getenv("MESHMEM_REDUCE_ALGORITHM");
  if (forced && std::strncmp(forced, "ring", 4) == 0)
    GTEST_SKIP() << "what a ring passes on is rounded at each step";
  check_float_total<meshmem_half>(2048, shmemx_half_sum_reduce_on_stream);
  check_float_total<meshmem_bfloat16>(256, shmemx_bfloat16_sum_reduce_on_stream);
}

// 40960 twice is more than the largest half.
float large_element(int pe) { return pe % 4 < 2 ? 40960.0f : -40960.0f; }
float sum_of_large(int end) {
  float sum = 0;
  for (int pe = 0; pe < end; ++pe) sum += large_element(pe);
  return sum;
}
template <typename E, typename Call>
void expect_result(float result, const Call& call) {
  Workspace space;
  const std::vector<float> mine(static_cast<size_t>(n_pes()), large_element(my_pe()));
  upload(space.source.data(), bits_of<E>(mine));
  EXPECT_EQ(call(SHMEM_TEAM_WORLD, space.dest.data(), space.source.data(), 1, space.stream), 0);
  space.stream.synchronize();
  expect_equal("result", download(space.dest.data(), 1), bits_of<E>({result}));
}
TEST(ShortFloats, SumsOnTheWayMayBeTooLargeForTheType) {
  const float sum = sum_of_large(n_pes()), average = sum / static_cast<float>(n_pes());
  const float before = sum_of_large(my_pe()), with_mine = sum_of_large(my_pe() + 1);
  expect_result<meshmem_half>(average, shmemx_half_avg_reduce_scatter_on_stream);
  expect_result<meshmem_half>(sum, shmemx_half_sum_reduce_scatter_on_stream);
  expect_result<meshmem_half>(with_mine, shmemx_half_sum_inscan_on_stream);
  expect_result<meshmem_half>(before, shmemx_half_sum_exscan_on_stream);
  expect_result<meshmem_bfloat16>(average, shmemx_bfloat16_avg_reduce_scatter_on_stream);
  expect_result<meshmem_bfloat16>(with_mine, shmemx_bfloat16_sum_inscan_on_stream);
}

}  // namespace
}  // namespace meshmem
