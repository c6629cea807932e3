// SPDX-License-Identifier: Apache-2.0
//
// Compares the bits of results, also between PEs, by one number for all elements.
#ifndef MESHMEM_TESTS_DEVICE_SAME_BITS_HPP_
#define MESHMEM_TESTS_DEVICE_SAME_BITS_HPP_

#include <gtest/gtest.h>
#include <shmem.h>

#include <cstdint>
#include <cstring>
#include <vector>

#include "../api/team_views.hpp"
#include "drawn_values.hpp"

namespace meshmem {

template <typename E>
std::uint64_t digest(const E* values, size_t n) {
  std::uint64_t all = 0;
  for (size_t i = 0; i < n; ++i) {
    device::Bits<sizeof(E)> bits;
    std::memcpy(&bits, &values[i], sizeof bits);
    all = mixed(all + bits + 1);
  }
  return all;
}
template <typename E>
std::uint64_t digest(const std::vector<E>& values) {
  return digest(values.data(), values.size());
}

inline void expect_same_on_all(const TeamView& view, std::uint64_t mine) {
  static std::uint64_t sent, least, most;
  sent = mine;
  shmem_team_sync(view.team);
  shmem_uint64_min_reduce(view.team, &least, &sent, 1);
  shmem_uint64_max_reduce(view.team, &most, &sent, 1);
  EXPECT_EQ(least, most) << "PEs have different bits";
}

}  // namespace meshmem

#endif  // MESHMEM_TESTS_DEVICE_SAME_BITS_HPP_
