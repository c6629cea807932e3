// SPDX-License-Identifier: Apache-2.0
// See operands.hpp. DPP and SDWA: CDNA2 ISA, "Data-Parallel Processing" and "Sub-dword
// addressing"; LLVM's AMDGPUModifierSyntax names the controls.
#include "operands.hpp"

#include <algorithm>
#include <cmath>

namespace amd_gpu {
namespace {

std::uint32_t part_of(std::uint32_t value, Part part, bool extend_sign) {
  unsigned shift = 0, bits = 32;
  switch (part) {
    case Part::kAll:
      return value;
    case Part::kByte0:
    case Part::kByte1:
    case Part::kByte2:
    case Part::kByte3:
      shift = 8 * (static_cast<unsigned>(part) - static_cast<unsigned>(Part::kByte0));
      bits = 8;
      break;
    case Part::kWord0:
    case Part::kWord1:
      shift = part == Part::kWord1 ? 16 : 0;
      bits = 16;
      break;
  }
  const std::uint32_t found = value >> shift & ((1u << bits) - 1);
  if (!extend_sign || (found >> (bits - 1) & 1) == 0) return found;
  return found | ~0u << bits;
}

// The old register with the result in its part. The rest becomes zero or the result's sign, or
// stays.
std::uint32_t placed(std::uint32_t old, std::uint32_t value, const Instruction& i) {
  if (i.result_part == Part::kAll) return value;
  const unsigned number = static_cast<unsigned>(i.result_part);
  const bool is_word = i.result_part >= Part::kWord0;
  const unsigned bits = is_word ? 16 : 8;
  const unsigned shift = is_word ? 16 * (number - static_cast<unsigned>(Part::kWord0))
                                 : 8 * (number - static_cast<unsigned>(Part::kByte0));
  const std::uint32_t mask = ((1u << bits) - 1) << shift;
  const std::uint32_t put = value << shift & mask;
  if (i.preserves) return (old & ~mask) | put;
  if (!i.extends_result) return put;
  const bool negative = value >> (bits - 1) & 1;
  const std::uint32_t above = shift + bits < 32 ? ~0u << (shift + bits) : 0;
  return negative ? put | above : put;
}

// Which lane `lane` reads; -1 for none.
int source_lane(const Dpp& dpp, unsigned lane) {
  using Control = Dpp::Control;
  const unsigned row = lane & ~15u, place = lane & 15, n = dpp.amount;
  switch (dpp.control) {
    case Control::kNone:
      return static_cast<int>(lane);
    case Control::kQuadPerm:
      return static_cast<int>((lane & ~3u) | (n >> 2 * (lane & 3) & 3));
    case Control::kRowShl:
      return place + n < 16 ? static_cast<int>(lane + n) : -1;
    case Control::kRowShr:
      return place >= n ? static_cast<int>(lane - n) : -1;
    case Control::kRowRor:
      return static_cast<int>(row | ((place - n) & 15));
    case Control::kWaveShl:
      return lane + 1 < kLanes ? static_cast<int>(lane + 1) : -1;
    case Control::kWaveShr:
      return static_cast<int>(lane) - 1;
    case Control::kWaveRol:
      return static_cast<int>((lane + 1) % kLanes);
    case Control::kWaveRor:
      return static_cast<int>((lane + kLanes - 1) % kLanes);
    case Control::kRowMirror:
      return static_cast<int>(row | (15 - place));
    case Control::kRowHalfMirror:
      return static_cast<int>((lane & ~7u) | (7 - (lane & 7)));
    case Control::kRowBcast15:
      return row == 0 ? -1 : static_cast<int>(row - 1);
    case Control::kRowBcast31:
      return lane < 32 ? -1 : 31;
    case Control::kRowNewBcast:
      return static_cast<int>(row | n);
  }
  return -1;
}

bool dpp_writes(const Dpp& dpp, unsigned lane) {
  return (dpp.row_mask >> (lane / 16) & 1) != 0 && (dpp.bank_mask >> (lane / 4 % 4) & 1) != 0;
}

// The active lanes that DPP lets the instruction write.
std::uint64_t written_lanes(const Wave& wave, const Instruction& i) {
  const std::uint64_t exec = wave.exec();
  if (i.dpp.control == Dpp::Control::kNone) return exec;
  std::uint64_t mask = 0;
  for_each_lane(exec, [&](unsigned lane) {
    const int source = source_lane(i.dpp, lane);
    const bool is_valid = source >= 0 && (exec >> source & 1) != 0;
    if (dpp_writes(i.dpp, lane) && (is_valid || i.dpp.bound_control)) mask |= 1ull << lane;
  });
  return mask;
}

void read_dpp(const Wave& wave, const Instruction& i, const Lanes& source, Lanes& lanes) {
  const std::uint64_t exec = wave.exec();
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    const int from = source_lane(i.dpp, lane);
    lanes[lane] = from >= 0 && (exec >> from & 1) != 0 ? source[static_cast<unsigned>(from)] : 0;
  }
}

}  // namespace

