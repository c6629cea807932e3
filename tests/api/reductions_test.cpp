// SPDX-License-Identifier: Apache-2.0
//
// Reductions: every operation of every type against the serial model, on several teams, in place
// and not, of counts that no number of PEs divides; back-to-back; reproducible. ctest runs the
// program once for each MESHMEM_REDUCE_ALGORITHM.
// Invariant: where the order matters, as in sums of wild floating-point numbers, tests expect only
// the promises of every algorithm.
#include <shmemx.h>
#include <unistd.h>

#include <complex>
#include <cstdlib>
#include <cstring>

#include "reduction_model.hpp"
#include "typed_routines.hpp"

namespace meshmem {
namespace {

template <typename E>
using Reduce = int (*)(shmem_team_t, E*, const E*, size_t);

constexpr int kOld = 900;
constexpr size_t kMaxCount = 10007;

// Calls visit(type, op, reduce) for every reduction that there is.
template <typename Visit>
void for_each_reduction(const Visit& visit) {
  for_each_reduce_arith([&](const auto& row) {
    visit(row.type, Op::kSum, row.sum_reduce);
    visit(row.type, Op::kProd, row.prod_reduce);
  });
  for_each_reduce_order([&](const auto& row) {
    visit(row.type, Op::kMax, row.max_reduce);
    visit(row.type, Op::kMin, row.min_reduce);
  });
  for_each_reduce_logic([&](const auto& row) {
    visit(row.type, Op::kAnd, row.and_reduce);
    visit(row.type, Op::kOr, row.or_reduce);
    visit(row.type, Op::kXor, row.xor_reduce);
  });
}

// Reduces n elements into another buffer and then in place, and compares both with the model.
template <typename E>
void check_reduce(Op op, Reduce<E> reduce, const TeamView& view, E* dest, E* source, size_t n) {
  SCOPED_TRACE(n);
  const std::vector<E> expected = model<E>(op, view, view.size() - 1);
  contribute(op, source, n);
  fill(dest, n + 2, my_pe(), kOld);
  EXPECT_EQ(shmem_team_sync(view.team), 0);
  EXPECT_EQ(reduce(view.team, dest + 1, source, n), 0);
  expect_model("dest", dest + 1, n, expected);
  expect_each("source, which must stay", source, n,
              [&](size_t i) { return contribution<E>(op, my_pe(), i); });
  EXPECT_TRUE(same(dest[0], sample<E>(seed_of(my_pe(), 0, kOld)))) << "the element before dest";
  EXPECT_TRUE(same(dest[n + 1], sample<E>(seed_of(my_pe(), n + 1, kOld)))) << "the element after";
  EXPECT_EQ(reduce(view.team, source, source, n), 0);
  expect_model("in place", source, n, expected);
}

template <typename E>
E element_of(Reduce<E>);

template <typename Check>
void for_every_reduction_and_team(const Check& check) {
  // Shared by all types: two arrays that are large and aligned enough for any.
  SymmetricArray<long double> dest(kMaxCount + 2), source(kMaxCount + 2);
  on_every_team([&](const TeamView& view) {
    for_each_reduction([&](const char* type, Op op, auto reduce) {
      SCOPED_TRACE(testing::Message() << type << ", operation " << static_cast<int>(op));
      using E = decltype(element_of(reduce));
      check(op, reduce, view, reinterpret_cast<E*>(dest.data()),
            reinterpret_cast<E*>(source.data()));
    });
  });
}

TEST(Reduce, S53_S57_SmallCountsEqualTheModel) {
  for_every_reduction_and_team(
      [](Op op, auto reduce, const TeamView& view, auto* dest, auto* source) {
        for (size_t n : {2, 7, 64}) check_reduce(op, reduce, view, dest, source, n);
        if (view.team != SHMEM_TEAM_WORLD) return;
        for (size_t n : {1, 3, 8, 63}) check_reduce(op, reduce, view, dest, source, n);
      });
}

TEST(Reduce, S53_S57_LargerCountsEqualTheModel) {
  for_every_reduction_and_team(
      [](Op op, auto reduce, const TeamView& view, auto* dest, auto* source) {
        check_reduce(op, reduce, view, dest, source, 1000);
        if (view.team == SHMEM_TEAM_WORLD) check_reduce(op, reduce, view, dest, source, kMaxCount);
      });
}

TEST(Reduce, S18_ZeroCountReturnsZeroAndStaysMatched) {
  for_every_reduction_and_team(
      [](Op op, auto reduce, const TeamView& view, auto* dest, auto* source) {
        EXPECT_EQ(reduce(view.team, nullptr, nullptr, 0), 0);
        *dest = sample<std::remove_reference_t<decltype(*dest)>>(1);
        const auto old = *dest;
        EXPECT_EQ(reduce(view.team, dest, source, 0), 0);
        EXPECT_TRUE(same(*dest, old));
        if (op == Op::kXor) check_reduce(op, reduce, view, dest, source, 2);
      });
}

// More than any staging buffer holds, and not a multiple of anything.
TEST(Reduce, S57_MegabytesEqualTheModel) {
  const size_t bytes = (1u << 20) + (1u << 18) + 48;
  SymmetricArray<char> dest(bytes + 64), source(bytes + 64);
  const TeamView view = world_view();
  auto check = [&](Op op, auto reduce) {
    using E = decltype(element_of(reduce));
    check_reduce<E>(op, reduce, view, reinterpret_cast<E*>(dest.data()),
                    reinterpret_cast<E*>(source.data()), bytes / sizeof(E));
  };
  check(Op::kSum, shmem_int_sum_reduce);
  check(Op::kSum, shmem_float_sum_reduce);
  check(Op::kMax, shmem_double_max_reduce);
  check(Op::kProd, shmem_complexd_prod_reduce);
  check(Op::kXor, shmem_uint8_xor_reduce);
  check(Op::kMin, shmem_longdouble_min_reduce);
}

// Sizes in bytes around cache lines, pages and stages; ends of chunks fall on every offset.
TEST(Reduce, S57_CountsAroundBufferSizesEqualTheModel) {
  const size_t largest = 131077;
  SymmetricArray<unsigned char> dest(largest + 2), source(largest + 2);
  const TeamView view = world_view();
  for (size_t n :
       {55, 56, 57, 511, 513, 2047, 2048, 2049, 4097, 65535, 65536, 65537, 131072, 131077}) {
    check_reduce<unsigned char>(Op::kSum, shmem_uchar_sum_reduce, view, dest, source, n);
  }
}

TEST(Reduce, S57_StaticMemoryWorks) {
  static float dest[300], source[300];
  on_every_team([](const TeamView& view) {
    check_reduce<float>(Op::kSum, shmem_float_sum_reduce, view, dest, source, 298);
    check_reduce<float>(Op::kMin, shmem_float_min_reduce, view, dest, source, 5);
  });
}

constexpr size_t kCounts[] = {1, 5, 900, 2, 20000, 7, 7, 6000, 8, 3000};

// One PE late in each round, the source rewritten as soon as a call returns, two dests in turn, no
// barrier.
TEST(Reduce, S51_BackToBackCallsKeepApart) {
  SymmetricArray<uint64_t> first(20000), second(20000), source(20000);
  shmem_barrier_all();
  for (int round = 0; round < 100; ++round) {
    const size_t n = kCounts[round % 10];
    if (round % 7 == 6 && round / 7 % n_pes() == my_pe()) usleep(1500);
    for (size_t i = 0; i < n; ++i)
      source[i] = static_cast<uint64_t>(round) + i * static_cast<uint64_t>(my_pe() + 1);
    uint64_t* dest = round % 2 == 0 ? first : second;
    EXPECT_EQ(shmem_uint64_sum_reduce(SHMEM_TEAM_WORLD, dest, source, n), 0);
    const auto pes = static_cast<uint64_t>(n_pes());
    const uint64_t weight = pes * (pes + 1) / 2;
    expect_each("sum", dest, n,
                [=](size_t i) { return static_cast<uint64_t>(round) * pes + i * weight; });
  }
}

TEST(Reduce, S51_BackToBackInPlaceKeepsApart) {
  SymmetricArray<int64_t> value(3000);
  for (size_t n : {size_t{1}, size_t{3}, size_t{3000}}) {
    shmem_barrier_all();
    for (size_t i = 0; i < n; ++i) value[i] = static_cast<int64_t>(i);
    for (int round = 0; round < 60; ++round) {
      if (round % 6 == 5 && round / 6 % n_pes() == my_pe()) usleep(1000);
      for (size_t i = 0; i < n; ++i) value[i] += my_pe() == 0 ? 1 : 0;
      EXPECT_EQ(shmem_int64_max_reduce(SHMEM_TEAM_WORLD, value, value, n), 0);
      const auto ticks = static_cast<int64_t>(round) + 1;
      expect_each("max", value.data(), n,
                  [=](size_t i) { return static_cast<int64_t>(i) + ticks; });
    }
  }
}

// Reductions of overlapping teams follow each other.
TEST(Reduce, S51_TeamsMayAlternate) {
  const int n = n_pes();
  TeamView low = make_view(0, 1, (n + 1) / 2), reversed = make_view(n - 1, -1, n);
  static long sum, mine;
  for (long round = 1; round <= 100; ++round) {
    mine = round + my_pe();
    EXPECT_EQ(shmem_long_sum_reduce(reversed.team, &sum, &mine, 1), 0);
    EXPECT_EQ(sum, n * round + n * (n - 1) / 2);
    if (low.me >= 0) {
      EXPECT_EQ(shmem_long_sum_reduce(low.team, &sum, &mine, 1), 0);
      EXPECT_EQ(sum, low.n() * round + low.n() * (low.n() - 1) / 2);
    }
    EXPECT_EQ(shmem_long_max_reduce(SHMEM_TEAM_WORLD, &sum, &mine, 1), 0);
    EXPECT_EQ(sum, round + n - 1);
  }
  shmem_team_destroy(low.team);
  shmem_team_destroy(reversed.team);
}

// Numbers whose sum depends on the order in which they are added.
template <typename E>
E wild(int pe, size_t i) {
  const uint64_t bits = scramble(seed_of(pe, i));
  const E mantissa = static_cast<E>(static_cast<int64_t>(bits >> 12) - (int64_t{1} << 51));
  return mantissa * static_cast<E>(uint64_t{1} << (bits % 40));
}

template <typename E>
void check_reproducible(Reduce<E> sum_reduce, size_t n) {
  SCOPED_TRACE(n);
  SymmetricArray<E> first(n), again(n), source(n);
  for (size_t i = 0; i < n; ++i) source[i] = wild<E>(my_pe(), i);
  EXPECT_EQ(sum_reduce(SHMEM_TEAM_WORLD, first, source, n), 0);
  for (int round = 0; round < 5; ++round) {
    if (round % n_pes() == my_pe()) usleep(500);  // other orders of arrival
    EXPECT_EQ(sum_reduce(SHMEM_TEAM_WORLD, again, source, n), 0);
    EXPECT_EQ(std::memcmp(first, again, n * sizeof(E)), 0) << "another result in another call";
  }
  shmem_barrier_all();
  std::vector<E> theirs(n);
  shmem_getmem(theirs.data(), first, n * sizeof(E), 0);
  EXPECT_EQ(std::memcmp(first, theirs.data(), n * sizeof(E)), 0) << "PE 0 has another result";
  shmem_barrier_all();
}

TEST(Reduce, S58_ResultsAreReproducibleBitForBit) {
  for (size_t n : {1, 5, 100, 4099, 40000}) {
    check_reproducible<double>(shmem_double_sum_reduce, n);
    check_reproducible<float>(shmem_float_sum_reduce, n);
  }
}

template <typename E>
void expect_pe_order(shmem_team_t team, Reduce<E> sum_reduce) {
  for (size_t n : {1, 5, 100, 4099, 40000}) {
    SymmetricArray<E> dest(n), source(n);
    for (size_t i = 0; i < n; ++i) source[i] = wild<E>(my_pe(), i);
    EXPECT_EQ(sum_reduce(team, dest, source, n), 0);
    expect_each("sum in PE order", dest.data(), n, [](size_t i) {
      E sum = wild<E>(0, i);
      for (int pe = 1; pe < n_pes(); ++pe) sum += wild<E>(pe, i);
      return sum;
    });
  }
}

TEST(Reduce, S58_DeterministicMeansInPeOrder) {
  const char* wanted = std::getenv("MESHMEM_DETERMINISTIC");
  if (!wanted || std::strcmp(wanted, "1") != 0) GTEST_SKIP() << "MESHMEM_DETERMINISTIC is not 1";
  expect_pe_order<float>(SHMEM_TEAM_WORLD, shmem_float_sum_reduce);
}

TEST(Reduce, S58_TeamsWithAFixedOrderAddInPeOrder) {
  EXPECT_NE(shmemx_team_fix_reduce_order(SHMEM_TEAM_INVALID), 0);
  const TeamView all = make_view(0, 1, n_pes());
  EXPECT_EQ(shmemx_team_fix_reduce_order(all.team), 0);
  expect_pe_order<float>(all.team, shmem_float_sum_reduce);
  expect_pe_order<double>(all.team, shmem_double_sum_reduce);
  expect_pe_order<long double>(all.team, shmem_longdouble_sum_reduce);
  expect_pe_order<std::complex<float>>(all.team, shmem_sum_reduce);
  expect_pe_order<std::complex<double>>(all.team, shmem_sum_reduce);
  shmem_team_destroy(all.team);
}

// Zeros, infinities and the smallest numbers are values like others.
TEST(Reduce, S58_SpecialFloatsAreExact) {
  static double dest[4], source[4];
  const double infinity = std::numeric_limits<double>::infinity();
  const double tiny = std::numeric_limits<double>::denorm_min();
  const bool last = my_pe() == n_pes() - 1;
  source[0] = last ? infinity : 1;
  source[1] = last ? -infinity : 1;
  source[2] = tiny;
  source[3] = std::numeric_limits<double>::lowest();
  shmem_barrier_all();
  EXPECT_EQ(shmem_double_max_reduce(SHMEM_TEAM_WORLD, dest, source, 4), 0);
  EXPECT_EQ(dest[0], infinity);
  EXPECT_EQ(dest[3], std::numeric_limits<double>::lowest());
  shmem_barrier_all();
  EXPECT_EQ(shmem_double_min_reduce(SHMEM_TEAM_WORLD, dest, source, 4), 0);
  EXPECT_EQ(dest[1], -infinity);
  shmem_barrier_all();
  EXPECT_EQ(shmem_double_sum_reduce(SHMEM_TEAM_WORLD, dest, source, 3), 0);
  EXPECT_EQ(dest[2], tiny * n_pes());
}

// Elements without a NaN are as always. With a NaN, max and min are one of the PEs' values: the
// standard does not say which, but it is the same on all PEs.
template <typename Row>
void check_nans(const Row& row) {
  using E = typename Row::Element;
  static E dest[3], source[3], last[3];
  const E nan = std::numeric_limits<E>::quiet_NaN();
  for (auto reduce : {row.max_reduce, row.min_reduce}) {
    source[0] = source[2] = static_cast<E>(my_pe());
    source[1] = my_pe() == n_pes() / 2 ? nan : static_cast<E>(-1 - my_pe());
    EXPECT_EQ(reduce(SHMEM_TEAM_WORLD, dest, source, 3), 0);
    const E expected = reduce == row.max_reduce ? static_cast<E>(n_pes() - 1) : E(0);
    EXPECT_EQ(dest[0], expected);
    EXPECT_EQ(dest[2], expected);
    EXPECT_TRUE(dest[1] != dest[1] || (dest[1] <= -1 && dest[1] >= -n_pes())) << dest[1];
    shmem_barrier_all();
    shmem_getmem(last, dest, sizeof last, n_pes() - 1);
    EXPECT_EQ(dest[1] != dest[1], last[1] != last[1]) << "a NaN on some PEs only";
    EXPECT_TRUE(dest[1] != dest[1] || dest[1] == last[1]) << "unlike results";
    shmem_barrier_all();
  }
}

TEST(Reduce, S58_NansGiveOneOfTheTwoOnAllPes) {
  for_each_reduce_order([](const auto& row) {
    SCOPED_TRACE(row.type);
    using E = typename std::decay_t<decltype(row)>::Element;
    if constexpr (std::is_floating_point_v<E>) check_nans(row);
  });
}

TEST(Reduce, S58_ANanMakesTheSumANan) {
  static double dest[2], source[2];
  source[0] = my_pe() == 0 ? std::numeric_limits<double>::quiet_NaN() : 1;
  source[1] = 1;
  shmem_barrier_all();
  EXPECT_EQ(shmem_double_sum_reduce(SHMEM_TEAM_WORLD, dest, source, 2), 0);
  EXPECT_NE(dest[0], dest[0]);
  EXPECT_EQ(dest[1], n_pes());
}

template <typename Real>
void check_std_complex() {
  using Complex = std::complex<Real>;
  static Complex dest[3], source[3];
  for (int i = 0; i < 3; ++i) source[i] = Complex(Real(my_pe() + i), Real(1));
  shmem_barrier_all();
  EXPECT_EQ(shmem_sum_reduce(SHMEM_TEAM_WORLD, dest, source, 3), 0);
  EXPECT_EQ(dest[1], Complex(Real(n_pes() * (n_pes() - 1) / 2 + n_pes()), Real(n_pes())));
}

TEST(Reduce, TakesStdComplex) {
  check_std_complex<float>();
  check_std_complex<double>();
}

}  // namespace
}  // namespace meshmem
