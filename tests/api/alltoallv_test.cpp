// SPDX-License-Identifier: Apache-2.0
//
// Host calls of alltoallv, of every type of the table: on host memory, on device memory, and on a
// stream. Teams and lengths of blocks differ, and some blocks are empty.
// Invariant: the table gives the routines to test, so none is forgotten. alltoallv_model.hpp
// computes what they must return.
#include "alltoallv_model.hpp"
#include "placed_array.hpp"

namespace meshmem {
namespace {

constexpr size_t kMost = size_t{3} << 19;  // bytes

struct Workspace {
  Workspace(Place dest_place, Place source_place)
      : dest(dest_place, kMost), source(source_place, kMost), arrays(Place::device, 64) {}
  PlacedArray<char> dest, source;
  PlacedArray<size_t> arrays;  // where kernels find them
};

template <typename E, typename Exchange>
void check(Workspace& space, const AlltoallvModel& model, const Exchange& exchange) {
  auto* dest = reinterpret_cast<E*>(space.dest.data());
  auto* source = reinterpret_cast<E*>(space.source.data());
  const std::vector<E> mine = model.brought<E>(my_pe()), old = model.before<E>();
  ASSERT_LE((mine.size() + 1) * sizeof(E), kMost);
  expect_success(hipMemcpy(source, mine.data(), mine.size() * sizeof(E), hipMemcpyDefault));
  expect_success(hipMemcpy(dest, old.data(), old.size() * sizeof(E), hipMemcpyDefault));
  const size_t n = model.view.size();
  std::vector<size_t> arrays = model.arrays();
  space.arrays.write(arrays);
  EXPECT_EQ(exchange(dest, source, arrays.data(), n), 0);
  std::vector<E> found(old.size());
  expect_success(hipMemcpy(found.data(), dest, found.size() * sizeof(E), hipMemcpyDefault));
  const std::vector<E> expected = model.after<E>();
  expect_each("dest", found.data(), found.size(), [&](size_t i) { return expected[i]; });
  // The source may be overwritten at once.
  expect_success(hipMemcpy(source, old.data(), old.size() * sizeof(E), hipMemcpyDefault));
}

// Wraps a routine in a function that takes its four arrays of lengths and displacements as one.
template <typename Routine>
auto by_host(shmem_team_t team, Routine routine) {
  return [=](auto* dest, const auto* source, const size_t* arrays, size_t n) {
    return routine(team, dest, arrays, arrays + n, source, arrays + 2 * n, arrays + 3 * n);
  };
}

void check_every_type(Workspace& space, const TeamView& view, size_t scale) {
  size_t turn = 0;
#define CHECK(name, op, E, result, params, args)                             \
  if (++turn % 6 == 1 || !kSanitized) {                                      \
    SCOPED_TRACE(#name);                                                     \
    check<E>(space, {view, scale, turn}, by_host(view.team, shmemx_##name)); \
  }
  MESHMEM_ALLTOALLV(CHECK, MESHMEM_IN)
  MESHMEM_ALLTOALLV_ON_HOST(CHECK, MESHMEM_IN)
#undef CHECK
}

TEST(Alltoallv, OnHostMemoryOfEveryTypeOnEveryTeam) {
  Workspace space(Place::host, Place::host);
  on_every_team([&](const TeamView& view) { check_every_type(space, view, 3); });
}

TEST(Alltoallv, OnDeviceMemoryOfEveryType) {
  Workspace space(Place::device, Place::device);
  check_every_type(space, world_view(), 1);
}

TEST(Alltoallv, OfManyElementsBetweenAnyPlaces) {
  const TeamView view = world_view();
  for (const Place to : kPlaces) {
    for (const Place from : kPlaces) {
      Workspace space(to, from);
      const AlltoallvModel model{view, 2000, 1};
      check<long>(space, model, by_host(view.team, shmemx_long_alltoallv));
      // The arrays may lie in device memory too, and the overload has no type in its name.
      const size_t* arrays = space.arrays.data();
      check<float>(space, model, [&](float* dest, const float* source, const size_t*, size_t n) {
        return shmemx_alltoallv(view.team, dest, arrays, arrays + n, source, arrays + 2 * n,
                                arrays + 3 * n);
      });
    }
  }
}

TEST(Alltoallv, OnAStreamOfEveryTypeOnEveryTeam) {
  Workspace space(Place::device, Place::device);
  hipStream_t stream = nullptr;
  expect_success(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
  const auto on_stream = [&](shmem_team_t team, auto routine) {
    return [&space, stream, team, routine](auto* dest, const auto* source, const size_t*,
                                           size_t n) {
      const size_t* arrays = space.arrays.data();
      const int failed =
          routine(team, dest, arrays, arrays + n, source, arrays + 2 * n, arrays + 3 * n, stream);
      expect_success(hipStreamSynchronize(stream));
      return failed;
    };
  };
  on_every_team([&](const TeamView& view) {
    size_t turn = 0;
#define CHECK(name, op, E, result, params, args)                        \
  if (++turn % 6 == 1 || !kSanitized) {                                 \
    SCOPED_TRACE(#name);                                                \
    check<E>(space, {view, turn == 3 ? size_t{5000} : size_t{3}, turn}, \
             on_stream(view.team, shmemx_##name##_on_stream));          \
  }
    MESHMEM_ALLTOALLV(CHECK, MESHMEM_IN)
#undef CHECK
  });
  expect_success(hipStreamDestroy(stream));
}

}  // namespace
}  // namespace meshmem