const Lanes& read_lanes(const Wave& wave, const Instruction& i, unsigned n, Lanes& space) {
  const Operand& operand = i.operand[n];
  const bool moves = i.dpp.control != Dpp::Control::kNone && n == 1;
  const bool is_whole = operand.part == Part::kAll;
  if (operand.is_vector()) {
    const Lanes& source = wave.vector[operand.first];
    if (is_whole && !moves) return source;
    if (moves) {
      read_dpp(wave, i, source, space);
    } else {
      space = source;
    }
  } else {
    space.fill(read_scalar(wave, operand));
  }
  if (!is_whole)
    for (auto& value : space) value = part_of(value, operand.part, operand.extend_sign);
  return space;
}

const Lanes& read_floats(const Wave& wave, const Instruction& i, unsigned n, Lanes& space) {
  const Operand& operand = i.operand[n];
  const Lanes& source = read_lanes(wave, i, n, space);
  if (!operand.negate && !operand.absolute) return source;
  const std::uint32_t clear = operand.absolute ? 0x7fffffff : ~0u;
  const std::uint32_t flip = operand.negate ? 0x80000000 : 0;
  for (unsigned lane = 0; lane < kLanes; ++lane) space[lane] = (source[lane] & clear) ^ flip;
  return space;
}

void read_wide_lanes(const Wave& wave, const Instruction& i, unsigned n, WideLanes& lanes) {
  const Operand& operand = i.operand[n];
  if (!operand.is_vector()) {
    lanes.fill(read_scalar_wide(wave, operand));
    return;
  }
  const Lanes &low = wave.vector[operand.first], &high = wave.vector[operand.first + 1u];
  for (unsigned lane = 0; lane < kLanes; ++lane)
    lanes[lane] = std::uint64_t{high[lane]} << 32 | low[lane];
}

void read_doubles(const Wave& wave, const Instruction& i, unsigned n, WideLanes& lanes) {
  const Operand& operand = i.operand[n];
  read_wide_lanes(wave, i, n, lanes);
  // A literal is the upper half; inline integers (-16 to 64) are integers.
  const auto number = static_cast<std::int64_t>(operand.value);
  if (operand.kind == Kind::kConstant && (number > 64 || number < -16))
    lanes.fill(operand.value << 32);
  const std::uint64_t clear = operand.absolute ? ~0ull >> 1 : ~0ull;
  const std::uint64_t flip = operand.negate ? 1ull << 63 : 0;
  for (auto& value : lanes) value = (value & clear) ^ flip;
}

void write_lanes(Wave& wave, const Instruction& i, const Lanes& lanes) {
  const Operand& operand = i.operand[0];
  if (!operand.is_vector()) fail(wave, "a result has no vector register");
  Lanes& result = wave.vector[operand.first];
  const std::uint64_t mask = written_lanes(wave, i);
  if (mask == ~0ull && !i.is_sdwa) {
    result = lanes;
  } else if (i.is_sdwa) {
    for_each_lane(mask, [&](unsigned l) { result[l] = placed(result[l], lanes[l], i); });
  } else {
    for_each_lane(mask, [&](unsigned lane) { result[lane] = lanes[lane]; });
  }
}

void write_wide_lanes(Wave& wave, const Instruction& i, const WideLanes& lanes) {
  const Operand& operand = i.operand[0];
  if (!operand.is_vector()) fail(wave, "a result has no vector register");
  Lanes &low = wave.vector[operand.first], &high = wave.vector[operand.first + 1u];
  for_each_lane(wave.exec(), [&](unsigned lane) {
    low[lane] = static_cast<std::uint32_t>(lanes[lane]);
    high[lane] = static_cast<std::uint32_t>(lanes[lane] >> 32);
  });
}

void write_floats(Wave& wave, const Instruction& i, Lanes& lanes) {
  if (i.output_factor != 1)
    for (auto& value : lanes) value = bits_of(as_float(value) * i.output_factor);
  if (i.clamp)  // the mode's DX10_CLAMP makes a NaN 0
    for (auto& value : lanes) value = bits_of(std::fmin(std::fmax(as_float(value), 0.0f), 1.0f));
  write_lanes(wave, i, lanes);
}

void write_doubles(Wave& wave, const Instruction& i, WideLanes& lanes) {
  if (i.output_factor != 1)
    for (auto& value : lanes)
      value = bits_of(as_double(value) * static_cast<double>(i.output_factor));
  if (i.clamp)
    for (auto& value : lanes) value = bits_of(std::fmin(std::fmax(as_double(value), 0.0), 1.0));
  write_wide_lanes(wave, i, lanes);
}

}  // namespace amd_gpu
