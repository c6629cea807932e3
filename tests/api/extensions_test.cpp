// SPDX-License-Identifier: Apache-2.0
//
// Host calls of the reductions beyond the standard, of every type and operation: on host memory, on
// device memory and on a stream, in place and not, on several teams.
// Invariant: routines come from the table, none is named here; extension_model.hpp says what they
// must give.
#include "extension_model.hpp"
#include "placed_array.hpp"

namespace meshmem {
namespace {

constexpr int kOld = 900;
constexpr size_t kMost = 9001 * 8 + 2;  // elements of 8 bytes

struct Workspace {
  explicit Workspace(Place place) : dest(place, kMost), source(place, kMost) {}
  PlacedArray<uint64_t> dest, source;
};

template <typename E>
void write(E* to, const std::vector<E>& values) {
  expect_success(hipMemcpy(to, values.data(), values.size() * sizeof(E), hipMemcpyDefault));
}
template <typename E>
std::vector<E> read(const E* from, size_t n) {
  std::vector<E> values(n);
  expect_success(hipMemcpy(values.data(), from, n * sizeof(E), hipMemcpyDefault));
  return values;
}

// One routine, called by `reduce`, which waits for it too: into another buffer, then in place.
template <typename E, typename Reduce>
void check(Workspace& space, const Extension& extension, const TeamView& view, size_t n,
           const Reduce& reduce) {
  auto* dest = reinterpret_cast<E*>(space.dest.data());
  auto* source = reinterpret_cast<E*>(space.source.data());
  const std::vector<E> mine = source_of<E>(extension, view, n),
                       result = result_of<E>(extension, view, n);
  std::vector<E> around = samples<E>(n + 2, my_pe(), kOld);
  write(source, mine);
  write(dest, around);
  EXPECT_EQ(reduce(view.team, dest + 1, source, n), 0);
  std::copy(result.begin(), result.end(), around.begin() + 1);
  expect_each("dest", read(dest, n + 2).data(), n + 2, [&](size_t i) { return around[i]; });
  shmem_team_sync(view.team);  // others may still read the source
  E* place = source + extension.place(view, n);
  EXPECT_EQ(reduce(view.team, place, source, n), 0);
  std::vector<E> after = mine;
  std::copy(result.begin(), result.end(),
            after.begin() + static_cast<std::ptrdiff_t>(extension.place(view, n)));
  expect_each("in place", read(source, after.size()).data(), after.size(),
              [&](size_t i) { return after[i]; });
  shmem_team_sync(view.team);
}

bool is_checked(int turn) { return !kSanitized || turn % 16 == 0; }

// Counts change from routine to routine: none, one, fewer than PEs, odd.
size_t count_of(int turn) {
  constexpr size_t kCounts[] = {13, 1, 0, 3, 61};
  return kCounts[turn % 5];
}

void check_every_routine(Workspace& space, const TeamView& view) {
  int turn = 0;
#define CHECK(name, op, E, result, params, args)              \
  if (is_checked(++turn)) {                                   \
    SCOPED_TRACE(#name);                                      \
    check<E>(space, op, view, count_of(turn), shmemx_##name); \
  }
  MESHMEM_EXTENSIONS(CHECK, MESHMEM_IN)
#undef CHECK
}

TEST(Extensions, OnHostMemoryOfEveryTypeOnEveryTeam) {
  Workspace space(Place::host);
  on_every_team([&](const TeamView& view) { check_every_routine(space, view); });
}

TEST(Extensions, OnDeviceMemoryOfEveryType) {
  Workspace space(Place::device);
  check_every_routine(space, world_view());
}

TEST(Extensions, OnAStreamOfEveryTypeOnEveryTeam) {
  Workspace space(Place::device);
  hipStream_t stream = nullptr;
  expect_success(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
  const auto on_stream = [&](auto* routine) {
    return [&stream, routine](shmem_team_t team, auto* dest, const auto* source, size_t n) {
      const int failed = routine(team, dest, source, n, stream);
      expect_success(hipStreamSynchronize(stream));
      return failed;
    };
  };
  on_every_team([&](const TeamView& view) {
    int turn = 0;
#define CHECK(name, op, E, result, params, args)                                     \
  if (is_checked(++turn)) {                                                          \
    SCOPED_TRACE(#name);                                                             \
    check<E>(space, op, view, count_of(turn), on_stream(shmemx_##name##_on_stream)); \
  }
    MESHMEM_EXTENSIONS(CHECK, MESHMEM_IN)
#undef CHECK
  });
  expect_success(hipStreamDestroy(stream));
}

// More than a message, a slice and a stage hold.
TEST(Extensions, OfManyElementsBetweenAnyPlaces) {
  const TeamView world = world_view();
  for (const Place place : kPlaces) {
    SCOPED_TRACE(name_of(place));
    Workspace space(place);
    const size_t n = kSanitized && place != Place::host ? 701 : 9001;
    check<float>(space, avg_reduce, world, n, shmemx_float_avg_reduce);
    check<long>(space, avg_reduce, world, n, shmemx_long_avg_reduce);
    check<float>(space, sum_reduce_scatter, world, n, shmemx_float_sum_reduce_scatter);
    check<long>(space, avg_reduce_scatter, world, n, shmemx_long_avg_reduce_scatter);
  }
  PlacedArray<double> dest(Place::host, 9001), source(Place::device, 9001 * world.size());
  const auto expect = [&](const Extension& extension) {
    const auto expected = result_of<double>(extension, world, 9001);
    expect_each("device to host", dest.read().data(), 9001, [&](size_t i) { return expected[i]; });
    shmem_barrier_all();
  };
  source.write(source_of<double>(avg_reduce, world, 9001));
  EXPECT_EQ(shmemx_avg_reduce(world.team, dest.data(), source.data(), 9001), 0);
  expect(avg_reduce);
  source.write(source_of<double>(max_reduce_scatter, world, 9001));
  EXPECT_EQ(shmemx_max_reduce_scatter(world.team, dest.data(), source.data(), 9001), 0);
  expect(max_reduce_scatter);
}

// Blocks of whole lines, which go around a ring: in one piece and two, one part and several.
TEST(Extensions, ScattersAroundARing) {
  Workspace space(Place::device);
  const TeamView reversed = make_view(n_pes() - 1, -1, n_pes());
  const size_t most = kMost / static_cast<size_t>(n_pes()) / 16 * 16;
  for (const char* plan : {"ring 1 40", "ring 3 128", "ring_and_copies 2 64"}) {
    ASSERT_EQ(shmemx_reduce_plan(plan), 0);
    for (const TeamView& view : {world_view(), reversed}) {
      SCOPED_TRACE(testing::Message() << plan << ", team " << view.team);
      for (const size_t n : {size_t{16}, size_t{208}, most}) {
        check<float>(space, sum_reduce_scatter, view, n, shmemx_float_sum_reduce_scatter);
        check<long>(space, avg_reduce_scatter, view, n, shmemx_long_avg_reduce_scatter);
        check<short>(space, max_reduce_scatter, view, n, shmemx_short_max_reduce_scatter);
        check<unsigned char>(space, xor_reduce_scatter, view, n, shmemx_uchar_xor_reduce_scatter);
      }
    }
  }
  ASSERT_EQ(shmemx_reduce_plan(nullptr), 0);
  shmem_team_destroy(reversed.team);
}

// Toward zero, of the sum as the type holds it.
TEST(Extensions, AveragesOfIntegersAreCutTowardZero) {
  PlacedArray<int> dest(Place::host, 2), source(Place::host, 2);
  const int n = n_pes();
  source.write({my_pe() == 0 ? -(n + n - 1) : 0, my_pe() == 0 ? n + n - 1 : 0});
  shmem_barrier_all();
  EXPECT_EQ(shmemx_int_avg_reduce(SHMEM_TEAM_WORLD, dest, source, 2), 0);
  EXPECT_EQ(dest.read(), (std::vector<int>{-1, 1}));
  PlacedArray<unsigned char> bytes(Place::host, 1);
  bytes.write({200});
  shmem_barrier_all();
  EXPECT_EQ(shmemx_uchar_avg_reduce(SHMEM_TEAM_WORLD, bytes, bytes, 1), 0);
  EXPECT_EQ(bytes.read_first(), static_cast<unsigned char>(200 * n) / n);
}

}  // namespace
}  // namespace meshmem
