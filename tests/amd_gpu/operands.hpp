// SPDX-License-Identifier: Apache-2.0
// Reading and writing operands: scalars, and all lanes of a vector register at once, with the
// modifiers of SDWA and DPP.
// Invariant: results go to active lanes only; a 64-bit inline integer is sign-extended, a 64-bit
// literal of a floating-point operand is its upper half (CDNA2 ISA, "Instruction operands").
// Included by the files of the instruction families.
#pragma once

#include <bit>

#include "wave.hpp"

namespace amd_gpu {

using Kind = Operand::Kind;

inline std::uint32_t bits_of(float value) { return std::bit_cast<std::uint32_t>(value); }
inline std::uint64_t bits_of(double value) { return std::bit_cast<std::uint64_t>(value); }
inline float as_float(std::uint32_t bits) { return std::bit_cast<float>(bits); }
inline double as_double(std::uint64_t bits) { return std::bit_cast<double>(bits); }

// A word of a scalar register or constant. `word` 1 is the upper half of a 64-bit operand.
inline std::uint32_t read_scalar(const Wave& wave, const Operand& operand) {
  switch (operand.kind) {
    case Kind::kScalar:
      return wave.scalar[operand.first];
    case Kind::kFloat:
      return bits_of(static_cast<float>(as_double(operand.value)));
    case Kind::kScc:
      return wave.scc;
    case Kind::kConstant:
      return static_cast<std::uint32_t>(operand.value);
    default:
      fail(wave, "an operand is no scalar");
  }
}
inline std::uint64_t read_scalar_wide(const Wave& wave, const Operand& operand) {
  if (operand.kind == Kind::kScalar) return wave.pair(operand.first);
  if (operand.kind == Kind::kScc) return wave.scc;
  return operand.value;  // an integer with its sign, or the bits of a double
}
inline void write_scalar(Wave& wave, const Operand& operand, std::uint32_t value) {
  if (operand.kind != Kind::kScalar) fail(wave, "a result has no scalar register");
  wave.scalar[operand.first] = value;
}
inline void write_scalar_wide(Wave& wave, const Operand& operand, std::uint64_t value) {
  if (operand.kind != Kind::kScalar) fail(wave, "a result has no scalar register");
  wave.set_pair(operand.first, value);
}

// All lanes of 32-bit source `n`: the register itself where that is possible, else a copy in
// `space`.
const Lanes& read_lanes(const Wave& wave, const Instruction& instruction, unsigned n, Lanes& space);
// The same where the operand is a float: negation and absolute value are of its sign bit.
const Lanes& read_floats(const Wave& wave, const Instruction& instruction, unsigned n,
                         Lanes& space);
// All lanes of a 64-bit source.
void read_wide_lanes(const Wave& wave, const Instruction& instruction, unsigned n,
                     WideLanes& lanes);
void read_doubles(const Wave& wave, const Instruction& instruction, unsigned n, WideLanes& lanes);

// Into operand 0 of active lanes.
void write_lanes(Wave& wave, const Instruction& instruction, const Lanes& lanes);
void write_wide_lanes(Wave& wave, const Instruction& instruction, const WideLanes& lanes);
// The same with clamp and output factor.
void write_floats(Wave& wave, const Instruction& instruction, Lanes& lanes);
void write_doubles(Wave& wave, const Instruction& instruction, WideLanes& lanes);

// A bit for each lane, from a scalar pair or vcc.
inline std::uint64_t read_mask(const Wave& wave, const Operand& operand) {
  return read_scalar_wide(wave, operand);
}

// The three shapes that most vector instructions have.
template <auto kFunction>
void unary(Wave& wave, const Instruction& i) {
  Lanes a_space, result;
  const Lanes& a = read_lanes(wave, i, 1, a_space);
  for (unsigned lane = 0; lane < kLanes; ++lane) result[lane] = kFunction(a[lane]);
  write_lanes(wave, i, result);
}
template <auto kFunction>
void binary(Wave& wave, const Instruction& i) {
  Lanes a_space, b_space, result;
  const Lanes &a = read_lanes(wave, i, 1, a_space), &b = read_lanes(wave, i, 2, b_space);
  for (unsigned lane = 0; lane < kLanes; ++lane) result[lane] = kFunction(a[lane], b[lane]);
  write_lanes(wave, i, result);
}
template <auto kFunction>
void ternary(Wave& wave, const Instruction& i) {
  Lanes a_space, b_space, c_space, result;
  const Lanes &a = read_lanes(wave, i, 1, a_space), &b = read_lanes(wave, i, 2, b_space);
  const Lanes& c = read_lanes(wave, i, 3, c_space);
  for (unsigned lane = 0; lane < kLanes; ++lane)
    result[lane] = kFunction(a[lane], b[lane], c[lane]);
  write_lanes(wave, i, result);
}

}  // namespace amd_gpu
