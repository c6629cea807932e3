// SPDX-License-Identifier: Apache-2.0
// Instructions that move words between lanes, or between lanes and scalars. CDNA2 ISA, V_READLANE
// and others.
// Invariant: reading and writing a lane by its number does not ask whether it is active.
#include <bit>

#include "operands.hpp"

namespace amd_gpu {
namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;

void read_lane(Wave& w, const Instruction& i) {
  const unsigned lane = read_scalar(w, i.operand[2]) & (kLanes - 1);
  write_scalar(w, i.operand[0], w.vector[i.operand[1].first][lane]);
}
void write_lane(Wave& w, const Instruction& i) {
  const unsigned lane = read_scalar(w, i.operand[2]) & (kLanes - 1);
  w.vector[i.operand[0].first][lane] = read_scalar(w, i.operand[1]);
}
// Lane 0 where none is active.
void read_first_lane(Wave& w, const Instruction& i) {
  const unsigned lane = w.exec() == 0 ? 0 : static_cast<unsigned>(std::countr_zero(w.exec()));
  const Operand& source = i.operand[1];
  write_scalar(w, i.operand[0],
               source.is_vector() ? w.vector[source.first][lane] : read_scalar(w, source));
}

// Counts the bits of a mask that belong to lanes before this one.
template <unsigned kFirst>
void count_bits_before(Wave& w, const Instruction& i) {
  Lanes a_space, b_space, result;
  const Lanes &mask = read_lanes(w, i, 1, a_space), &base = read_lanes(w, i, 2, b_space);
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    const u64 before = (u64{1} << lane) - 1;
    result[lane] =
        static_cast<u32>(std::popcount(mask[lane] & static_cast<u32>(before >> kFirst))) +
        base[lane];
  }
  write_lanes(w, i, result);
}

// Both are in vector registers; source lanes that are not active give 0.
void permute_backwards(Wave& w, const Instruction& i) {
  const Lanes index = w.vector[i.operand[1].first], data = w.vector[i.operand[2].first];
  Lanes result;
  const u64 exec = w.exec();
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    const unsigned from = (index[lane] + static_cast<u32>(i.offset)) / 4 % kLanes;
    result[lane] = exec >> from & 1 ? data[from] : 0;
  }
  write_lanes(w, i, result);
}
void permute_forwards(Wave& w, const Instruction& i) {
  const Lanes index = w.vector[i.operand[1].first], data = w.vector[i.operand[2].first];
  Lanes result{};
  for_each_lane(w.exec(), [&](unsigned lane) {
    result[(index[lane] + static_cast<u32>(i.offset)) / 4 % kLanes] = data[lane];
  });
  write_lanes(w, i, result);
}

// Bit 15 of the offset chooses: four times two bits in each quad, or lane masks in each half.
void swizzle(Wave& w, const Instruction& i) {
  const Lanes data = w.vector[i.operand[1].first];
  Lanes result;
  const u32 how = static_cast<u32>(i.offset);
  const u64 exec = w.exec();
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    unsigned from;
    if (how & 0x8000) {
      from = (lane & ~3u) | (how >> 2 * (lane & 3) & 3);
    } else {
      const unsigned in_half = ((lane & how & 31) | (how >> 5 & 31)) ^ (how >> 10 & 31);
      from = (lane & 32) | in_half;
    }
    result[lane] = exec >> from & 1 ? data[from] : 0;
  }
  write_lanes(w, i, result);
}

void swap(Wave& w, const Instruction& i) {
  Lanes &a = w.vector[i.operand[0].first], &b = w.vector[i.operand[1].first];
  for_each_lane(w.exec(), [&](unsigned lane) { std::swap(a[lane], b[lane]); });
}

}  // namespace

void add_lane_instructions(InstructionTable& t) {
  t["v_readlane_b32"] = read_lane;
  t["v_writelane_b32"] = write_lane;
  t["v_readfirstlane_b32"] = read_first_lane;
  t["v_mbcnt_lo_u32_b32"] = count_bits_before<0>;
  t["v_mbcnt_hi_u32_b32"] = count_bits_before<32>;
  t["ds_bpermute_b32"] = permute_backwards;
  t["ds_permute_b32"] = permute_forwards;
  t["ds_swizzle_b32"] = swizzle;
  t["v_swap_b32"] = swap;
  for (const char* name : {"v_accvgpr_read_b32", "v_accvgpr_write_b32", "v_accvgpr_mov_b32"})
    t[name] = unary<[](u32 a) { return a; }>;
}

}  // namespace amd_gpu
