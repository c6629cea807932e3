// SPDX-License-Identifier: Apache-2.0
// half and bfloat16 on the cpu target: conversions of each number, and of each middle between two
// neighbours, are compared with the definition of the format.
#include <hip/hip_bfloat16.h>
#include <hip/hip_fp16.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "hip_on_cpu.hpp"

namespace {

template <typename Short>
Short from_bits(std::uint16_t bits) {
  Short value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}
template <typename Short>
std::uint16_t bits_of(Short value) {
  std::uint16_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

// Returns the value of sign, exponent and fraction by IEEE 754. The computation in double is exact.
template <int fraction_bits, int exponent_bits>
double defined_value(std::uint16_t bits) {
  const int exponent = (bits & 0x7fff) >> fraction_bits;
  const double fraction = std::ldexp(bits & ((1 << fraction_bits) - 1), -fraction_bits);
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const double size =
      exponent == 0 ? std::ldexp(fraction, 1 - bias) : std::ldexp(1 + fraction, exponent - bias);
  return bits & 0x8000 ? -size : size;
}

template <typename Short, int fraction_bits, int exponent_bits>
void check_all() {
  constexpr std::uint16_t kInfinity = ((1 << exponent_bits) - 1) << fraction_bits;
  const float infinity = std::numeric_limits<float>::infinity();
  for (unsigned sign = 0; sign < 2; ++sign) {
    const auto with_sign = [sign](unsigned bits) {
      return static_cast<std::uint16_t>(bits | sign << 15);
    };
    const float direction = sign ? -infinity : infinity;
    for (std::uint16_t bits = 0; bits < kInfinity; ++bits) {
      const std::uint16_t here = with_sign(bits), next = with_sign(bits + 1u);
      const auto value = static_cast<float>(from_bits<Short>(here));
      ASSERT_EQ(value, (defined_value<fraction_bits, exponent_bits>(here))) << here;
      ASSERT_EQ(std::signbit(value), sign == 1);
      ASSERT_EQ(bits_of(Short(value)), here);
      // Beyond the largest number, `next` is infinity: its bits give the number that would follow.
      const double above = defined_value<fraction_bits, exponent_bits>(next);
      const auto middle = static_cast<float>((value + above) / 2);
      ASSERT_EQ(bits_of(Short(middle)), bits % 2 == 0 ? here : next) << middle;
      ASSERT_EQ(bits_of(Short(std::nextafter(middle, -direction))), here) << middle;
      ASSERT_EQ(bits_of(Short(std::nextafter(middle, direction))), next) << middle;
    }
    EXPECT_EQ(static_cast<float>(from_bits<Short>(with_sign(kInfinity))), direction);
    EXPECT_EQ(bits_of(Short(direction)), with_sign(kInfinity));
    EXPECT_EQ(bits_of(Short(std::copysign(std::numeric_limits<float>::max(), direction))),
              with_sign(kInfinity));
    for (unsigned bits = kInfinity + 1u; bits < 0x8000; ++bits) {
      ASSERT_TRUE(std::isnan(static_cast<float>(from_bits<Short>(with_sign(bits)))));
      const std::uint16_t back =
          bits_of(Short(static_cast<float>(from_bits<Short>(with_sign(bits)))));
      ASSERT_EQ(back, with_sign(bits | 1u << (fraction_bits - 1))) << "the same NaN, quiet";
    }
  }
}

TEST(HipShortFloats, HalfIsRoundedToNearestEven) { check_all<__half, 10, 5>(); }
TEST(HipShortFloats, Bfloat16IsRoundedToNearestEven) { check_all<hip_bfloat16, 7, 8>(); }

TEST(HipShortFloats, ANanWhoseUpperBitsAreZeroStaysOne) {
  const std::uint32_t bits = 0x7f800001;
  float nan;
  std::memcpy(&nan, &bits, sizeof nan);
  EXPECT_TRUE(std::isnan(static_cast<float>(__half(nan))));
  EXPECT_TRUE(std::isnan(static_cast<float>(hip_bfloat16(nan))));
}

TEST(HipShortFloats, WhatIsTooSmallBecomesZeroOfItsSign) {
  EXPECT_EQ(bits_of(__half(1e-30f)), 0);
  EXPECT_EQ(bits_of(__half(-1e-30f)), 0x8000);
  EXPECT_EQ(__half2float(__float2half(0.5f)), 0.5f);
}

}  // namespace
