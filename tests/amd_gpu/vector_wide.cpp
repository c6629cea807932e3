// SPDX-License-Identifier: Apache-2.0
// Vector arithmetic on 64-bit integers, and pairs of words (VOP3, VOP3P). CDNA2 ISA, "Vector ALU
// operations".
#include "operands.hpp"

namespace amd_gpu {
namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;
using i32 = std::int32_t;
using i64 = std::int64_t;

// Operands: result, amount, value.
template <auto kFunction>
void shift(Wave& w, const Instruction& i) {
  Lanes space;
  WideLanes value;
  const Lanes& amount = read_lanes(w, i, 1, space);
  read_wide_lanes(w, i, 2, value);
  for (unsigned lane = 0; lane < kLanes; ++lane)
    value[lane] = kFunction(value[lane], amount[lane] & 63);
  write_wide_lanes(w, i, value);
}

void move(Wave& w, const Instruction& i) {
  WideLanes value;
  read_wide_lanes(w, i, 1, value);
  write_wide_lanes(w, i, value);
}

void shift_and_add(Wave& w, const Instruction& i) {
  WideLanes a, c;
  Lanes space;
  read_wide_lanes(w, i, 1, a);
  read_wide_lanes(w, i, 3, c);
  const Lanes& amount = read_lanes(w, i, 2, space);
  for (unsigned lane = 0; lane < kLanes; ++lane)
    a[lane] = (a[lane] << (amount[lane] & 7)) + c[lane];
  write_wide_lanes(w, i, a);
}

// Result, carry out, a, b, c: a * b + c.
template <auto kFunction>
void multiply_add(Wave& w, const Instruction& i) {
  Lanes a_space, b_space;
  WideLanes c;
  const Lanes &a = read_lanes(w, i, 2, a_space), &b = read_lanes(w, i, 3, b_space);
  read_wide_lanes(w, i, 4, c);
  u64 carry = 0;
  for (unsigned lane = 0; lane < kLanes; ++lane)
    carry |= u64{kFunction(a[lane], b[lane], c[lane])} << lane;
  write_wide_lanes(w, i, c);
  write_scalar_wide(w, i.operand[1], carry & w.exec());
}
bool add_product(u32 a, u32 b, u64& c) { return __builtin_add_overflow(u64{a} * b, c, &c); }
bool add_signed_product(u32 a, u32 b, u64& c) {
  i64 sum;
  const i64 product = i64{static_cast<i32>(a)} * static_cast<i32>(b);
  const bool overflows = __builtin_add_overflow(product, static_cast<i64>(c), &sum);
  c = static_cast<u64>(sum);
  return overflows;
}

// One word of a source that has two: op_sel says which. A constant is both words.
u32 word_of(const Wave& w, const Operand& operand, unsigned lane, bool upper) {
  if (operand.is_vector()) return w.vector[operand.first + upper][lane];
  if (operand.kind == Kind::kScalar) return w.scalar[operand.first + upper];
  return read_scalar(w, operand);
}

void move_pair(Wave& w, const Instruction& i) {
  WideLanes value;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    const u64 high = word_of(w, i.operand[2], lane, i.op_sel >> 1 & 1);
    value[lane] = high << 32 | word_of(w, i.operand[1], lane, i.op_sel & 1);
  }
  write_wide_lanes(w, i, value);
}

// Two floats at once; kFunction takes three of which the last may be unused.
template <auto kFunction>
void float_pairs(Wave& w, const Instruction& i) {
  WideLanes value;
  const auto part = [&](unsigned n, unsigned lane, bool second) {
    if (n >= i.operands) return 0.0f;
    const unsigned bit = n - 1;
    const bool upper = (second ? i.op_sel_hi : i.op_sel) >> bit & 1;
    const bool negative = (second ? i.neg_hi : i.neg_lo) >> bit & 1;
    const float found = as_float(word_of(w, i.operand[n], lane, upper));
    return negative ? -found : found;
  };
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    const auto half = [&](bool second) {
      return u64{
          bits_of(kFunction(part(1, lane, second), part(2, lane, second), part(3, lane, second)))};
    };
    value[lane] = half(true) << 32 | half(false);
  }
  write_wide_lanes(w, i, value);
}

}  // namespace

void add_vector_wide_instructions(InstructionTable& t) {
  t["v_lshlrev_b64"] = shift<[](u64 value, u32 n) { return value << n; }>;
  t["v_lshrrev_b64"] = shift<[](u64 value, u32 n) { return (value >> n); }>;
  t["v_ashrrev_i64"] =
      shift<[](u64 value, u32 n) { return (static_cast<u64>(static_cast<i64>(value) >> n)); }>;
  t["v_mov_b64"] = move;
  t["v_lshl_add_u64"] = shift_and_add;
  t["v_mad_u64_u32"] = multiply_add<add_product>;
  t["v_mad_i64_i32"] = multiply_add<add_signed_product>;
  t["v_pk_mov_b32"] = move_pair;
  t["v_pk_add_f32"] = float_pairs<[](float a, float b, float) { return a + b; }>;
  t["v_pk_mul_f32"] = float_pairs<[](float a, float b, float) { return a * b; }>;
  t["v_pk_fma_f32"] =
      float_pairs<[](float a, float b, float c) { return __builtin_fmaf(a, b, c); }>;
}

}  // namespace amd_gpu
