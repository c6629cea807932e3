// SPDX-License-Identifier: Apache-2.0
//
// Numbers of 8 bits: fp8 in its formats e4m3 and e5m2, and int8. Used by quantized.hpp.
// Invariant: no code has all bits set, so codes in the stage of a Mailbox are never blank. There
// are no codes of infinities and NaNs. All targets make the same codes.
#ifndef MESHMEM_MESHMEM_CODES_HPP
#define MESHMEM_MESHMEM_CODES_HPP

#include <shmemx.h>

#include <cstddef>
#include <cstdint>

#ifndef MESHMEM_COMPILES_KERNELS
#error "meshmem/codes.hpp is for kernels: compile it by oshhip"
#endif

namespace meshmem {

enum class Wire { e4m3, e5m2, int8 };

template <Wire wire>
struct Codes {
  static constexpr float kMost = wire == Wire::e4m3 ? 448 : 57344;

  // The nearest code, ties to even. |value| is at most kMost, but for a rounding of float.
  MESHMEM_DEVICE_MEMBER static std::uint32_t of(float value) {
    const auto all = device::bit_cast<std::uint32_t>(value), bits = all & 0x7fffffff;
    constexpr int kDropped = 23 - kMantissa;
    const std::uint32_t up = (1u << (kDropped - 1)) - 1 + (bits >> kDropped & 1);
    const std::uint32_t normal = ((bits + up) >> kDropped) - ((127u - kBias) << kMantissa);
    // Below the least normal number the codes are equally spaced. So are the floats from kSpaced
    // on, by the same space: the addition rounds.
    constexpr std::uint32_t kLeast = (128u - kBias) << 23, kSpaced = (151u - kBias - kMantissa)
                                                                     << 23;
    const float sum = device::bit_cast<float>(bits) + device::bit_cast<float>(kSpaced);
    const std::uint32_t small = device::bit_cast<std::uint32_t>(sum) - kSpaced;
    return (all >> 24 & 0x80) | (bits < kLeast ? small : normal);
  }
  // A half has the same bits, but for zeros at the end and the bias.
  MESHMEM_DEVICE_MEMBER static float value_of(std::uint32_t code) {
    const std::uint32_t half = (code & 0x80) << 8 | (code & 0x7f) << (10 - kMantissa);
    const auto bits = static_cast<std::uint16_t>(half);
    return device::Total<meshmem_half>::widen(device::bit_cast<meshmem_half>(bits)) *
           (1 << (15 - kBias));
  }

 private:
  static constexpr int kMantissa = wire == Wire::e4m3 ? 3 : 2, kBias = wire == Wire::e4m3 ? 7 : 15;
};

// From -127 to 127. -128 would be the code with all bits set.
template <>
struct Codes<Wire::int8> {
  static constexpr float kMost = 127;
  MESHMEM_DEVICE_MEMBER static std::uint32_t of(float value) {
    return (static_cast<std::uint32_t>(static_cast<int>(rintf(value))) & 0xff) ^ 0x7f;
  }
  MESHMEM_DEVICE_MEMBER static float value_of(std::uint32_t code) {
    return static_cast<float>(static_cast<std::int8_t>(code ^ 0x7f));
  }
};

}  // namespace meshmem

#endif
