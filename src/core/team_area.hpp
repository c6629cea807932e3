// SPDX-License-Identifier: Apache-2.0
//
// The memory by which a PE talks to the other members of a team: flags and small messages. The
// arena has one TeamArea for each PE and slot of a team. Used by collectives/.
// Invariant: only the owning PE writes an area (except the two words of the counting barrier, the
// dissemination flags and `accused`). Epochs only grow, also when a later team uses a slot.
// The numbers in `count`, `accused` and `said` are no epochs.
#ifndef MESHMEM_CORE_TEAM_AREA_HPP_
#define MESHMEM_CORE_TEAM_AREA_HPP_

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace meshmem {

inline constexpr std::size_t kCacheLine = 64;

// A cache line that carries the sequence number of an operation of the team (its epoch), and up to
// 56 bytes that were written before it. The epoch is the same on all members.
struct alignas(kCacheLine) Line {
  // First, so that it is aligned for any type.
  std::byte payload[kCacheLine - sizeof(std::uint64_t)];
  std::atomic<std::uint64_t> epoch{0};
};
inline constexpr std::size_t kLinePayload = sizeof(Line::payload);

// How many messages of a member may be under way in a team: of one line, of several lines, and in
// the stage.
inline constexpr int kOneLineSlots = 64;
inline constexpr int kLineSlots = 16;
inline constexpr int kStageSlots = 2;
inline constexpr int kMessageLines = 20;               // of a message of several lines, at most
inline constexpr std::size_t kStageBytes = 64 * 1024;  // of a message in the stage, at most
inline constexpr int kMostFarPes = kStageBytes;  // in a job over machines: one has a byte of each
// Calls on streams that MESHMEM_CHECK remembers, and the lines that the text of each takes.
inline constexpr int kSaidCalls = 8;
inline constexpr int kSaidLines = 4;
inline constexpr int kMaxRounds = 20;   // of dissemination, for up to 2^20 PEs
inline constexpr int kMaxTeams = 2048;  // of a PE at the same time: each has a slot
// The number of areas of a PE. Those after the first kMaxTeams are for collectives that kernels ask
// the host for, on the same teams.
inline constexpr int kTeamAreas = 2 * kMaxTeams;
// The last of these slots are for active sets: each set that is ever used has its own. The others
// are for teams that programs make, and the predefined ones.
inline constexpr int kActiveSetSlots = 512;
inline constexpr int kFirstActiveSetSlot = kMaxTeams - kActiveSetSlots;
// Under NVSHMEM's names the last slot before them is a predefined team: the PEs with the same
// number on their machines. It leaves the first slots, which have more blocks, to the program.
inline constexpr int kSameNumberSlot = kFirstActiveSetSlot - 1;

struct TeamArea {
  Line arrive;   // the last operation that this PE has announced
  Line done;     // the last in which it has finished reading from others
  Line chunks;   // operation and number: how many chunks of its data this PE has
  Line count;    // counting barrier, in the area of the team's PE 0: arrivals, 0 between two
  Line release;  // likewise: the last operation whose last PE has arrived
  Line meet[2][kMaxRounds];                         // dissemination barrier: written by the partner
  Line first_lines[kOneLineSlots];                  // the first line of each message in lines
  Line filled[kStageSlots];                         // says that stage[] is filled
  Line other_lines[kLineSlots][kMessageLines - 1];  // the other lines of messages in lines
  Line accused;                       // in the area of PE 0: a member has said that calls differ
  Line said[kSaidCalls][kSaidLines];  // the newest calls on streams; a number in the first line
  // Aligned for copies. Areas are never mapped alone, so pages may be larger.
  alignas(4096) std::byte stage[kStageSlots][kStageBytes];
};

}  // namespace meshmem

#endif  // MESHMEM_CORE_TEAM_AREA_HPP_
