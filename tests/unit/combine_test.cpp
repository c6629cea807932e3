// SPDX-License-Identifier: Apache-2.0
//
// The inner loops of reductions, each against arithmetic that cannot be wrong: 128-bit integers for
// sums, products and order, single bits for and, or and xor. Run under UndefinedBehaviorSanitizer
// it also shows that nothing overflows.
#include "collectives/combine.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <climits>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <type_traits>
#include <vector>

namespace meshmem {
namespace {

constexpr std::size_t kElems = 37;  // no multiple of what a vector unit takes

// Combined data may begin at any byte, as data of the network does.
template <typename T>
std::vector<std::byte> at_an_odd_byte(const std::vector<T>& elems) {
  std::vector<std::byte> bytes(1 + elems.size() * sizeof(T));
  std::memcpy(&bytes[1], elems.data(), elems.size() * sizeof(T));
  return bytes;
}

template <typename Op, typename T>
std::vector<T> combined(const std::vector<T>& a, const std::vector<T>& b) {
  std::vector<T> dest(a.size() + 1, T(77)), other = dest;
  reduction<Op, T>().combine(dest.data(), a.data(), b.data(), a.size());
  const auto moved_a = at_an_odd_byte(a), moved_b = at_an_odd_byte(b);
  reduction<Op, T>().combine(other.data(), &moved_a[1], &moved_b[1], a.size());
  EXPECT_EQ(std::memcmp(dest.data(), other.data(), dest.size() * sizeof(T)), 0) << "moved";
  EXPECT_EQ(dest.back(), T(77)) << "written past the end";
  dest.pop_back();
  return dest;
}

template <typename Op, typename T>
void expect_same_in_place(const std::vector<T>& a, const std::vector<T>& b,
                          const std::vector<T>& expected) {
  std::vector<T> dest = a;
  reduction<Op, T>().combine(dest.data(), dest.data(), b.data(), a.size());
  EXPECT_EQ(dest, expected) << "dest == a";
  dest = b;
  reduction<Op, T>().combine(dest.data(), a.data(), dest.data(), a.size());
  EXPECT_EQ(dest, expected) << "dest == b";
}

// reference(a, b) of each pair.
template <typename Op, typename T, typename Reference>
void expect_reference(const std::vector<T>& a, const std::vector<T>& b,
                      const Reference& reference) {
  std::vector<T> expected;
  for (std::size_t i = 0; i < a.size(); ++i) expected.push_back(reference(a[i], b[i]));
  EXPECT_EQ((combined<Op, T>(a, b)), expected);
  expect_same_in_place<Op, T>(a, b, expected);
  EXPECT_EQ((reduction<Op, T>().elem_bytes), sizeof(T));
}

// Ends, middles, the top bit alone, then random ones; b holds the same the other way round.
template <typename T>
std::vector<T> telling_values() {
  using Limits = std::numeric_limits<T>;
  std::vector<T> values{
      Limits::min(),        Limits::max(),       T(0), T(1), T(-1), T(2), T(Limits::max() / 2 + 1),
      T(Limits::max() - 1), T(Limits::min() + 1)};
  std::mt19937_64 random(20);
  while (values.size() < kElems) values.push_back(static_cast<T>(random()));
  return values;
}
template <typename T>
std::vector<T> turned(const std::vector<T>& values, std::size_t by) {
  std::vector<T> result(values.rbegin(), values.rend());
  std::rotate(result.begin(), result.begin() + static_cast<std::ptrdiff_t>(by), result.end());
  return result;
}

template <typename T>
class CombineIntegers : public testing::Test {};
using Integers =
    testing::Types<char, signed char, unsigned char, short, unsigned short, int, unsigned, long,
                   unsigned long, long long, unsigned long long, std::int8_t, std::int16_t,
                   std::int32_t, std::int64_t, std::uint8_t, std::uint16_t, std::uint32_t,
                   std::uint64_t, std::size_t, std::ptrdiff_t>;
TYPED_TEST_SUITE(CombineIntegers, Integers);

// 128 bits hold every sum and, modulo 2^128, every product; the low bits are what wrapping leaves.
using Wide = unsigned __int128;

template <typename T>
T low_bits(Wide value) {
  return static_cast<T>(static_cast<std::make_unsigned_t<T>>(value));
}

TYPED_TEST(CombineIntegers, SumsWrap) {
  using T = TypeParam;
  const auto a = telling_values<T>();
  for (std::size_t by = 0; by < kElems; ++by) {
    expect_reference<Sum, T>(a, turned(a, by), [](T x, T y) {
      return low_bits<T>(static_cast<Wide>(x) + static_cast<Wide>(y));
    });
  }
}

TYPED_TEST(CombineIntegers, ProductsWrap) {
  using T = TypeParam;
  const auto a = telling_values<T>();
  for (std::size_t by = 0; by < kElems; ++by) {
    expect_reference<Product, T>(a, turned(a, by), [](T x, T y) {
      return low_bits<T>(static_cast<Wide>(x) * static_cast<Wide>(y));
    });
  }
}

template <typename T, typename OnBit>
T bit_by_bit(T x, T y, const OnBit& on_bit) {
  using Unsigned = std::make_unsigned_t<T>;
  Unsigned result = 0;
  for (unsigned bit = 0; bit < sizeof(T) * CHAR_BIT; ++bit) {
    const bool one = static_cast<Unsigned>(x) >> bit & 1;
    const bool other = static_cast<Unsigned>(y) >> bit & 1;
    if (on_bit(one, other)) result = static_cast<Unsigned>(result | Unsigned{1} << bit);
  }
  return static_cast<T>(result);
}

TYPED_TEST(CombineIntegers, BitsAreCombinedOneByOne) {
  using T = TypeParam;
  const auto a = telling_values<T>();
  const auto b = turned(a, 5);
  expect_reference<And, T>(
      a, b, [](T x, T y) { return bit_by_bit(x, y, [](bool p, bool q) { return p && q; }); });
  expect_reference<Or, T>(
      a, b, [](T x, T y) { return bit_by_bit(x, y, [](bool p, bool q) { return p || q; }); });
  expect_reference<Xor, T>(
      a, b, [](T x, T y) { return bit_by_bit(x, y, [](bool p, bool q) { return p != q; }); });
}

TYPED_TEST(CombineIntegers, OrderIsThatOfTheType) {
  using T = TypeParam;
  const auto a = telling_values<T>();
  for (std::size_t by = 0; by < kElems; ++by) {
    const auto b = turned(a, by);
    expect_reference<Max, T>(a, b, [](T x, T y) {
      return static_cast<T>(std::max(static_cast<__int128>(x), static_cast<__int128>(y)));
    });
    expect_reference<Min, T>(a, b, [](T x, T y) {
      return static_cast<T>(std::min(static_cast<__int128>(x), static_cast<__int128>(y)));
    });
  }
}

TEST(Combine, UnsignedMaxCountsTheTopBitAsTheHighest) {
  const std::vector<std::uint64_t> top{std::uint64_t{1} << 63};
  const std::vector<std::uint64_t> rest{~std::uint64_t{0} >> 1};
  EXPECT_EQ((combined<Max, std::uint64_t>(top, rest)), top);
  EXPECT_EQ((combined<Min, std::uint64_t>(top, rest)), rest);
  EXPECT_EQ((combined<Max, std::uint8_t>({0x80}, {0x7f})), std::vector<std::uint8_t>{0x80});
}

TEST(Combine, SignedMinCountsTheTopBitAsTheLowest) {
  EXPECT_EQ((combined<Min, std::int64_t>({INT64_MIN}, {INT64_MAX})),
            std::vector<std::int64_t>{INT64_MIN});
  EXPECT_EQ((combined<Max, std::int8_t>({-128}, {127})), std::vector<std::int8_t>{127});
}

TEST(Combine, PlainCharHasTheOrderOfThePlatform) {
  const std::vector<char> top{static_cast<char>(0x80)};
  EXPECT_EQ((combined<Max, char>(top, {1})), (CHAR_MIN < 0 ? std::vector<char>{1} : top));
}

TEST(Combine, TypesOfOneRepresentationShareALoop) {
  EXPECT_EQ((reduction<Sum, long>().combine), (reduction<Sum, std::uint64_t>().combine));
  EXPECT_EQ((reduction<Xor, signed char>().combine), (reduction<Xor, unsigned char>().combine));
  EXPECT_EQ((reduction<Max, long>().combine), (reduction<Max, long long>().combine));
  EXPECT_NE((reduction<Max, long>().combine), (reduction<Max, unsigned long>().combine));
  EXPECT_NE(
      (reduction<Min, char>().combine),
      (reduction<Min, std::conditional_t<CHAR_MIN == 0, signed char, unsigned char>>().combine));
}

template <typename T>
class CombineFloats : public testing::Test {};
using Floats = testing::Types<float, double, long double>;
TYPED_TEST_SUITE(CombineFloats, Floats);

template <typename T>
std::vector<T> telling_floats() {
  using Limits = std::numeric_limits<T>;
  std::vector<T> values{T(0),
                        T(-0.0),
                        T(1),
                        T(-1.5),
                        Limits::max(),
                        Limits::lowest(),
                        Limits::min(),
                        Limits::denorm_min(),
                        Limits::epsilon(),
                        Limits::infinity()};
  std::mt19937_64 random(21);
  std::normal_distribution<T> normal;
  while (values.size() < kElems) values.push_back(normal(random));
  return values;
}

TYPED_TEST(CombineFloats, DoesWhatTheOperatorsDo) {
  using T = TypeParam;
  const auto a = telling_floats<T>();
  const auto b = turned(a, 9);
  expect_reference<Sum, T>(a, b, [](T x, T y) -> T { return x + y; });
  expect_reference<Product, T>(a, b, [](T x, T y) -> T { return x * y; });
  expect_reference<Max, T>(a, b, [](T x, T y) { return std::max(x, y); });
  expect_reference<Min, T>(a, b, [](T x, T y) { return std::min(x, y); });
}

template <typename Complex, typename Real>
void expect_complex_arithmetic() {
  // In C++ the type of the API is C99's; both have the layout of two reals.
  static_assert(sizeof(Complex) == 2 * sizeof(Real));
  std::mt19937_64 random(22);
  std::normal_distribution<Real> normal;
  std::vector<std::complex<Real>> a, b;
  for (std::size_t i = 0; i < kElems; ++i) {
    a.emplace_back(normal(random), normal(random));
    b.emplace_back(normal(random), normal(random));
  }
  std::vector<std::complex<Real>> sum(kElems), product(kElems);
  reduction<Sum, Complex>().combine(sum.data(), a.data(), b.data(), kElems);
  reduction<Product, Complex>().combine(product.data(), a.data(), b.data(), kElems);
  for (std::size_t i = 0; i < kElems; ++i) {
    EXPECT_EQ(sum[i], a[i] + b[i]);
    const std::complex<Real> expected{a[i].real() * b[i].real() - a[i].imag() * b[i].imag(),
                                      a[i].real() * b[i].imag() + a[i].imag() * b[i].real()};
    EXPECT_LE(std::abs(product[i] - expected),
              4 * std::numeric_limits<Real>::epsilon() * std::abs(a[i]) * std::abs(b[i]));
  }
}

TEST(Combine, ComplexNumbersAddAndMultiply) {
  expect_complex_arithmetic<float _Complex, float>();
  expect_complex_arithmetic<double _Complex, double>();
}

TEST(Combine, OfNothingTouchesNothing) {
  reduction<Sum, int>().combine(nullptr, nullptr, nullptr, 0);
  std::vector<int> dest{5};
  const std::vector<int> a{1}, b{2};
  reduction<Sum, int>().combine(dest.data(), a.data(), b.data(), 0);
  EXPECT_EQ(dest, std::vector<int>{5});
}

}  // namespace
}  // namespace meshmem
