// SPDX-License-Identifier: Apache-2.0
// Scalar arithmetic and comparisons (SOP1, SOP2, SOPC, SOPK). CDNA2 ISA, "Scalar ALU instructions",
// says what each does, and what scc gets.
#include <bit>

#include "operands.hpp"

namespace amd_gpu {
namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;
using i32 = std::int32_t;
using i64 = std::int64_t;
using u128 = unsigned __int128;

constexpr i32 s(u32 a) { return static_cast<i32>(a); }

// The carry, or the borrow, of a sum of 32 bits is its bit 32.
u32 carried(u64 sum, bool& carry) {
  carry = sum >> 32 & 1;
  return static_cast<u32>(sum);
}
// A result other than zero sets the condition code.
template <typename T>
T with_scc(T result, bool& is_set) {
  is_set = result != 0;
  return result;
}
bool add_overflows(u32 a, u32 b) {
  i32 sum;
  return __builtin_add_overflow(s(a), s(b), &sum);
}
bool subtract_overflows(u32 a, u32 b) {
  i32 difference;
  return __builtin_sub_overflow(s(a), s(b), &difference);
}
u32 magnitude(u32 a) { return s(a) < 0 ? 0 - a : a; }
u32 reversed(u32 a) {
  u32 result = 0;
  for (unsigned n = 0; n < 32; ++n) result |= (a >> n & 1) << (31 - n);
  return result;
}

// Functions of (a, b, scc), which may change scc.
template <auto kFunction>
void two(Wave& w, const Instruction& i) {
  bool scc = w.scc;
  const u32 result = kFunction(read_scalar(w, i.operand[1]), read_scalar(w, i.operand[2]), scc);
  w.scc = scc;
  write_scalar(w, i.operand[0], result);
}
template <auto kFunction>
void two_wide(Wave& w, const Instruction& i) {
  bool scc = w.scc;
  const u64 result =
      kFunction(read_scalar_wide(w, i.operand[1]), read_scalar_wide(w, i.operand[2]), scc);
  w.scc = scc;
  write_scalar_wide(w, i.operand[0], result);
}
// 64 bits by 32 bits: shifts and bit fields.
template <auto kFunction>
void wide_by_word(Wave& w, const Instruction& i) {
  bool scc = w.scc;
  const u64 result =
      kFunction(read_scalar_wide(w, i.operand[1]), read_scalar(w, i.operand[2]), scc);
  w.scc = scc;
  write_scalar_wide(w, i.operand[0], result);
}
template <auto kFunction>
void one(Wave& w, const Instruction& i) {
  bool scc = w.scc;
  const u32 result = kFunction(read_scalar(w, i.operand[1]), scc);
  w.scc = scc;
  write_scalar(w, i.operand[0], result);
}
template <auto kFunction>
void one_wide(Wave& w, const Instruction& i) {
  bool scc = w.scc;
  const u64 result = kFunction(read_scalar_wide(w, i.operand[1]), scc);
  w.scc = scc;
  write_scalar_wide(w, i.operand[0], result);
}
// A word of 64 bits: counts.
template <auto kFunction>
void word_of_wide(Wave& w, const Instruction& i) {
  bool scc = w.scc;
  const u32 result = kFunction(read_scalar_wide(w, i.operand[1]), scc);
  w.scc = scc;
  write_scalar(w, i.operand[0], result);
}
template <auto kFunction>
void compare(Wave& w, const Instruction& i) {
  w.scc = kFunction(read_scalar(w, i.operand[0]), read_scalar(w, i.operand[1]));
}
template <auto kFunction>
void compare_wide(Wave& w, const Instruction& i) {
  w.scc = kFunction(read_scalar_wide(w, i.operand[0]), read_scalar_wide(w, i.operand[1]));
}

i32 signed_constant(const Instruction& i, unsigned n) {
  return static_cast<std::int16_t>(i.operand[n].value);
}
template <auto kFunction>
void compare_signed_k(Wave& w, const Instruction& i) {
  w.scc = kFunction(static_cast<i32>(read_scalar(w, i.operand[0])), signed_constant(i, 1));
}
template <auto kFunction>
void compare_unsigned_k(Wave& w, const Instruction& i) {
  w.scc = kFunction(read_scalar(w, i.operand[0]), static_cast<std::uint16_t>(i.operand[1].value));
}

void move_k(Wave& w, const Instruction& i) {
  write_scalar(w, i.operand[0], static_cast<u32>(signed_constant(i, 1)));
}
void add_k(Wave& w, const Instruction& i) {
  i32 sum;
  w.scc = __builtin_add_overflow(static_cast<i32>(read_scalar(w, i.operand[0])),
                                 signed_constant(i, 1), &sum);
  write_scalar(w, i.operand[0], static_cast<u32>(sum));
}
void multiply_k(Wave& w, const Instruction& i) {
  write_scalar(w, i.operand[0],
               read_scalar(w, i.operand[0]) * static_cast<u32>(signed_constant(i, 1)));
}
void conditional_move_k(Wave& w, const Instruction& i) {
  if (w.scc) move_k(w, i);
}
void conditional_move(Wave& w, const Instruction& i) {
  if (w.scc) write_scalar(w, i.operand[0], read_scalar(w, i.operand[1]));
}
void conditional_move_wide(Wave& w, const Instruction& i) {
  if (w.scc) write_scalar_wide(w, i.operand[0], read_scalar_wide(w, i.operand[1]));
}

// D = exec, exec = f(source, exec).
template <auto kFunction>
void save_exec(Wave& w, const Instruction& i) {
  const u64 source = read_scalar_wide(w, i.operand[1]), exec = w.exec();
  write_scalar_wide(w, i.operand[0], exec);
  w.set_pair(kExec, kFunction(source, exec));
  w.scc = w.exec() != 0;
}

// The result is also scc: whether it is not zero.
template <auto kFunction>
constexpr auto kLogic = [](auto a, decltype(a) b, bool& scc) {
  const auto result = kFunction(a, b);
  scc = result != 0;
  return result;
};

template <auto kFunction>
void bit_set(Wave& w, const Instruction& i) {
  write_scalar(w, i.operand[0],
               kFunction(read_scalar(w, i.operand[0]), 1u << (read_scalar(w, i.operand[1]) & 31)));
}

template <typename Word>
Word field(Word value, u32 about, bool& scc) {
  constexpr u32 kBits = 8 * sizeof(Word);
  const u32 first = about & (kBits - 1), bits = about >> 16 & 0x7f;
  using Unsigned = std::make_unsigned_t<Word>;
  Word result = 0;
  if (bits >= kBits) {
    result = value >> first;
  } else if (bits > 0) {
    const auto up = static_cast<Unsigned>(static_cast<Unsigned>(value >> first) << (kBits - bits));
    result = static_cast<Word>(up) >> (kBits - bits);
  }
  scc = result != 0;
  return result;
}

u32 first_bit(u64 value, bool&) {
  return value == 0 ? ~0u : static_cast<u32>(std::countr_zero(value));
}

}  // namespace

