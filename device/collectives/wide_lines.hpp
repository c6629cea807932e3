// SPDX-License-Identifier: Apache-2.0
//
// Wide lines: 94 % of a wide line is data, and only half of a packet is. They need GPUs on which a
// line that one instruction stores arrives whole: NVIDIA's over NVLink. NCCL's LL128 protocol
// assumes this too. Used by kernels/.
// Invariant: whole waves take part, and all lanes of a wave go through the same loops. The flag is
// the operation's epoch, all 64 bits of it, so no line has to be cleared. The rows are not those of
// packets, whose data could pass for a flag.
#ifndef MESHMEM_DEVICE_COLLECTIVES_WIDE_LINES_HPP_
#define MESHMEM_DEVICE_COLLECTIVES_WIDE_LINES_HPP_

#include "device/collectives/two_shot.hpp"

#if defined(MESHMEM_TARGET_IS_CUDA)

namespace meshmem {
namespace device {

// A line has 15 units of 8 bytes: two in each lane, and one in the last, which has the flag.
constexpr std::size_t kLanesOfLine = 8;
constexpr std::size_t kUnitsOfLine = 15;
constexpr std::size_t kWideLineBytes = 128;

// A lane's two units of a line. Units behind the last of the data are zero.
template <typename E>
struct LaneUnits {
  EightBytes<E> unit[2];

  MESHMEM_DEVICE_MEMBER static LaneUnits of(const Bits128& words) {
    return {{bit_cast<EightBytes<E>>(words.word[0]), bit_cast<EightBytes<E>>(words.word[1])}};
  }
  MESHMEM_DEVICE_MEMBER Bits128 words() const {
    return {{bit_cast<std::uint64_t>(unit[0]), bit_cast<std::uint64_t>(unit[1])}};
  }
};

// The calling lane's position among the lines of a group's waves.
struct LanePosition {
  std::size_t lane_in_line, line_in_wave, first, stride;

  template <typename Group>
  MESHMEM_DEVICE_MEMBER explicit LanePosition(const Group& group) {
    const auto rank = static_cast<unsigned>(group.rank());
    lane_in_line = rank % kLanesOfLine;
    line_in_wave = rank % 32 / kLanesOfLine;
    first = rank / 32 * (32 / kLanesOfLine);
    stride = static_cast<unsigned>(group.size()) / kLanesOfLine;
  }
  MESHMEM_DEVICE_MEMBER bool has_flag() const { return lane_in_line == kLanesOfLine - 1; }
  // The first of this lane's units in a line.
  MESHMEM_DEVICE_MEMBER std::size_t unit_of(std::size_t line) const {
    return line * kUnitsOfLine + 2 * lane_in_line;
  }
  MESHMEM_DEVICE_MEMBER std::size_t word_of(std::size_t line) const {
    return line * kLanesOfLine + lane_in_line;
  }
};

// Calls visit(line, is_there) for the lines of a wave, equally often in each lane.
template <typename Visit>
MESHMEM_DEVICE void for_each_line(const LanePosition& lane, std::size_t lines, const Visit& visit) {
  for (std::size_t line = lane.first; line < lines; line += lane.stride)
    visit(line + lane.line_in_wave, line + lane.line_in_wave < lines);
}

template <typename E>
MESHMEM_DEVICE LaneUnits<E> load_lane(const LanePosition& lane, const E* array, std::size_t count,
                                      std::size_t begin, std::size_t units, std::size_t line) {
  LaneUnits<E> mine{};
  const std::size_t u = lane.unit_of(line);
  if (u < units) mine.unit[0] = load_unit(array, count, begin + u);
  if (u + 1 < units && !lane.has_flag()) mine.unit[1] = load_unit(array, count, begin + u + 1);
  return mine;
}
template <typename E>
MESHMEM_DEVICE void store_lane(const LanePosition& lane, E* array, std::size_t count,
                               std::size_t begin, std::size_t units, std::size_t line,
                               const LaneUnits<E>& mine) {
  const std::size_t u = lane.unit_of(line);
  if (u < units) store_unit(array, count, begin + u, mine.unit[0]);
  if (u + 1 < units && !lane.has_flag()) store_unit(array, count, begin + u + 1, mine.unit[1]);
}

// Returns the flag of the calling lane's line, which the line's last lane has loaded. All lanes of
// a wave call it together.
MESHMEM_DEVICE std::uint64_t flag_of_line(const Bits128& words) {
  const int flag_lane = static_cast<int>(threadIdx.x % 32 | (kLanesOfLine - 1));
  return __shfl_sync(0xffffffff, static_cast<unsigned long long>(words.word[1]), flag_lane);
}

}  // namespace device
}  // namespace meshmem

#endif  // MESHMEM_TARGET_IS_CUDA

#endif  // MESHMEM_DEVICE_COLLECTIVES_WIDE_LINES_HPP_
