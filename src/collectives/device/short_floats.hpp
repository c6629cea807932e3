// SPDX-License-Identifier: Apache-2.0
//
// half and bfloat16 as bits, for reductions of them, since the C++ of the host has no such types.
// Invariant: arithmetic is that of float, and rounding is to nearest, ties to even, as GPUs do it.
// Used by command.cpp and by api/on_stream.cpp.
#ifndef MESHMEM_COLLECTIVES_DEVICE_SHORT_FLOATS_HPP_
#define MESHMEM_COLLECTIVES_DEVICE_SHORT_FLOATS_HPP_

#include <bit>
#include <cmath>
#include <cstdint>

#include "device/operations.hpp"

namespace meshmem {

struct Bfloat16 {
  std::uint16_t bits = 0;

  Bfloat16() = default;
  explicit Bfloat16(float value) : bits(rounded(value)) {}
  operator float() const { return std::bit_cast<float>(std::uint32_t{bits} << 16); }

 private:
  static std::uint16_t rounded(float value) {
    const auto all = std::bit_cast<std::uint32_t>(value);
    if (std::isnan(value)) return static_cast<std::uint16_t>(all >> 16 | 0x40);
    return static_cast<std::uint16_t>((all + 0x7fff + (all >> 16 & 1)) >> 16);
  }
};

struct Half {
  std::uint16_t bits = 0;

  Half() = default;
  explicit Half(float value) : bits(rounded(value)) {}
  operator float() const {
    const std::uint32_t sign = (bits & 0x8000u) << 16, exponent = bits >> 10 & 0x1f;
    const std::uint32_t fraction = bits & 0x3ffu;
    if (exponent == 0x1f) return std::bit_cast<float>(sign | 0x7f800000u | fraction << 13);
    if (exponent == 0) {
      const float magnitude = std::ldexp(static_cast<float>(fraction), -24);
      return sign ? -magnitude : magnitude;
    }
    return std::bit_cast<float>(sign | (exponent + 112) << 23 | fraction << 13);
  }

 private:
  static std::uint16_t rounded(float value) {
    const auto all = std::bit_cast<std::uint32_t>(value);
    const auto sign = static_cast<std::uint16_t>(all >> 16 & 0x8000u);
    const auto with_sign = [sign](std::uint32_t rest) {
      return static_cast<std::uint16_t>(sign | rest);
    };
    if (std::isnan(value)) return with_sign(0x7e00u);
    const float magnitude = std::fabs(value);
    if (magnitude >= 65520.0f) return with_sign(0x7c00u);
    if (magnitude < 0x1p-14f)  // below the normal ones: multiples of 2^-24
      return with_sign(static_cast<std::uint32_t>(std::nearbyint(std::ldexp(magnitude, 24))));
    const std::uint32_t shifted = (all & 0x7fffffffu) - (112u << 23);
    return with_sign((shifted + 0xfffu + (shifted >> 13 & 1)) >> 13);
  }
};

namespace device {

template <>
constexpr ElemType elem_type_of<Half>() {
  return ElemType::f16;
}
template <>
constexpr ElemType elem_type_of<Bfloat16>() {
  return ElemType::bf16;
}

}  // namespace device
}  // namespace meshmem

#endif  // MESHMEM_COLLECTIVES_DEVICE_SHORT_FLOATS_HPP_
