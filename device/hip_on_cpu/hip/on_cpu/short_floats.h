// SPDX-License-Identifier: Apache-2.0
// Floating-point numbers of 16 bits, by their bits: `fraction_bits` and `exponent_bits` below a
// sign.
// Invariant: subnormal numbers, infinities and NaN (made quiet, with its upper bits) are kept; a
// number that is too large becomes an infinity.
#pragma once

#include <cstdint>
#include <cstring>

namespace hip_on_cpu {

constexpr int kFloatFractionBits = 23;
constexpr std::uint32_t kFloatInfinity = 0x7f800000;

// value / 2^bits, to nearest, ties to even.
inline std::uint32_t shift_rounded(std::uint32_t value, int bits) {
  if (bits > 31) return 0;
  const std::uint32_t below = value & ((std::uint32_t{1} << bits) - 1);
  const std::uint32_t half = std::uint32_t{1} << (bits - 1);
  const std::uint32_t result = value >> bits;
  return result + (below > half || (below == half && (result & 1)) ? 1 : 0);
}

template <int fraction_bits, int exponent_bits>
std::uint16_t shorten(float number) {
  static_assert(fraction_bits + exponent_bits == 15, "and the sign");
  constexpr int kDropped = kFloatFractionBits - fraction_bits;
  constexpr std::uint32_t kInfinity = ((1u << exponent_bits) - 1) << fraction_bits;
  constexpr int kBiasDifference = 127 - ((1 << (exponent_bits - 1)) - 1);
  std::uint32_t bits;
  std::memcpy(&bits, &number, sizeof bits);
  const std::uint32_t sign = bits >> 31 << 15;
  const std::uint32_t size = bits & 0x7fffffff;
  std::uint32_t result;
  if (size > kFloatInfinity) {
    const std::uint32_t quiet = 1u << (fraction_bits - 1);
    result = kInfinity | quiet | ((size >> kDropped) & (quiet - 1));
  } else if (const int exponent = static_cast<int>(size >> kFloatFractionBits) - kBiasDifference;
             exponent > 0 || kBiasDifference == 0) {
    // A carry out of the fraction counts the exponent up, to infinity in the end.
    result = shift_rounded(size - (std::uint32_t{kBiasDifference} << kFloatFractionBits), kDropped);
    if (result > kInfinity) result = kInfinity;
  } else {  // subnormal: its leading bit is stored
    const std::uint32_t fraction = (size & 0x7fffff) | 0x800000;
    result = shift_rounded(fraction, kDropped + 1 - exponent);
  }
  return static_cast<std::uint16_t>(sign | result);
}

template <int fraction_bits, int exponent_bits>
float lengthen(std::uint16_t number) {
  constexpr int kAdded = kFloatFractionBits - fraction_bits;
  constexpr std::uint32_t kInfinity = ((1u << exponent_bits) - 1) << fraction_bits;
  constexpr int kBiasDifference = 127 - ((1 << (exponent_bits - 1)) - 1);
  const std::uint32_t size = number & 0x7fff;
  std::uint32_t bits = size << kAdded;
  if (size >= kInfinity) {
    bits |= kFloatInfinity;
  } else if (kBiasDifference != 0 && (size >> fraction_bits) == 0) {
    // A subnormal number, made normal: `size` times the smallest.
    std::uint32_t smallest_bits = static_cast<std::uint32_t>(kBiasDifference + 1 - fraction_bits)
                                  << kFloatFractionBits;
    float smallest;
    std::memcpy(&smallest, &smallest_bits, sizeof smallest);
    const float value = static_cast<float>(size) * smallest;
    std::memcpy(&bits, &value, sizeof bits);
  } else {
    bits += std::uint32_t{kBiasDifference} << kFloatFractionBits;
  }
  bits |= static_cast<std::uint32_t>(number & 0x8000) << 16;
  float result;
  std::memcpy(&result, &bits, sizeof result);
  return result;
}

// Such a number as a value, for code that computes with float.
template <int fraction_bits, int exponent_bits>
struct ShortFloat {
  std::uint16_t bits = 0;

  ShortFloat() = default;
  explicit ShortFloat(float value) : bits(shorten<fraction_bits, exponent_bits>(value)) {}
  operator float() const { return lengthen<fraction_bits, exponent_bits>(bits); }
};

}  // namespace hip_on_cpu
