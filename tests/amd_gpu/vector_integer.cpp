// SPDX-License-Identifier: Apache-2.0
// Vector arithmetic on 32-bit integers, with carries, fields and bytes (VOP1, VOP2, VOP3). CDNA2
// ISA, "Vector ALU operations".
// Invariant: a mask that an instruction writes has zeros for lanes that are not active.
#include <bit>

#include "operands.hpp"

namespace amd_gpu {
namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;
using i32 = std::int32_t;
using i64 = std::int64_t;

constexpr i32 s(u32 a) { return static_cast<i32>(a); }
constexpr u32 u(i64 a) { return static_cast<u32>(a); }
constexpr u32 low24(u32 a) { return a & 0xffffff; }
constexpr i64 signed24(u32 a) { return s(a << 8) >> 8; }

// Operands: result, carry out, a, b and, where it has one, the carry in. kFunction gives 33 bits.
template <auto kFunction>
void with_carry(Wave& w, const Instruction& i) {
  Lanes a_space, b_space, result;
  const Operand& carry = i.operand[1];
  const u64 carry_in = i.operands > 4 ? read_mask(w, i.operand[4]) : 0;
  const Lanes& a = read_lanes(w, i, 2, a_space);
  const Lanes& b = read_lanes(w, i, 3, b_space);
  u64 carry_out = 0;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    const u64 wide = kFunction(u64{a[lane]}, u64{b[lane]}, carry_in >> lane & 1);
    result[lane] = static_cast<u32>(wide);
    carry_out |= (wide >> 32 & 1) << lane;
  }
  write_lanes(w, i, result);
  write_scalar_wide(w, carry, carry_out & w.exec());
}

void select(Wave& w, const Instruction& i) {
  Lanes a_space, b_space, result;
  const Lanes &a = read_floats(w, i, 1, a_space), &b = read_floats(w, i, 2, b_space);
  const u64 mask = read_mask(w, i.operand[3]);
  for (unsigned lane = 0; lane < kLanes; ++lane)
    result[lane] = mask >> lane & 1 ? b[lane] : a[lane];
  write_lanes(w, i, result);
}

u32 unsigned_field(u32 a, u32 b, u32 c) {
  const u32 bits = c & 31;
  return bits == 0 ? 0 : a >> (b & 31) & ((1u << bits) - 1);
}
u32 signed_field(u32 a, u32 b, u32 c) {
  const u32 bits = c & 31, first = b & 31;
  if (bits == 0) return 0;
  if (first + bits >= 32) return u(s(a) >> first);
  return u(s(a << (32 - first - bits)) >> (32 - bits));
}

// Byte n of the result is chosen by byte n of `how`, from b (0 to 3) and a (4 to 7), or made.
u32 permute_bytes(u32 a, u32 b, u32 how) {
  const u64 all = u64{a} << 32 | b;
  u32 result = 0;
  for (unsigned n = 0; n < 4; ++n) {
    const u32 which = how >> 8 * n & 0xff;
    u32 byte = 0xff;
    if (which <= 7) byte = static_cast<u32>(all >> 8 * which) & 0xff;
    if (which >= 8 && which <= 11) byte = (all >> (16 * (which - 8) + 15) & 1) != 0 ? 0xff : 0;
    if (which == 12) byte = 0;
    result |= byte << 8 * n;
  }
  return result;
}

u32 reversed(u32 a) {
  u32 result = 0;
  for (unsigned n = 0; n < 32; ++n) result |= (a >> n & 1) << (31 - n);
  return result;
}
u32 leading_sign_bits(u32 a) {
  const u32 flipped = s(a) < 0 ? ~a : a;
  return flipped == 0 ? ~0u : u(std::countl_zero(flipped));
}

i32 median(i32 a, i32 b, i32 c) {
  return a < b ? (b < c ? b : a < c ? c : a) : (a < c ? a : b < c ? c : b);
}
u32 median_u(u32 a, u32 b, u32 c) {
  return a < b ? (b < c ? b : a < c ? c : a) : (a < c ? a : b < c ? c : b);
}

}  // namespace

#define ONE(expression) unary<[](u32 a) -> u32 { return (expression); }>
#define TWO(expression) binary<[](u32 a, u32 b) -> u32 { return (expression); }>
#define THREE(expression) ternary<[](u32 a, u32 b, u32 c) -> u32 { return (expression); }>
#define CARRY(expression) \
  with_carry<[](u64 a, u64 b, [[maybe_unused]] u64 c) -> u64 { return (expression); }>

