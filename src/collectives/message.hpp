// SPDX-License-Identifier: Apache-2.0
//
// Messages of a PE to all members of its team on this node. Up to kLinesBytes travel in lines. Each
// line carries the operation's number beside its payload, so that one transfer of a cache line
// brings both. Longer messages lie in a stage, and a line says that the stage is filled: the reader
// needs two transfers.
// Invariant: all members call with the same sequence and bytes. team_steps.hpp says when a slot may
// be used again.
#ifndef MESHMEM_COLLECTIVES_MESSAGE_HPP_
#define MESHMEM_COLLECTIVES_MESSAGE_HPP_

#include <algorithm>
#include <cstring>

#include "base/error.hpp"
#include "collectives/team_steps.hpp"

namespace meshmem {

inline constexpr std::size_t kLinesBytes = kMessageLines * kLinePayload;

inline Line& message_line(TeamArea& area, std::uint64_t sequence, std::size_t index) {
  return index == 0 ? area.first_lines[sequence % kOneLineSlots]
                    : area.other_lines[sequence % kLineSlots][index - 1];
}

// Copies the payload of a line, for the usual lengths without a call of memcpy.
inline void copy_payload(std::byte* dest, const std::byte* source, std::size_t bytes) {
  if (bytes == kLinePayload) {
    std::memcpy(dest, source, kLinePayload);
  } else if (bytes == 8) {
    std::memcpy(dest, source, 8);
  } else if (bytes == 4) {
    std::memcpy(dest, source, 4);
  } else {
    std::memcpy(dest, source, bytes);
  }
}

[[noreturn, gnu::cold, gnu::noinline]] inline void refuse_long_message(const NodeTeam& team,
                                                                       std::size_t bytes) {
  fatal("{}: a message of {} bytes to the PEs of this machine is too long; {} bytes are the most",
        team.call_text(), bytes, kStageBytes);
}

// Shows `data` (at most kStageBytes) to all members.
inline void post_message(NodeTeam& team, std::uint64_t sequence, const void* data,
                         std::size_t bytes) {
  const auto* source = static_cast<const std::byte*>(data);
  if (bytes > kLinesBytes) {
    // Behind the stage is another team's area.
    if (bytes > kStageBytes) [[unlikely]]
      refuse_long_message(team, bytes);
    reserve(team, sequence, kStageSlots);
    std::memcpy(team.my_area().stage[sequence % kStageSlots], source, bytes);
    publish(team.my_area().filled[sequence % kStageSlots], sequence);
    return;
  }
  reserve(team, sequence, bytes <= kLinePayload ? kOneLineSlots : kLineSlots);
  std::size_t at = 0;
  for (std::size_t index = 0; at < bytes || index == 0; ++index) {
    Line& line = message_line(team.my_area(), sequence, index);
    const std::size_t length = std::min(bytes - at, kLinePayload);
    copy_payload(line.payload, source + at, length);
    publish(line, sequence);
    at += length;
  }
}

// Waits for PE `pe`'s message, which is in a stage, and returns its address.
inline const std::byte* await_stage(const NodeTeam& team, std::uint64_t sequence, int pe) {
  await(team, team.area_of(pe).filled[sequence % kStageSlots], sequence, pe);
  return team.area_of(pe).stage[sequence % kStageSlots];
}

// Waits for bytes [begin, begin + length) of PE `pe`'s message, which has `bytes` bytes, and copies
// them to dest.
inline void receive_range(const NodeTeam& team, std::uint64_t sequence, void* dest,
                          std::size_t bytes, int pe, std::size_t begin, std::size_t length) {
  auto* to = static_cast<std::byte*>(dest);
  if (bytes > kLinesBytes) {
    std::memcpy(to, await_stage(team, sequence, pe) + begin, length);
    return;
  }
  while (length > 0) {
    Line& line = message_line(team.area_of(pe), sequence, begin / kLinePayload);
    await(team, line, sequence, pe);
    const std::size_t offset = begin % kLinePayload;
    const std::size_t here = std::min(length, kLinePayload - offset);
    copy_payload(to, line.payload + offset, here);
    to += here;
    begin += here;
    length -= here;
  }
}

// Waits for PE `pe`'s message and copies it to dest.
inline void receive_message(const NodeTeam& team, std::uint64_t sequence, void* dest,
                            std::size_t bytes, int pe) {
  receive_range(team, sequence, dest, bytes, pe, 0, bytes);
}

// Room for a message that comes in several lines.
struct MessageRoom {
  alignas(kCacheLine) std::byte bytes[kLinesBytes];
};

// Waits for PE `pe`'s message and returns its address: where it lies, or `room` if it came in
// several lines.
inline const std::byte* await_message(const NodeTeam& team, std::uint64_t sequence,
                                      std::size_t bytes, int pe, MessageRoom& room) {
  if (bytes > kLinesBytes) return await_stage(team, sequence, pe);
  if (bytes <= kLinePayload) {
    Line& line = message_line(team.area_of(pe), sequence, 0);
    await(team, line, sequence, pe);
    return line.payload;
  }
  receive_message(team, sequence, room.bytes, bytes, pe);
  return room.bytes;
}

}  // namespace meshmem

#endif  // MESHMEM_COLLECTIVES_MESSAGE_HPP_