// Rows say what a, b and c, the condition code, become.
#define TWO(...) two<[](u32 a, u32 b, [[maybe_unused]] bool& c) -> u32 { __VA_ARGS__; }>
#define WIDE(...) wide_by_word<[](u64 a, u32 b, bool& c) -> u64 { __VA_ARGS__; }>
#define ONE(...) one<[](u32 a, [[maybe_unused]] bool& c) -> u32 { __VA_ARGS__; }>
#define COUNT(...) word_of_wide<[](u64 a, [[maybe_unused]] bool& c) -> u32 { __VA_ARGS__; }>

namespace {

void add_sums(InstructionTable& t) {
  t["s_add_u32"] = TWO(return carried(u64{a} + b, c));
  t["s_addc_u32"] = TWO(return carried(u64{a} + b + c, c));
  t["s_sub_u32"] = TWO(return carried(u64{a} - b, c));
  t["s_subb_u32"] = TWO(return carried(u64{a} - b - c, c));
  t["s_add_i32"] = TWO(c = add_overflows(a, b); return a + b);
  t["s_sub_i32"] = TWO(c = subtract_overflows(a, b); return a - b);
  t["s_mul_i32"] = TWO(return a * b);
  t["s_mul_hi_u32"] = TWO(return (static_cast<u32>(u64{a} * b >> 32)));
  t["s_mul_hi_i32"] = TWO(return (static_cast<u32>(i64{s(a)} * s(b) >> 32)));
  t["s_min_u32"] = TWO(c = a < b; return c ? a : b);
  t["s_max_u32"] = TWO(c = (a > b); return c ? a : b);
  t["s_min_i32"] = TWO(c = (s(a) < s(b)); return c ? a : b);
  t["s_max_i32"] = TWO(c = (s(a) > s(b)); return c ? a : b);
  t["s_lshl1_add_u32"] = TWO(return carried((u64{a} << 1) + b, c));
  t["s_lshl2_add_u32"] = TWO(return carried((u64{a} << 2) + b, c));
  t["s_lshl3_add_u32"] = TWO(return carried((u64{a} << 3) + b, c));
  t["s_lshl4_add_u32"] = TWO(return carried((u64{a} << 4) + b, c));
  t["s_abs_i32"] = ONE(return with_scc(magnitude(a), c));
  t["s_absdiff_i32"] = TWO(return with_scc(magnitude(a - b), c));
}

// Of 32 and 64 bits.
void add_logic(InstructionTable& t) {
#define BOTH(name, function)                   \
  t["s_" name "_b32"] = two<kLogic<function>>; \
  t["s_" name "_b64"] = two_wide<kLogic<function>>
  BOTH("and", ([](auto a, auto b) { return a & b; }));
  BOTH("or", ([](auto a, auto b) { return a | b; }));
  BOTH("xor", ([](auto a, auto b) { return a ^ b; }));
  BOTH("andn2", ([](auto a, auto b) { return a & ~b; }));
  BOTH("orn2", ([](auto a, auto b) { return a | ~b; }));
  BOTH("nand", ([](auto a, auto b) { return ~(a & b); }));
  BOTH("nor", ([](auto a, auto b) { return ~(a | b); }));
  BOTH("xnor", ([](auto a, auto b) { return ~(a ^ b); }));
#undef BOTH
  t["s_cselect_b32"] = TWO(return c ? a : b);
  t["s_cselect_b64"] = two_wide<[](u64 a, u64 b, bool& c) { return c ? a : b; }>;
  t["s_cmov_b32"] = conditional_move;
  t["s_cmov_b64"] = conditional_move_wide;
  t["s_mov_b32"] = ONE(return a);
  t["s_mov_b64"] = one_wide<[](u64 a, bool&) { return a; }>;
  t["s_not_b32"] = ONE(c = ~a != 0; return ~a);
  t["s_not_b64"] = one_wide<[](u64 a, bool& c) {
    c = ~a != 0;
    return ~a;
  }>;
}

void add_shifts_and_bits(InstructionTable& t) {
  t["s_lshl_b32"] = TWO(return with_scc(a << (b & 31), c));
  t["s_lshr_b32"] = TWO(return with_scc((a >> (b & 31)), c));
  t["s_ashr_i32"] = TWO(const i32 r = (s(a) >> (b & 31)); c = r != 0; return (static_cast<u32>(r)));
  t["s_lshl_b64"] = WIDE(return with_scc(a << (b & 63), c));
  t["s_lshr_b64"] = WIDE(return with_scc((a >> (b & 63)), c));
  t["s_ashr_i64"] = WIDE(const i64 r = (static_cast<i64>(a) >> (b & 63)); c = r != 0;
                         return (static_cast<u64>(r)));
  t["s_bfe_u32"] = TWO(return (field<u32>(a, b, c)));
  t["s_bfe_i32"] = TWO(return (static_cast<u32>(field<i32>(s(a), b, c))));
  t["s_bfe_u64"] = WIDE(return (field<u64>(a, b, c)));
  t["s_bfe_i64"] = WIDE(return (static_cast<u64>(field<i64>(static_cast<i64>(a), b, c))));
  t["s_bfm_b32"] = TWO(return ((1u << (a & 31)) - 1) << (b & 31));
  t["s_pack_ll_b32_b16"] = TWO(return (a & 0xffff) | b << 16);
  t["s_pack_lh_b32_b16"] = TWO(return (a & 0xffff) | (b & 0xffff0000));
  t["s_pack_hh_b32_b16"] = TWO(return (a >> 16 | (b & 0xffff0000)));
  t["s_sext_i32_i8"] = ONE(return (static_cast<u32>(static_cast<std::int8_t>(a))));
  t["s_sext_i32_i16"] = ONE(return (static_cast<u32>(static_cast<std::int16_t>(a))));
  t["s_brev_b32"] = ONE(return reversed(a));
  t["s_bcnt1_i32_b32"] = ONE(return with_scc((static_cast<u32>(std::popcount(a))), c));
  t["s_bcnt1_i32_b64"] = COUNT(return with_scc((static_cast<u32>(std::popcount(a))), c));
  t["s_ff1_i32_b32"] = ONE(return first_bit(a, c));
  t["s_ff1_i32_b64"] = COUNT(return first_bit(a, c));
  t["s_flbit_i32_b32"] = ONE(return (a == 0 ? ~0u : static_cast<u32>(std::countl_zero(a))));
  t["s_flbit_i32_b64"] = COUNT(return (a == 0 ? ~0u : static_cast<u32>(std::countl_zero(a))));
  t["s_bitset0_b32"] = bit_set<[](u32 a, u32 bit) { return a & ~bit; }>;
  t["s_bitset1_b32"] = bit_set<[](u32 a, u32 bit) { return a | bit; }>;
  t["s_bitcmp0_b32"] = compare<[](u32 a, u32 b) { return ((a >> (b & 31) & 1) == 0); }>;
  t["s_bitcmp1_b32"] = compare<[](u32 a, u32 b) { return ((a >> (b & 31) & 1) != 0); }>;
}

void add_comparisons(InstructionTable& t) {
#define ALL(name, op)                                                                   \
  t["s_cmp_" name "_u32"] = compare<[](u32 a, u32 b) { return (a op b); }>;             \
  t["s_cmp_" name "_i32"] = compare<[](u32 a, u32 b) { return (s(a) op s(b)); }>;       \
  t["s_cmpk_" name "_u32"] = compare_unsigned_k<[](u32 a, u32 b) { return (a op b); }>; \
  t["s_cmpk_" name "_i32"] = compare_signed_k<[](i32 a, i32 b) { return (a op b); }>
  ALL("eq", ==);
  ALL("lg", !=);
  ALL("gt", >);
  ALL("ge", >=);
  ALL("lt", <);
  ALL("le", <=);
#undef ALL
  t["s_cmp_eq_u64"] = compare_wide<[](u64 a, u64 b) { return a == b; }>;
  t["s_cmp_lg_u64"] = compare_wide<[](u64 a, u64 b) { return a != b; }>;
}

}  // namespace

