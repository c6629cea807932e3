// SPDX-License-Identifier: Apache-2.0
// Single instructions in small assembly programs: rows of operands and the result that AMD's
// document gives for them.
// Invariant: the rows are worked out by hand from the text of the CDNA2 ISA, not from this code.
#include <gtest/gtest.h>

#include "assembled.hpp"
#include "operands.hpp"

namespace amd_gpu {
namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;

enum class Result { kVector, kVectorPair, kScalar, kScalarPair, kScc };

struct Row {
  const char* program;
  u64 a, b, c;
  Result kind;
  u64 result;
};

constexpr Result V = Result::kVector, VV = Result::kVectorPair, S = Result::kScalar,
                 SS = Result::kScalarPair, C = Result::kScc;

constexpr Row kRows[] = {
    // Sub-dword operands.
    {"v_or_b32_sdwa v6, v0, v2 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:BYTE_1 src1_sel:WORD_1",
     0x11223344, 0xaabb0000, 0, V, 0x33 | 0xaabb},
    {"v_mov_b32 v6, -1\nv_add_u32_sdwa v6, v0, v2 dst_sel:BYTE_2 dst_unused:UNUSED_PRESERVE "
     "src0_sel:DWORD src1_sel:DWORD",
     1, 2, 0, V, 0xff03ffff},
    {"v_add_u32_sdwa v6, v0, v2 dst_sel:BYTE_1 dst_unused:UNUSED_SEXT src0_sel:DWORD "
     "src1_sel:DWORD",
     0x80, 0, 0, V, 0xffff8000},
    {"v_min_i16_sdwa v6, sext(v0), sext(v2) dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:BYTE_0 "
     "src1_sel:BYTE_3",
     0xff, 0x01000000, 0, V, 0xffff},
    {"v_mov_b32 v6, -1\nv_lshrrev_b32_sdwa v6, v0, v2 dst_sel:WORD_1 dst_unused:UNUSED_PAD "
     "src0_sel:DWORD src1_sel:DWORD",
     4, 0x123450, 0, V, 0x23450000},
    // Kernels that print send the host this message: nobody listens.
    {"s_sendmsg sendmsg(MSG_INTERRUPT)\nv_mov_b32 v6, v0", 7, 0, 0, V, 7},
    // Fields, bytes, shifts across registers.
    {"v_perm_b32 v6, v0, v2, v4", 0xa7a6a5a4, 0xa3a2a1a0, 0x0c0d0700, V, 0x00ffa7a0},
    {"v_perm_b32 v6, v0, v2, v4", 0x80000000, 0x00008000, 0x0b0a0908, V, 0xff0000ff},
    {"v_bfe_u32 v6, v0, v2, v4", 0xdeadbeef, 8, 12, V, 0xdbe},
    {"v_bfe_i32 v6, v0, v2, v4", 0x00000f00, 8, 4, V, 0xffffffff},
    {"v_bfe_i32 v6, v0, v2, v4", 0x80000000, 28, 8, V, 0xfffffff8},
    {"v_bfi_b32 v6, v0, v2, v4", 0xff00ff00, 0x12345678, 0x9abcdef0, V, 0x12bc56f0},
    {"v_alignbit_b32 v6, v0, v2, v4", 0x1, 0x80000000, 31, V, 0x3},
    {"v_xad_u32 v6, v0, -1, v4", 5, 0, 3, V, 0xfffffffd},
    {"v_lshl_or_b32 v6, v0, v2, v4", 3, 4, 1, V, 0x31},
    {"v_mul_u32_u24 v6, v0, v2", 0xff000003, 0xff000005, 0, V, 15},
    {"v_mul_i32_i24 v6, v0, v2", 0x00ffffff, 5, 0, V, 0xfffffffb},
    {"v_mad_u64_u32 v[6:7], s[8:9], v0, v2, v[4:5]", 0xffffffff, 0xffffffff, 2, VV,
     0xfffffffe00000003},
    {"v_mad_i64_i32 v[6:7], s[8:9], v0, -3, v[4:5]", 7, 0, 1, VV, static_cast<u64>(-20)},
    {"v_pk_mov_b32 v[6:7], v[0:1], v[2:3] op_sel:[1,0]", 0x1111111100000000, 0x22222222, 0, VV,
     0x2222222211111111},
    {"v_pk_add_u16 v6, v0, v2", 0x0001ffff, 0x00020001, 0, V, 0x00030000},
    {"v_pk_max_i16 v6, v0, v2", 0x8000ffff, 0x00000001, 0, V, 0x00000001},
    {"v_pk_add_f16 v6, v0, v2", 0x3c004000, 0x40004200, 0, V, 0x42004500},
    {"v_pk_add_f16 v6, v0, 1.0 op_sel_hi:[1,0]", 0x3c004000, 0, 0, V, 0x40004200},
    {"v_pk_mul_f16 v6, v0, v2 op_sel:[1,0] op_sel_hi:[0,1] neg_lo:[0,1]", 0x3c004000, 0x42004200, 0,
     V, 0x4600c200},
    {"v_mov_b32 v6, -1\nv_fma_mixlo_f16 v6, v0, v2, v4", 0x3fc00000, 0x40000000, 0x3f800000, V,
     0xffff4400},
    {"v_fma_mixhi_f16 v6, v0, v2, 0 op_sel:[0,1,0] op_sel_hi:[0,1,0]", 0x40400000, 0x40000000, 0, V,
     0x46000000},
    {"v_fma_mix_f32 v6, v0, -v2, v4 op_sel_hi:[1,0,0]", 0x4000, 0x40400000, 0x3f800000, V,
     0xc0a00000},
    {"v_pk_mul_lo_u16 v6, v0, v2", 0x00020003, 0x00040005, 0, V, 0x0008000f},
    // Moves between lanes and scalars.
    {"v_mbcnt_lo_u32_b32 v6, -1, 0\nv_mbcnt_hi_u32_b32 v6, -1, v6\nv_readlane_b32 s6, v6, 45", 0, 0,
     0, S, 45},
    {"s_mov_b64 exec, 12\nv_mov_b32 v0, 9\ns_mov_b64 exec, 4\nv_readfirstlane_b32 s6, v0", 1, 0, 0,
     S, 9},
    {"v_writelane_b32 v6, s0, 3\nv_readlane_b32 s6, v6, 3", 77, 0, 0, S, 77},
    {"v_accvgpr_write_b32 a9, v0\nv_accvgpr_mov_b32 a3, a9\nv_accvgpr_read_b32 v6, a3", 123, 0, 0,
     V, 123},
    // Scalars and their condition code.
    {"s_add_u32 s6, s0, s2\ns_addc_u32 s7, s1, s3", 0xffffffffffffffff, 2, 0, SS, 1},
    {"s_sub_u32 s6, s0, s2\ns_subb_u32 s7, s1, s3", 0, 1, 0, SS, ~0ull},
    {"s_add_i32 s6, s0, s2", 0x7fffffff, 1, 0, C, 1},
    {"s_add_u32 s6, s0, s2", 0x7fffffff, 1, 0, C, 0},
    {"s_bfe_i64 s[6:7], s[0:1], 0x200000", 0x12345678f0000000, 0, 0, SS, 0xfffffffff0000000},
    {"s_bfe_u32 s6, s0, 0x80008", 0xdeadbeef, 0, 0, S, 0xbe},
    {"s_ashr_i64 s[6:7], s[0:1], s2", 0x8000000000000000, 60, 0, SS, static_cast<u64>(-8)},
    {"s_bitcmp1_b32 s0, s2", 0x10, 4, 0, C, 1},
    {"s_cmpk_gt_u32 s0, 0xfff0", 0xfff1, 0, 0, C, 1},
    {"s_movk_i32 s6, 0x8000", 0, 0, 0, S, 0xffff8000},
    {"s_orn2_b64 s[6:7], s[0:1], s[2:3]", 1, ~0ull, 0, SS, 1},
    {"s_getreg_b32 s6, hwreg(HW_REG_SH_MEM_BASES, 16, 16)", 0, 0, 0, S, 1},
    // Program control: a call, a loop, a branch that is not taken.
    {"s_getpc_b64 s[10:11]\ns_add_u32 s10, s10, 16\ns_addc_u32 s11, s11, 0\n"
     "s_swappc_b64 s[12:13], s[10:11]\ns_branch 2\ns_mov_b32 s6, 5\ns_setpc_b64 s[12:13]",
     0, 0, 0, S, 5},
    {"s_mov_b32 s6, 0\n.Lloop:\ns_add_u32 s6, s6, 3\ns_sub_u32 s0, s0, 1\ns_cmp_lg_u32 s0, 0\n"
     "s_cbranch_scc1 .Lloop",
     7, 0, 0, S, 21},
    {"s_mov_b32 s6, 1\ns_mov_b64 vcc, 0\ns_cbranch_vccnz 1\ns_mov_b32 s6, 2", 0, 0, 0, S, 2},
    // Divisions: 1/3 in the steps that compilers emit, and special cases.
    {"v_div_fixup_f32 v6, v0, v2, v4", 0x3f800000, 0, 0x3f800000, V, 0x7f800000},
    {"v_div_fixup_f32 v6, v0, v2, v4", 0x3f800000, 0, 0, V, 0xffc00000},
    {"v_div_fixup_f32 v6, v0, v2, v4", 0x3f800000, 0xbf800000, 0x3f800000, V, 0xbf800000},
    // Conversions saturate.
    {"v_cvt_u32_f32 v6, v0", 0xbf800000, 0, 0, V, 0},
    {"v_cvt_u32_f32 v6, v0", 0x4f800000, 0, 0, V, 0xffffffff},
    {"v_cvt_i32_f32 v6, v0", 0x7fc00000, 0, 0, V, 0},
    {"v_cvt_f16_f32 v6, v0", 0x3f800000, 0, 0, V, 0x3c00},
    {"v_min_f32 v6, v0, v2", 0x7fc00000, 0x3f800000, 0, V, 0x3f800000},
    {"v_max_f32 v6, v0, v2", 0x80000000, 0, 0, V, 0},
    {"v_mul_f32 v6, -v0, |v2|", 0x40000000, 0xc0400000, 0, V, 0xc0c00000},
    {"v_add_f64 v[6:7], v[0:1], 1.0", 0x3ff0000000000000, 0, 0, VV, 0x4000000000000000},
    {"v_add_f32 v6, v0, v2 clamp", 0x40000000, 0x40000000, 0, V, 0x3f800000},
    // LDS and scratch through the flat address space.
    {"v_mov_b32 v8, 16\nds_write2_b32 v8, v0, v2 offset1:3\nds_read2_b32 v[6:7], v8 offset1:3",
     0x11, 0x22, 0, VV, 0x2200000011},
    {"v_mov_b32 v8, 64\nv_mov_b32 v9, 0x10000\nflat_store_dword v[8:9], v0\nds_read_b32 v6, v8", 99,
     0, 0, V, 99},
    {"v_mov_b32 v8, 0\nv_mov_b32 v9, 5\nds_write_b32 v8, v9\nds_add_rtn_u32 v6, v8, v0\n"
     "v_readlane_b32 s6, v6, 63",
     1, 0, 0, S, 68},
    {"v_mov_b32 v8, 0\nds_write_b64 v8, v[0:1]\nds_cmpst_rtn_b64 v[10:11], v8, v[0:1], v[2:3]\n"
     "ds_read_b64 v[6:7], v8",
     0x100000002, 0x300000004, 0, VV, 0x300000004},
};

class Instructions : public testing::Test {
 protected:
  static const Assembled& programs() {
    static const Assembled assembled([] {
      std::vector<std::string> texts;
      for (const Row& row : kRows) texts.emplace_back(row.program);
      return texts;
    }());
    return assembled;
  }
};

u64 result_of(const TestWave& test, const Wave& wave, Result kind, unsigned lane) {
  switch (kind) {
    case Result::kVector:
      return wave.vector[6][lane];
    case Result::kVectorPair:
      return test.vector(6, lane);
    case Result::kScalar:
      return wave.scalar[6];
    case Result::kScalarPair:
      return wave.pair(6);
    case Result::kScc:
      return wave.scc;
  }
  return 0;
}

TEST_F(Instructions, DoWhatTheDocumentSays) {
  for (std::size_t n = 0; n < std::size(kRows); ++n) {
    const Row& row = kRows[n];
    TestWave test;
    const u64 values[] = {row.a, row.b, row.c};
    for (unsigned k = 0; k < 3; ++k) {
      test->set_pair(2 * k, values[k]);
      for (unsigned lane = 0; lane < kLanes; ++lane) test.set_vector(2 * k, lane, values[k]);
    }
    programs().run(n, *test);
    for (const unsigned lane : {0u, 31u, 63u})
      EXPECT_EQ(result_of(test, *test, row.kind, lane), row.result)
          << row.program << ", lane " << lane << std::hex << ", a 0x" << row.a;
  }
}

// Which lane each lane reads, for the controls of DPP; -1: its own value stays.
TEST_F(Instructions, DppReadsOtherLanes) {
  struct Control {
    const char* text;
    int from[4];  // of lanes 0, 1, 17 and 63
  };
  constexpr Control kControls[] = {
      {"quad_perm:[3,2,1,0] row_mask:0xf bank_mask:0xf", {3, 2, 18, 60}},
      {"row_shl:1 row_mask:0xf bank_mask:0xf", {1, 2, 18, -1}},
      {"row_shr:1 row_mask:0xf bank_mask:0xf", {-1, 0, 16, 62}},
      {"row_ror:4 row_mask:0xf bank_mask:0xf", {12, 13, 29, 59}},
      {"wave_shr:1 row_mask:0xf bank_mask:0xf", {-1, 0, 16, 62}},
      {"row_mirror row_mask:0xf bank_mask:0xf", {15, 14, 30, 48}},
      {"row_half_mirror row_mask:0xf bank_mask:0xf", {7, 6, 22, 56}},
      {"row_bcast:15 row_mask:0xf bank_mask:0xf", {-1, -1, 15, 47}},
      {"row_bcast:31 row_mask:0xf bank_mask:0xf", {-1, -1, -1, 31}},
      {"row_newbcast:5 row_mask:0xf bank_mask:0xf", {5, 5, 21, 53}},
      {"quad_perm:[0,0,0,0] row_mask:0x2 bank_mask:0xf", {-1, -1, 16, -1}},
  };
  std::vector<std::string> texts;
  for (const auto& control : kControls)
    texts.push_back("v_mov_b32_dpp v6, v0 " + std::string(control.text));
  const Assembled assembled(texts);
  for (std::size_t n = 0; n < std::size(kControls); ++n) {
    TestWave test;
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      test->vector[0][lane] = lane;
      test->vector[6][lane] = ~0u;
    }
    assembled.run(n, *test);
    constexpr unsigned kLooked[] = {0, 1, 17, 63};
    for (unsigned k = 0; k < 4; ++k)
      EXPECT_EQ(static_cast<int>(test->vector[6][kLooked[k]]), kControls[n].from[k])
          << kControls[n].text << ", lane " << kLooked[k];
  }
}

