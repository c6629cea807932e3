// SPDX-License-Identifier: Apache-2.0
//
// One reduction in kernels, by any group, against the model: into another buffer, then in place.
// And with random fractions, against a reference in double.
// Invariant: nothing synchronizes the PEs between the two.
#ifndef MESHMEM_TESTS_DEVICE_ROUTINE_CHECK_HPP
#define MESHMEM_TESTS_DEVICE_ROUTINE_CHECK_HPP

#include "../api/extension_model.hpp"
#include "drawn_values.hpp"

namespace meshmem {

constexpr int kOld = 900;
constexpr size_t kMost = 36000 * 8 + 2;  // elements of 8 bytes

struct Workspace {
  DeviceArray<uint64_t> dest{kMost}, source{kMost};
  DeviceArray<int> failures{1, 0};
};

// run(dest, source) launches the kernel.
template <typename E, typename Run>
void check_routine(Workspace& space, const Extension& kind, const TeamView& view, size_t n,
                   const Run& run) {
  using OnHost = Stored<E>;
  auto* dest = reinterpret_cast<OnHost*>(space.dest.data());
  auto* source = reinterpret_cast<OnHost*>(space.source.data());
  std::vector<OnHost> mine = source_of<E>(kind, view, n);
  const std::vector<OnHost> result = result_of<E>(kind, view, n);
  std::vector<OnHost> around = samples<OnHost>(n + 2, my_pe(), kOld);
  ASSERT_LE(mine.size() * sizeof(E), kMost * sizeof(uint64_t));
  upload(source, mine);
  upload(dest, around);
  const auto place = static_cast<std::ptrdiff_t>(kind.place(view, n));
  auto* first = reinterpret_cast<E*>(source);
  run(reinterpret_cast<E*>(dest + 1), first);
  run(first + place, first);
  synchronize();
  std::copy(result.begin(), result.end(), around.begin() + 1);
  expect_equal("dest", download(dest, around.size()), around);
  std::copy(result.begin(), result.end(), mine.begin() + place);
  expect_equal("in place", download(source, mine.size()), mine);
  EXPECT_EQ(space.failures.first(), 0);
}

// Elements 0 to n - 1 of a result, with poison around them.
template <typename E>
void expect_fractions(const char* what, const std::vector<E>& found, const Extension& kind,
                      const TeamView& view, uint64_t number) {
  const size_t n = found.size() - 2, contributors = kind.contributors(view);
  for (const size_t edge : {size_t{0}, n + 1}) {
    for (size_t k = 0; k < sizeof(E); ++k)
      ASSERT_EQ(reinterpret_cast<const unsigned char*>(&found[edge])[k], kPoison) << what << edge;
  }
  for (size_t i = 0; i < n; ++i) {
    const double value = in_double(found[i + 1]);
    const bool right = contributors == 0
                           ? value == 0
                           : is_right(found[i + 1], operation_of(kind.op), number,
                                      kind.place(view, n) + i, static_cast<int>(contributors));
    ASSERT_TRUE(right) << what << ", element " << i << ": " << value;
  }
}

template <typename E, typename Run>
void check_fractions(Workspace& space, const Extension& kind, const TeamView& view, size_t n,
                     uint64_t number, const Run& run) {
  auto* dest = reinterpret_cast<E*>(space.dest.data());
  auto* source = reinterpret_cast<E*>(space.source.data());
  const size_t place = kind.place(view, n), size = kind.source_size(view, n);
  std::vector<E> around(n + 2), sources(size + 2);
  std::memset(static_cast<void*>(around.data()), kPoison, around.size() * sizeof(E));
  sources.front() = sources.back() = around.front();
  for (size_t i = 0; i < size; ++i)
    sources[i + 1] = drawn<E>(operation_of(kind.op), number, view.me, i);
  upload(dest, around);
  upload(source, sources);
  run(dest + 1, source + 1);
  run(source + 1 + place, source + 1);
  synchronize();
  expect_fractions("dest", download(dest, around.size()), kind, view, number);
  std::vector<E> in_place = download(source, sources.size());
  // The elements around the result are the source's own.
  std::vector<E> result(in_place.begin() + static_cast<std::ptrdiff_t>(place),
                        in_place.begin() + static_cast<std::ptrdiff_t>(place + n + 2));
  for (const size_t edge : {size_t{0}, n + 1}) {
    EXPECT_EQ(std::memcmp(&result[edge], &sources[place + edge], sizeof(E)), 0) << "edge " << edge;
    result[edge] = around[0];
  }
  expect_fractions("in place", result, kind, view, number);
  EXPECT_EQ(space.failures.first(), 0);
}

}  // namespace meshmem

#endif
