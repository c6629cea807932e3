// SPDX-License-Identifier: Apache-2.0
// Half-precision floats as operands.
// Invariant: arithmetic is done in float and rounded once, to nearest even, which is exact for sums
// and products: a float has more than twice the bits. Included by the families with f16.
#pragma once

#include "operands.hpp"

namespace amd_gpu {

inline float float_of_half(std::uint32_t bits) {
  return static_cast<float>(std::bit_cast<_Float16>(static_cast<std::uint16_t>(bits)));
}
inline std::uint32_t half_bits(float value) {
  return std::bit_cast<std::uint16_t>(static_cast<_Float16>(value));
}

// Source `n` as floats, with op_sel, negation and absolute value.
inline void read_half_lanes(const Wave& wave, const Instruction& i, unsigned n, Lanes& floats) {
  const Operand& operand = i.operand[n];
  if (operand.kind == Kind::kFloat) {
    floats.fill(bits_of(static_cast<float>(as_double(operand.value))));
  } else {
    Lanes space;
    const Lanes& source = read_lanes(wave, i, n, space);
    const unsigned shift = operand.is_vector() && (i.op_sel >> (n - 1) & 1) != 0 ? 16 : 0;
    for (unsigned lane = 0; lane < kLanes; ++lane)
      floats[lane] = bits_of(float_of_half(source[lane] >> shift));
  }
  const std::uint32_t clear = operand.absolute ? 0x7fffffff : ~0u;
  const std::uint32_t flip = operand.negate ? 0x80000000 : 0;
  for (auto& value : floats) value = (value & clear) ^ flip;
}

}  // namespace amd_gpu