TEST_F(Instructions, InactiveLanesKeepTheirResultsAndGiveZeroBits) {
  const Assembled assembled(
      {"s_mov_b64 exec, 5\nv_add_u32 v6, v0, v2\nv_cmp_eq_u32 vcc, v0, v0\n"
       "v_add_co_u32 v7, s[8:9], v0, v2\ns_mov_b64 s[6:7], vcc\nds_bpermute_b32 v10, v12, v0"});
  TestWave test;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    test.set_vector(0, lane, 0xffffffff);
    test.set_vector(2, lane, 2);
    test->vector[12][lane] = lane == 0 ? 4 : 8;  // lane 1, which is inactive, and lane 2
  }
  assembled.run(0, *test);
  EXPECT_EQ(test->vector[6][0], 1u);
  EXPECT_EQ(test->vector[6][1], 0u);
  EXPECT_EQ(test->vector[6][2], 1u);
  EXPECT_EQ(test->pair(6), 5u);
  EXPECT_EQ(test->pair(8), 5u);
  EXPECT_EQ(test->vector[10][0], 0u);
  EXPECT_EQ(test->vector[10][2], 0xffffffff);
}

// gfx942: scratch by registers of lanes, scalars and offsets, also through the flat address space.
TEST_F(Instructions, ScratchKeepsWhatEachLaneHasStored) {
  const Architecture& gfx942 = *find_architecture("gfx942");
  if (!Assembled::is_possible_for(gfx942)) GTEST_SKIP() << "needs clang-19 and lld-19";
  const Assembled assembled(
      {"s_mov_b32 s8, 16\nv_mov_b32 v8, 8\nscratch_store_dwordx2 off, v[0:1], s8 offset:8\n"
       "scratch_load_dword v6, v8, s8\nscratch_load_ushort v7, v8, off offset:18",
       "s_mov_b64 s[8:9], src_private_base\nv_mov_b32 v8, 24\nv_mov_b32 v9, s9\n"
       "scratch_store_byte v8, v0, off offset:1\nflat_load_dword v6, v[8:9]",
       "scratch_load_dword v6, off, off offset:252\nscratch_load_dword v6, off, off offset:256",
       "scratch_store_short off, v0, off offset:255"},
      gfx942);
  TestWave test;
  test->set_pair(kFlatScratch, reinterpret_cast<std::uintptr_t>(test->scratch));
  for (unsigned lane = 0; lane < kLanes; ++lane)
    test.set_vector(0, lane, 0x1111222200000000 + lane);
  assembled.run(0, *test);
  for (unsigned lane = 0; lane < kLanes; ++lane) EXPECT_EQ(test->vector[6][lane], lane);
  EXPECT_EQ(test->vector[7][5], 0u);
  assembled.run(1, *test);
  EXPECT_EQ(test->vector[6][7], 0x707u);
  EXPECT_DEATH(assembled.run(2, *test), "beyond the scratch memory.*offset:256");
  // Of any alignment: bytes 21 to 28, and the last one, whose second byte is beyond.
  for (unsigned lane = 0; lane < kLanes; ++lane)
    test.set_vector(0, lane, 0x8877665544332200 + lane);
  EXPECT_DEATH(assembled.run(3, *test), "beyond the scratch memory.*offset:255");
  const Assembled unaligned(
      {"v_mov_b32 v8, 2\nscratch_store_dwordx2 v8, v[0:1], off offset:19\n"
       "scratch_load_dword v6, v8, off offset:19\nscratch_load_ushort v7, v8, off offset:21\n"
       "scratch_load_dword v10, off, off offset:24"},
      gfx942);
  unaligned.run(0, *test);
  EXPECT_EQ(test->vector[6][9], 0x44332209u);
  EXPECT_EQ(test->vector[7][9], 0x4433u);
  EXPECT_EQ(test->vector[10][9], 0x77665544u);
}

TEST_F(Instructions, UnknownOnesEndTheProcessWithTheirText) {
  const Assembled assembled({"s_cbranch_scc1 1\nv_mfma_f32_4x4x1f32 a[0:3], v0, v1, a[0:3]"});
  TestWave skips;
  skips->scc = true;
  // An instruction that is not reached is not asked for.
  const Assembled jump({"s_branch 2\nv_mfma_f32_4x4x1f32 a[0:3], v0, v1, a[0:3]"});
  jump.run(0, *skips);
  TestWave meets;
  EXPECT_DEATH(assembled.run(0, *meets), "not known to the emulated GPU.*v_mfma_f32_4x4x1f32");
}

TEST_F(Instructions, AccessesBeyondLdsEndTheProcess) {
  const Assembled assembled({"v_mov_b32 v8, 0xfffd\nds_read_b32 v6, v8"});
  TestWave test;
  EXPECT_DEATH(assembled.run(0, *test), "beyond the block's LDS.*ds_read_b32");
}

}  // namespace
}  // namespace amd_gpu
