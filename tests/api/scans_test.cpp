// SPDX-License-Identifier: Apache-2.0
//
// Scans: sum_inscan and sum_exscan of every type against the serial model.
// Invariant: as in the reductions, the order of addition does not matter for the values.
#include "reduction_model.hpp"
#include "typed_routines.hpp"

namespace meshmem {
namespace {

constexpr size_t kMaxCount = 5003;

// The result of PE `me` of the team: the sum over the PEs up to itself, with itself or without.
template <typename E>
std::vector<E> prefix(const TeamView& view, bool inclusive) {
  if (inclusive) return model<E>(Op::kSum, view, static_cast<size_t>(view.me));
  if (view.me == 0) return std::vector<E>(kPeriod, E(0));
  return model<E>(Op::kSum, view, static_cast<size_t>(view.me) - 1);
}

template <typename E, typename Scan>
void check_scan(const Scan& scan, bool inclusive, const TeamView& view, E* dest, E* source,
                size_t n) {
  const std::vector<E> expected = prefix<E>(view, inclusive);
  contribute(Op::kSum, source, n);
  fill(dest, n + 2, my_pe(), 700);
  EXPECT_EQ(shmem_team_sync(view.team), 0);
  EXPECT_EQ(scan(view.team, dest + 1, source, n), 0);
  expect_model("dest", dest + 1, n, expected);
  EXPECT_TRUE(same(dest[0], sample<E>(seed_of(my_pe(), 0, 700))));
  EXPECT_TRUE(same(dest[n + 1], sample<E>(seed_of(my_pe(), n + 1, 700))));
  EXPECT_EQ(scan(view.team, source, source, n), 0);
  expect_model("in place", source, n, expected);
}

TEST(Scan, S56_SumsOverThePesBefore) {
  SymmetricArray<long double> dest(kMaxCount + 2), source(kMaxCount);
  on_every_team([&](const TeamView& view) {
    for_each_reduce_arith([&](const auto& row) {
      SCOPED_TRACE(row.type);
      using E = typename std::decay_t<decltype(row)>::Element;
      auto* to = reinterpret_cast<E*>(dest.data());
      auto* from = reinterpret_cast<E*>(source.data());
      for (size_t n : {size_t{1}, size_t{3}, size_t{64}, size_t{1001}, kMaxCount}) {
        check_scan(row.sum_inscan, true, view, to, from, n);
        check_scan(row.sum_exscan, false, view, to, from, n);
      }
      EXPECT_EQ(row.sum_inscan(view.team, nullptr, nullptr, 0), 0);
      EXPECT_EQ(row.sum_exscan(view.team, nullptr, nullptr, 0), 0);
    });
  });
}

TEST(Scan, S51_BackToBackCallsKeepApart) {
  SymmetricArray<long> dests(200), source(1);
  shmem_barrier_all();
  for (long round = 0; round < 200; ++round) {
    source[0] = round;
    EXPECT_EQ(
        shmem_long_sum_inscan(SHMEM_TEAM_WORLD, &dests[static_cast<size_t>(round)], source, 1), 0);
  }
  expect_each("inscan", dests.data(), 200,
              [](size_t i) { return static_cast<long>(i) * (my_pe() + 1); });
}

}  // namespace
}  // namespace meshmem