namespace {

void add_one_and_two(InstructionTable& t) {
  t["v_mov_b32"] = ONE(a);
  t["v_not_b32"] = ONE(~a);
  t["v_bfrev_b32"] = ONE(reversed(a));
  t["v_ffbh_u32"] = ONE(a == 0 ? ~0u : u(std::countl_zero(a)));
  t["v_ffbl_b32"] = ONE(a == 0 ? ~0u : u(std::countr_zero(a)));
  t["v_ffbh_i32"] = ONE(leading_sign_bits(a));
  t["v_cndmask_b32"] = select;

  t["v_add_u32"] = TWO(a + b);
  t["v_sub_u32"] = TWO(a - b);
  t["v_subrev_u32"] = TWO(b - a);
  t["v_add_i32"] = TWO(a + b);
  t["v_sub_i32"] = TWO(a - b);
  t["v_and_b32"] = TWO(a & b);
  t["v_or_b32"] = TWO(a | b);
  t["v_xor_b32"] = TWO(a ^ b);
  t["v_xnor_b32"] = TWO(~(a ^ b));
  t["v_lshlrev_b32"] = TWO(b << (a & 31));
  t["v_lshrrev_b32"] = TWO(b >> (a & 31));
  t["v_ashrrev_i32"] = TWO(u(s(b) >> (a & 31)));
  t["v_min_u32"] = TWO(a < b ? a : b);
  t["v_max_u32"] = TWO(a > b ? a : b);
  t["v_min_i32"] = TWO(s(a) < s(b) ? a : b);
  t["v_max_i32"] = TWO(s(a) > s(b) ? a : b);
  t["v_mul_lo_u32"] = TWO(a * b);
  t["v_mul_hi_u32"] = TWO(u(static_cast<i64>(u64{a} * b >> 32)));
  t["v_mul_hi_i32"] = TWO(u(i64{s(a)} * s(b) >> 32));
  t["v_mul_u32_u24"] = TWO(low24(a) * low24(b));
  t["v_mul_i32_i24"] = TWO(u(signed24(a) * signed24(b)));
  t["v_mul_hi_u32_u24"] = TWO(u(static_cast<i64>(u64{low24(a)} * low24(b) >> 32)));
  t["v_mul_hi_i32_i24"] = TWO(u(signed24(a) * signed24(b) >> 32));
  t["v_bfm_b32"] = TWO(((1u << (a & 31)) - 1) << (b & 31));
  t["v_bcnt_u32_b32"] = TWO(u(std::popcount(a)) + b);

  t["v_add_co_u32"] = CARRY(a + b);
  t["v_addc_co_u32"] = CARRY(a + b + c);
  t["v_sub_co_u32"] = CARRY(a - b);
  t["v_subb_co_u32"] = CARRY(a - b - c);
  t["v_subrev_co_u32"] = CARRY(b - a);
  t["v_subbrev_co_u32"] = CARRY(b - a - c);
}

void add_three(InstructionTable& t) {
  t["v_add3_u32"] = THREE(a + b + c);
  t["v_lshl_add_u32"] = THREE((a << (b & 31)) + c);
  t["v_add_lshl_u32"] = THREE((a + b) << (c & 31));
  t["v_xad_u32"] = THREE((a ^ b) + c);
  t["v_or3_b32"] = THREE(a | b | c);
  t["v_and_or_b32"] = THREE((a & b) | c);
  t["v_lshl_or_b32"] = THREE(a << (b & 31) | c);
  t["v_bfe_u32"] = THREE(unsigned_field(a, b, c));
  t["v_bfe_i32"] = THREE(signed_field(a, b, c));
  t["v_bfi_b32"] = THREE((a & b) | (~a & c));
  t["v_alignbit_b32"] = THREE(u(static_cast<i64>((u64{a} << 32 | b) >> (c & 31))));
  t["v_alignbyte_b32"] = THREE(u(static_cast<i64>((u64{a} << 32 | b) >> 8 * (c & 3))));
  t["v_perm_b32"] = THREE(permute_bytes(a, b, c));
  t["v_mad_u32_u24"] = THREE(low24(a) * low24(b) + c);
  t["v_mad_i32_i24"] = THREE(u(signed24(a) * signed24(b)) + c);
  t["v_min3_u32"] = THREE(a < b ? (a < c ? a : c) : (b < c ? b : c));
  t["v_max3_u32"] = THREE(a > b ? (a > c ? a : c) : (b > c ? b : c));
  t["v_min3_i32"] = THREE(s(a) < s(b) ? (s(a) < s(c) ? a : c) : (s(b) < s(c) ? b : c));
  t["v_max3_i32"] = THREE(s(a) > s(b) ? (s(a) > s(c) ? a : c) : (s(b) > s(c) ? b : c));
  t["v_med3_i32"] = THREE(u(median(s(a), s(b), s(c))));
  t["v_med3_u32"] = THREE(median_u(a, b, c));
  t["v_sad_u32"] = THREE((a > b ? a - b : b - a) + c);
}

}  // namespace

void add_vector_integer_instructions(InstructionTable& t) {
  add_one_and_two(t);
  add_three(t);
}

}  // namespace amd_gpu