void add_scalar_instructions(InstructionTable& t) {
  add_sums(t);
  add_logic(t);
  add_shifts_and_bits(t);
  add_comparisons(t);

  // With a constant of 16 bits.
  t["s_movk_i32"] = move_k;
  t["s_addk_i32"] = add_k;
  t["s_mulk_i32"] = multiply_k;
  t["s_cmovk_i32"] = conditional_move_k;

  // Masks of lanes.
  t["s_and_saveexec_b64"] = save_exec<[](u64 a, u64 e) { return a & e; }>;
  t["s_or_saveexec_b64"] = save_exec<[](u64 a, u64 e) { return a | e; }>;
  t["s_xor_saveexec_b64"] = save_exec<[](u64 a, u64 e) { return a ^ e; }>;
  t["s_andn2_saveexec_b64"] = save_exec<[](u64 a, u64 e) { return a & ~e; }>;
  t["s_orn2_saveexec_b64"] = save_exec<[](u64 a, u64 e) { return a | ~e; }>;
  t["s_andn1_saveexec_b64"] = save_exec<[](u64 a, u64 e) { return ~a & e; }>;
  t["s_orn1_saveexec_b64"] = save_exec<[](u64 a, u64 e) { return ~a | e; }>;
}

}  // namespace amd_gpu
