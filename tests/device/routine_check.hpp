// SPDX-License-Identifier: Apache-2.0
//
// One reduction in kernels, whoever runs it, against the model: into another buffer, then in place.
// Invariant: nothing synchronizes the PEs between the two.
#ifndef MESHMEM_TESTS_DEVICE_ROUTINE_CHECK_HPP
#define MESHMEM_TESTS_DEVICE_ROUTINE_CHECK_HPP

#include "../api/extension_model.hpp"
#include "device_array.hpp"

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

}  // namespace meshmem

#endif
