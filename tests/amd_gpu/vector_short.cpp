// SPDX-License-Identifier: Apache-2.0
// Vector arithmetic on 16-bit integers, single and in pairs, and on pairs of half-precision floats
// (VOP2, VOP3, VOP3P). CDNA2 ISA, "Vector ALU operations" and "Packed math".
// Invariant: on GFX9 a 16-bit result leaves zeros in the upper half of its register.
#include <cmath>

#include "short_float.hpp"

namespace amd_gpu {
namespace {

using u16 = std::uint16_t;
using i16 = std::int16_t;
using u32 = std::uint32_t;

u16 half_of(u32 value, bool upper) { return static_cast<u16>(upper ? value >> 16 : value); }

// By op_sel VOP3 chooses the half of each source, and that of the result by the bit behind theirs.
using OfShorts = u16 (*)(u16, u16, u16);

void each_short(Wave& w, const Instruction& i, OfShorts function) {
  Lanes spaces[3], result{};
  const Lanes* source[3];
  const unsigned sources = i.operands - 1u;
  for (unsigned n = 0; n < sources; ++n) source[n] = &read_lanes(w, i, n + 1, spaces[n]);
  const bool to_upper = i.op_sel >> sources & 1;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    u16 value[3] = {};
    for (unsigned n = 0; n < sources; ++n)
      value[n] = half_of((*source[n])[lane], i.op_sel >> n & 1);
    const u16 found = function(value[0], value[1], value[2]);
    const u32 old = i.op_sel == 0 ? 0 : w.vector[i.operand[0].first][lane];
    result[lane] = to_upper ? (old & 0xffff) | u32{found} << 16
                            : (i.op_sel == 0 ? 0 : old & 0xffff0000) | found;
  }
  write_lanes(w, i, result);
}

void each_pair(Wave& w, const Instruction& i, OfShorts function) {
  Lanes spaces[3], result;
  const Lanes* source[3];
  const unsigned sources = i.operands - 1u;
  for (unsigned n = 0; n < sources; ++n) source[n] = &read_lanes(w, i, n + 1, spaces[n]);
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    u32 both = 0;
    for (unsigned half = 0; half < 2; ++half) {
      u16 value[3] = {};
      for (unsigned n = 0; n < sources; ++n)
        value[n] = half_of((*source[n])[lane], (half ? i.op_sel_hi : i.op_sel) >> n & 1);
      both |= u32{function(value[0], value[1], value[2])} << 16 * half;
    }
    result[lane] = both;
  }
  write_lanes(w, i, result);
}

// A constant float is in the lower half.
void each_pair_of_halves(Wave& w, const Instruction& i, float (*function)(float, float, float)) {
  Lanes spaces[3], result;
  const Lanes* source[3];
  const unsigned sources = i.operands - 1u;
  for (unsigned n = 0; n < sources; ++n) {
    const Operand& operand = i.operand[n + 1];
    source[n] = &spaces[n];
    if (operand.kind == Kind::kFloat)
      spaces[n].fill(half_bits(static_cast<float>(as_double(operand.value))));
    else
      source[n] = &read_lanes(w, i, n + 1, spaces[n]);
  }
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    u32 both = 0;
    for (unsigned half = 0; half < 2; ++half) {
      float value[3] = {};
      for (unsigned n = 0; n < sources; ++n) {
        const bool upper = (half ? i.op_sel_hi : i.op_sel) >> n & 1;
        value[n] = float_of_half(half_of((*source[n])[lane], upper));
        if ((half ? i.neg_hi : i.neg_lo) >> n & 1) value[n] = -value[n];
      }
      both |= half_bits(function(value[0], value[1], value[2])) << 16 * half;
    }
    result[lane] = both;
  }
  write_lanes(w, i, result);
}

// A product and a sum, of floats and halves: by op_sel_hi a source is a half, by op_sel its upper
// one. Where the result is a half of a register, the other half stays.
enum class Mixed { kFloat, kLow, kHigh };
template <Mixed kResult>
void mix(Wave& w, const Instruction& i) {
  Lanes spaces[3], result;
  for (unsigned n = 0; n < 3; ++n) {
    if (i.op_sel_hi >> n & 1) {
      read_half_lanes(w, i, n + 1, spaces[n]);
    } else {
      Lanes space;
      const Lanes source = read_floats(w, i, n + 1, space);
      spaces[n] = source;
    }
  }
  const Lanes& old = w.vector[i.operand[0].first];
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    const float sum =
        std::fma(as_float(spaces[0][lane]), as_float(spaces[1][lane]), as_float(spaces[2][lane]));
    if (kResult == Mixed::kFloat) result[lane] = bits_of(sum);
    if (kResult == Mixed::kLow) result[lane] = (old[lane] & 0xffff0000) | half_bits(sum);
    if (kResult == Mixed::kHigh) result[lane] = (old[lane] & 0xffff) | half_bits(sum) << 16;
  }
  write_lanes(w, i, result);
}

template <auto kFunction>
void pairs_of_halves(Wave& w, const Instruction& i) {
  each_pair_of_halves(w, i, kFunction);
}
template <auto kFunction>
void short_operation(Wave& w, const Instruction& i) {
  each_short(w, i, kFunction);
}
template <auto kFunction>
void pairs(Wave& w, const Instruction& i) {
  each_pair(w, i, kFunction);
}

constexpr i16 s(u16 a) { return static_cast<i16>(a); }

}  // namespace

#define SHORT(expression)                                            \
  [](u16 a, [[maybe_unused]] u16 b, [[maybe_unused]] u16 c) -> u16 { \
    return static_cast<u16>(expression);                             \
  }

void add_vector_short_instructions(InstructionTable& t) {
#define BOTH(name, expression)                       \
  t["v_" name] = short_operation<SHORT(expression)>; \
  t["v_pk_" name] = pairs<SHORT(expression)>
  BOTH("add_u16", a + b);
  BOTH("add_i16", a + b);
  BOTH("sub_u16", a - b);
  BOTH("sub_i16", a - b);
  BOTH("mul_lo_u16", u32{a} * b);
  BOTH("min_u16", a < b ? a : b);
  BOTH("max_u16", a > b ? a : b);
  BOTH("min_i16", s(a) < s(b) ? a : b);
  BOTH("max_i16", s(a) > s(b) ? a : b);
  BOTH("lshlrev_b16", u32{b} << (a & 15));
  BOTH("lshrrev_b16", b >> (a & 15));
  BOTH("ashrrev_i16", s(b) >> (a & 15));
  BOTH("mad_u16", u32{a} * b + c);
  BOTH("mad_i16", u32{a} * b + c);
#undef BOTH
  t["v_pk_add_f16"] = pairs_of_halves<[](float a, float b, float) { return a + b; }>;
  t["v_pk_mul_f16"] = pairs_of_halves<[](float a, float b, float) { return a * b; }>;
  t["v_pk_fma_f16"] = pairs_of_halves<[](float a, float b, float c) { return std::fma(a, b, c); }>;
  t["v_fma_mix_f32"] = mix<Mixed::kFloat>;
  t["v_fma_mixlo_f16"] = mix<Mixed::kLow>;
  t["v_fma_mixhi_f16"] = mix<Mixed::kHigh>;
  t["v_subrev_u16"] = short_operation<SHORT(b - a)>;
  t["v_mad_legacy_u16"] = short_operation<SHORT(u32{a} * b + c)>;
}

}  // namespace amd_gpu
