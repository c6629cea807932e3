// SPDX-License-Identifier: Apache-2.0
//
// The steps that all host collectives are made of: how the members of a team know when memory of
// the team's areas may be written again.
// Invariant: in each operation a PE waits for data of all others, or announces that it has started
// the operation; reserve() relies on that. Called by the files of collectives/.
#ifndef MESHMEM_COLLECTIVES_TEAM_STEPS_HPP_
#define MESHMEM_COLLECTIVES_TEAM_STEPS_HPP_

#include <fmt/core.h>

#include <cstdint>
#include <vector>

#include "base/waiting/schedule_fuzzing.hpp"
#include "base/waiting/wait.hpp"
#include "core/node_team.hpp"

// An operation begins with the next sequence number. Its messages go through slots of the team's
// areas, which are used again `depth` operations later. So a PE that writes a slot must know that
// all have finished the operation that used the slot before: reserve(). A PE has finished an
// operation when it has started the next one. In an operation in which every PE waits for data of
// every other ("all to all"), each PE learns that all have started it, and reserve() need not look.
// In an operation in which only one writes ("rooted"), the others announce() that they have
// started, and reserve() looks.

namespace meshmem {

// Sequence numbers only grow; the signed difference compares them, also when they wrap.
inline bool has_reached(std::uint64_t epoch, std::uint64_t wanted) {
  return static_cast<std::int64_t>(epoch - wanted) >= 0;
}

inline std::uint64_t begin_operation(NodeTeam& team) { return ++team.sequence; }

// The epoch on a `chunks` line is the sequence number, shifted by this many bits, plus the number
// of chunks. That number has few bits, so that a line that has seen no chunk for a long time (2^49
// operations) still compares as the past.
inline constexpr int kChunkBits = 14;
inline constexpr std::size_t kMostChunks = std::size_t{1} << (kChunkBits - 1);
inline std::uint64_t chunk_epoch(std::uint64_t sequence, int chunks) {
  return (sequence << kChunkBits) + static_cast<std::uint64_t>(chunks);
}

// Publishes all that this PE has written so far to each PE whose await() sees the epoch.
inline void publish(Line& line, std::uint64_t epoch) {
  fuzz_schedule();
  line.epoch.store(epoch, std::memory_order_release);
}

// Waits for PE `pe` of the team to reach `epoch` on its `line`, and returns the epoch that it sees.
// Afterwards the caller can read what that PE wrote before. pes() are the PEs that have to act.
template <typename Pes>
inline std::uint64_t await_line(const NodeTeam& team, const Line& line, std::uint64_t epoch, int pe,
                                const Pes& pes) {
  std::uint64_t seen = 0;
  wait_until_ready(
      [&] { return has_reached(seen = line.epoch.load(std::memory_order_acquire), epoch); },
      [&] {
        return Awaited(fmt::format("PE {} in {}", team.world_pe(pe), team.call_text()), pes());
      });
  return seen;
}

inline std::uint64_t await(const NodeTeam& team, const Line& line, std::uint64_t epoch, int pe) {
  return await_line(team, line, epoch, pe, [&] { return std::vector{team.world_pe(pe)}; });
}

// The same for the line line_of(area) of PE `pe`, in an operation in which this PE waits for that
// line of every member. In a team of many PEs it says only `pe`: more would take too long to find.
template <typename LineOf>
inline std::uint64_t await_one_of_all(const NodeTeam& team, const LineOf& line_of,
                                      std::uint64_t epoch, int pe) {
  constexpr int kManyPes = 64;
  return await_line(team, line_of(team.area_of(pe)), epoch, pe, [&] {
    if (team.n > kManyPes) return std::vector{team.world_pe(pe)};
    std::vector<int> missing;
    for (int other = 0; other < team.n; ++other) {
      const Line& line = line_of(team.area_of(other));
      if (other != team.me && !has_reached(line.epoch.load(std::memory_order_relaxed), epoch))
        missing.push_back(team.world_pe(other));
    }
    return missing;
  });
}

inline constexpr auto arrive_of = [](const TeamArea& area) -> const Line& { return area.arrive; };
inline constexpr auto done_of = [](const TeamArea& area) -> const Line& { return area.done; };

inline void announce(NodeTeam& team, std::uint64_t sequence) {
  publish(team.my_area().arrive, sequence);
}

// Waits until all members have announced `sequence`. Remembers the lowest number that it sees,
// which may be higher than `sequence`.
inline void await_all_announced(NodeTeam& team, std::uint64_t sequence) {
  std::uint64_t least = team.sequence;
  for (int i = 1; i < team.n; ++i) {
    const int pe = team.me + i < team.n ? team.me + i : team.me + i - team.n;
    const std::uint64_t seen = await_one_of_all(team, arrive_of, sequence, pe);
    if (has_reached(least, seen)) least = seen;
  }
  if (has_reached(least, team.known_started)) team.known_started = least;
}

// Waits until all members have finished the operation that used the slots of `sequence` before,
// `depth` operations ago.
inline void reserve(NodeTeam& team, std::uint64_t sequence, int depth) {
  const std::uint64_t needed = sequence - static_cast<std::uint64_t>(depth) + 1;
  if (!has_reached(team.known_started, needed)) [[unlikely]]
    await_all_announced(team, needed);
}

// Called after an operation in which this PE has waited for every other PE.
inline void note_all_started(NodeTeam& team, std::uint64_t sequence) {
  team.known_started = sequence;
}

// Ends an operation in which PEs read each other's buffers: returns when all have finished reading.
inline void finish_together(NodeTeam& team, std::uint64_t sequence) {
  publish(team.my_area().done, sequence);
  for (int i = 1; i < team.n; ++i) {
    const int pe = team.me + i < team.n ? team.me + i : team.me + i - team.n;
    await_one_of_all(team, done_of, sequence, pe);
  }
  note_all_started(team, sequence);
}

}  // namespace meshmem

#endif  // MESHMEM_COLLECTIVES_TEAM_STEPS_HPP_
