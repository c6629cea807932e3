// SPDX-License-Identifier: Apache-2.0
// Random operands through single instructions, against the host's arithmetic: 64 lanes at a time,
// with edge cases among them.
// Invariant: the expected results are computed here in another way than in the emulation.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <random>

#include "assembled.hpp"

namespace amd_gpu {
namespace {

using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using i16 = std::int16_t;
using i32 = std::int32_t;
using i64 = std::int64_t;
using u128 = unsigned __int128;

constexpr unsigned kRounds = 200;

struct Row {
  const char* program;
  unsigned words;  // of the result, in v6; 0: a bit of vcc
  u64 (*expected)(u64 a, u64 b, u64 c);
};

float f(u64 bits) { return std::bit_cast<float>(static_cast<u32>(bits)); }
double d(u64 bits) { return std::bit_cast<double>(bits); }
u64 bits(float value) { return std::bit_cast<u32>(value); }
u64 bits(double value) { return std::bit_cast<u64>(value); }
u32 w(u64 value) { return static_cast<u32>(value); }
i32 s(u64 value) { return static_cast<i32>(value); }

// NaNs have many representations.
bool agree(u64 found, u64 expected, const Row& row) {
  if (found == expected) return true;
  const std::string_view text = row.program;
  if (text.find("_f64") != text.npos) return std::isnan(d(found)) && std::isnan(d(expected));
  if (text.find("_f32") != text.npos) return std::isnan(f(found)) && std::isnan(f(expected));
  return false;
}

#define ROW(text, words, expression)                                                        \
  {                                                                                         \
    text, words,                                                                            \
        []([[maybe_unused]] u64 a, [[maybe_unused]] u64 b, [[maybe_unused]] u64 c) -> u64 { \
          return expression;                                                                \
        }                                                                                   \
  }
constexpr Row kRows[] = {
    ROW("v_add_u32 v6, v0, v2", 1, w(u128{a} + b)),
    ROW("v_sub_u32 v6, v0, v2", 1, w(a + ~b + 1)),
    ROW("v_subrev_u32 v6, v0, v2", 1, w(b + ~a + 1)),
    ROW("v_add_co_u32 v6, vcc, v0, v2\nv_addc_co_u32 v7, vcc, v1, v3, vcc", 2, a + b),
    ROW("v_sub_co_u32 v6, vcc, v0, v2\nv_subb_co_u32 v7, vcc, v1, v3, vcc", 2, a - b),
    ROW("v_subrev_co_u32 v6, vcc, v0, v2\nv_subbrev_co_u32 v7, vcc, v1, v3, vcc", 2, b - a),
    ROW("v_mul_lo_u32 v6, v0, v2", 1, w(a* b)),
    ROW("v_mul_hi_u32 v6, v0, v2", 1, w(u128{w(a)} * w(b) >> 32)),
    ROW("v_mul_hi_i32 v6, v0, v2", 1, w(static_cast<u64>(i64{s(a)} * s(b) >> 32))),
    ROW("v_mad_u64_u32 v[6:7], s[8:9], v0, v2, v[4:5]", 2, u64{w(a)} * w(b) + c),
    ROW("v_mad_i64_i32 v[6:7], s[8:9], v0, v2, v[4:5]", 2, static_cast<u64>(i64{s(a)} * s(b)) + c),
    ROW("v_mad_u32_u24 v6, v0, v2, v4", 1, w((a % 0x1000000) * (b % 0x1000000) + c)),
    ROW("v_add3_u32 v6, v0, v2, v4", 1, w(a + b + c)),
    ROW("v_lshl_add_u32 v6, v0, v2, v4", 1, w((u64{w(a)} << b % 32) + c)),
    ROW("v_add_lshl_u32 v6, v0, v2, v4", 1, w(u64{w(a + b)} << c % 32)),
    ROW("v_xad_u32 v6, v0, v2, v4", 1, w((a ^ b) + c)),
    ROW("v_or3_b32 v6, v0, v2, v4", 1, w(a | b | c)),
    ROW("v_and_or_b32 v6, v0, v2, v4", 1, w((a & b) | c)),
    ROW("v_lshl_or_b32 v6, v0, v2, v4", 1, w(u64{w(a)} << b % 32 | c)),
    ROW("v_alignbit_b32 v6, v0, v2, v4", 1, w((u128{w(a)} << 32 | w(b)) >> c % 32)),
    ROW("v_lshlrev_b64 v[6:7], v0, v[2:3]", 2, static_cast<u64>(u128{b} << a % 64)),
    ROW("v_lshrrev_b64 v[6:7], v0, v[2:3]", 2, static_cast<u64>(u128{b} >> a % 64)),
    ROW("v_ashrrev_i64 v[6:7], v0, v[2:3]", 2,
        static_cast<u64>(static_cast<__int128>(static_cast<i64>(b)) >> a % 64)),
    ROW("v_ashrrev_i32 v6, v0, v2", 1, w(static_cast<u64>(i64{s(b)} >> a % 32))),
    ROW("v_lshlrev_b16 v6, v0, v2", 1, static_cast<u16>(u64{static_cast<u16>(b)} << a % 16)),
    ROW("v_add_u16 v6, v0, v2", 1, static_cast<u16>(a + b)),
    ROW("v_mul_lo_u16 v6, v0, v2", 1, static_cast<u16>(a* b)),
    ROW("v_min_i16 v6, v0, v2", 1,
        static_cast<u16>(std::min<i16>(static_cast<i16>(a), static_cast<i16>(b)))),
    ROW("v_pk_add_u16 v6, v0, v2", 1,
        static_cast<u16>(a + b) | u64{static_cast<u16>((a >> 16) + (b >> 16))} << 16),
    ROW("v_min_u32 v6, v0, v2", 1, std::min(w(a), w(b))),
    ROW("v_max_i32 v6, v0, v2", 1, w(static_cast<u64>(i64{std::max(s(a), s(b))}))),
    ROW("v_or_b32_sdwa v6, v0, v2 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:BYTE_3 "
        "src1_sel:WORD_0",
        1, (w(a) >> 24) | (b & 0xffff)),
    ROW("v_cmp_lt_u64 vcc, v[0:1], v[2:3]", 0, a < b),
    ROW("v_cmp_ge_i64 vcc, v[0:1], v[2:3]", 0, static_cast<i64>(a) >= static_cast<i64>(b)),
    ROW("v_cmp_gt_i32 vcc, v0, v2", 0, s(a) > s(b)),
    ROW("v_cmp_le_u32 vcc, v0, v2", 0, w(a) <= w(b)),
    ROW("v_cmp_ne_u16 vcc, v0, v2", 0, static_cast<u16>(a) != static_cast<u16>(b)),
    ROW("v_cmp_lt_f32 vcc, v0, v2", 0, f(a) < f(b)),
    ROW("v_cmp_nge_f32 vcc, v0, v2", 0, !(f(a) >= f(b))),
    ROW("v_cmp_u_f64 vcc, v[0:1], v[2:3]", 0, std::isunordered(d(a), d(b))),
    ROW("v_cmp_gt_i32 vcc, v0, v2\nv_cndmask_b32 v6, v0, v2, vcc", 1, s(a) > s(b) ? w(b) : w(a)),
    ROW("v_add_f32 v6, v0, v2", 1, bits(f(a) + f(b))),
    ROW("v_mul_f32 v6, v0, v2", 1, bits(f(a) * f(b))),
    ROW("v_sub_f32 v6, v0, v2", 1, bits(f(a) - f(b))),
    ROW("v_fma_f32 v6, v0, v2, v4", 1, bits(std::fma(f(a), f(b), f(c)))),
    ROW("v_add_f64 v[6:7], v[0:1], v[2:3]", 2, bits(d(a) + d(b))),
    ROW("v_mul_f64 v[6:7], v[0:1], v[2:3]", 2, bits(d(a) * d(b))),
    ROW("v_fma_f64 v[6:7], v[0:1], v[2:3], v[4:5]", 2, bits(std::fma(d(a), d(b), d(c)))),
    ROW("v_cvt_f64_i32 v[6:7], v0", 2, bits(static_cast<double>(s(a)))),
    ROW("v_cvt_f32_u32 v6, v0", 1, bits(static_cast<float>(w(a)))),
    ROW("v_cvt_f32_f64 v6, v[0:1]", 1, bits(static_cast<float>(d(a)))),
    ROW("v_trunc_f32 v6, v0", 1, bits(std::trunc(f(a)))),
    // A whole division, as compilers write it.
    ROW("v_div_scale_f32 v8, s[8:9], v2, v2, v0\nv_div_scale_f32 v9, vcc, v0, v2, v0\n"
        "v_rcp_f32 v10, v8\nv_fma_f32 v11, -v8, v10, 1.0\nv_fma_f32 v10, v11, v10, v10\n"
        "v_mul_f32 v11, v9, v10\nv_fma_f32 v12, -v8, v11, v9\nv_fma_f32 v11, v12, v10, v11\n"
        "v_fma_f32 v8, -v8, v11, v9\nv_div_fmas_f32 v8, v8, v10, v11\n"
        "v_div_fixup_f32 v6, v8, v2, v0",
        1, bits(f(a) / f(b))),
    ROW("v_div_scale_f64 v[8:9], s[8:9], v[2:3], v[2:3], v[0:1]\nv_rcp_f64 v[10:11], v[8:9]\n"
        "v_fma_f64 v[12:13], -v[8:9], v[10:11], 1.0\nv_fma_f64 v[10:11], v[10:11], v[12:13], "
        "v[10:11]\n"
        "v_div_scale_f64 v[14:15], vcc, v[0:1], v[2:3], v[0:1]\n"
        "v_fma_f64 v[12:13], -v[8:9], v[10:11], 1.0\nv_fma_f64 v[10:11], v[10:11], v[12:13], "
        "v[10:11]\n"
        "v_mul_f64 v[12:13], v[14:15], v[10:11]\nv_fma_f64 v[8:9], -v[8:9], v[12:13], v[14:15]\n"
        "v_div_fmas_f64 v[8:9], v[8:9], v[10:11], v[12:13]\n"
        "v_div_fixup_f64 v[6:7], v[8:9], v[2:3], v[0:1]",
        2, bits(d(a) / d(b))),
};
#undef ROW

// Among random bits: small and large integers, and floats that are zero, infinite, tiny and NaN.
u64 draw(std::mt19937_64& random) {
  constexpr u64 kEdges[] = {0,
                            1,
                            ~0ull,
                            0x7fffffff,
                            0x80000000,
                            0xffff8000,
                            0x7fffffffffffffff,
                            0x8000000000000000,
                            0x3f8000003f800000,
                            0x7f8000007f800000,
                            0x7ff0000000000000,
                            0x7fc000007fc00000,
                            0x0000000100000001,
                            0x0080000000800000,
                            0x0010000000000000,
                            0x7f7fffff7f7fffff};
  switch (random() % 4) {
    case 0:
      return kEdges[random() % std::size(kEdges)];
    case 1:
      return random() >> random() % 64;
    default:
      return random();
  }
}

u64 result_of(const TestWave& test, const Wave& wave, unsigned words, unsigned lane) {
  if (words == 0) return wave.pair(kVcc) >> lane & 1;
  return words == 1 ? wave.vector[6][lane] : test.vector(6, lane);
}

TEST(Arithmetic, IsTheHosts) {
  const char* const given = std::getenv("MESHMEM_TEST_SEED");
  const unsigned seed = given == nullptr ? 1 : static_cast<unsigned>(std::atoi(given));
  SCOPED_TRACE("MESHMEM_TEST_SEED=" + std::to_string(seed));
  std::vector<std::string> texts;
  for (const Row& row : kRows) texts.emplace_back(row.program);
  const Assembled programs(texts);
  std::mt19937_64 random(seed);
  for (std::size_t n = 0; n < std::size(kRows); ++n) {
    for (unsigned round = 0; round < kRounds && !HasFailure(); ++round) {
      TestWave test;
      u64 value[kLanes][3];
      for (unsigned lane = 0; lane < kLanes; ++lane)
        for (unsigned k = 0; k < 3; ++k)
          test.set_vector(2 * k, lane, value[lane][k] = draw(random));
      programs.run(n, *test);
      for (unsigned lane = 0; lane < kLanes; ++lane) {
        const auto& [a, b, c] = value[lane];
        const u64 found = result_of(test, *test, kRows[n].words, lane);
        const u64 expected = kRows[n].expected(a, b, c);
        ASSERT_TRUE(agree(found, expected, kRows[n]))
            << kRows[n].program << std::hex << "\na 0x" << a << ", b 0x" << b << ", c 0x" << c
            << ": 0x" << found << " and not 0x" << expected;
      }
    }
  }
}

}  // namespace
}  // namespace amd_gpu
