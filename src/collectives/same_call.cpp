// SPDX-License-Identifier: Apache-2.0
//
// How a member tells the others what it calls: by a text, cut to the length of kSaidLines lines.
// Invariant: one of the PEs that find a difference prints it and ends the job. The others wait for
// the end.
#include "collectives/same_call.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <vector>

#include "base/error.hpp"
#include "collectives/between_nodes.hpp"
#include "collectives/message.hpp"
#include "memory/address_map.hpp"

namespace meshmem {

constinit bool calls_are_compared = false;

namespace {

constexpr std::size_t kWordsOfLine = kLinePayload / sizeof(std::uint64_t);

struct SaidCall {
  std::array<std::uint64_t, kSaidLines * kWordsOfLine> words{};

  static SaidCall of(const std::string& text) {
    SaidCall said;
    std::memcpy(said.words.data(), text.data(), std::min(text.size(), sizeof said.words - 1));
    return said;
  }
  const char* text() const { return reinterpret_cast<const char*>(words.data()); }
  bool operator==(const SaidCall&) const = default;
};

SaidCall said_by_caller(const Team& team, fmt::string_view arguments, fmt::format_args values) {
  return SaidCall::of(fmt::format("{}({})", team.routine(), fmt::vformat(arguments, values)));
}

std::string name_of(const Team& team) {
  constexpr int kMost = 4;
  if (handle_of(team.slot) == SHMEM_TEAM_WORLD) return "SHMEM_TEAM_WORLD";
  if (handle_of(team.slot) == SHMEM_TEAM_SHARED) return "SHMEM_TEAM_SHARED";
  std::string name = "the team of PEs";
  for (int pe = 0; pe < std::min(team.n, kMost); ++pe)
    name += fmt::format("{} {}", pe == 0 ? "" : ",", team.world_pe(pe));
  return team.n > kMost ? name + ", ..." : name;
}

[[noreturn]] void accuse(const Team& team, const SaidCall& mine, const SaidCall& theirs, int pe,
                         std::uint64_t number, const char* kind) {
  only_one_speaks(team);
  fatal("{} here, but PE {} called {} in the same place ({} {} of {})", mine.text(),
        team.world_pe(pe), theirs.text(), kind, number, name_of(team));
}

// The lines of a team's area by which a PE tells of one call on a stream. A later call overwrites
// them.
struct SaidOnStream {
  Line (&lines)[kSaidLines];

  template <typename Access>
  void for_each_word(const Access& access) {
    for (std::size_t i = 0; i < kSaidLines * kWordsOfLine; ++i) {
      auto* words = reinterpret_cast<std::uint64_t*>(lines[i / kWordsOfLine].payload);
      access(std::atomic_ref(words[i % kWordsOfLine]), i);
    }
  }
  void say(const SaidCall& call, std::uint64_t number) {
    lines[0].epoch.store(0, std::memory_order_relaxed);
    for_each_word([&](auto word, std::size_t i) {  // release: a PE that reads it finds the 0 too
      word.store(call.words[i], std::memory_order_release);
    });
    // If two PEs say their calls at the same time, at least one of them finds the other's.
    lines[0].epoch.store(number, std::memory_order_seq_cst);
  }
  bool try_read(SaidCall& call, std::uint64_t number) {
    if (lines[0].epoch.load(std::memory_order_seq_cst) != number) return false;
    for_each_word([&](auto word, std::size_t i) {
      call.words[i] = word.load(std::memory_order_acquire);  // before another look at the number
    });
    return lines[0].epoch.load(std::memory_order_relaxed) == number;
  }
};

}  // namespace

void compare_call(Team& team, fmt::string_view arguments, fmt::format_args values) {
  const SaidCall mine = said_by_caller(team, arguments, values);
  ++team.host_calls;
  const auto compare_with = [&](const SaidCall& first) {
    if (mine != first) accuse(team, mine, first, 0, team.host_calls, "collective");
  };
  if (!team.is_on_one_node()) {
    std::vector<SaidCall> all(static_cast<std::size_t>(team.n));
    between_nodes::gather(team, reinterpret_cast<std::byte*>(all.data()), &mine, sizeof mine);
    return compare_with(all[0]);
  }
  NodeTeam& node = team.node;
  const std::uint64_t sequence = begin_operation(node);
  post_message(node, sequence, &mine, sizeof mine);
  SaidCall of_other;
  receive_message(node, sequence, &of_other, sizeof of_other, 0);
  compare_with(of_other);              // at once: some member may never come
  for (int pe = 1; pe < node.n; ++pe)  // the lines are used again, so wait for all
    receive_message(node, sequence, &of_other, sizeof of_other, pe);
  note_all_started(node, sequence);
}

void compare_stream_call(Team& team, const std::string& arguments) {
  const SaidCall mine = SaidCall::of(fmt::format("{}({})", team.routine(), arguments));
  const std::uint64_t number = ++team.stream_calls;
  const auto place = number % kSaidCalls;
  NodeTeam& node = team.node;
  SaidOnStream{node.my_area().said[place]}.say(mine, number);
  SaidCall theirs;
  for (int pe = 0; pe < node.n; ++pe) {
    if (SaidOnStream{node.area_of(pe).said[place]}.try_read(theirs, number) && mine != theirs)
      accuse(team, mine, theirs, pe, number, "call on a stream");
  }
}

void only_one_speaks(const Team& team) {
  if (team.node.area_of(0).accused.epoch.exchange(1) == 0) return;
  for (;;) pause();
}

std::string symmetric_name(const void* address) {
  const auto number = reinterpret_cast<std::uintptr_t>(address);
  const auto offset_in = [&](const Segment& segment) { return number - segment.base; };
  if (offset_in(address_map.heap) < address_map.heap.bytes)
    return fmt::format("heap + {}", offset_in(address_map.heap));
  if (offset_in(address_map.statics) < address_map.statics.bytes)
    return fmt::format("statics + {}", offset_in(address_map.statics));
  const std::vector<DeviceSegment> segments = device_segments().all();
  for (std::size_t i = 0; i < segments.size(); ++i) {
    if (number - segments[i].base >= segments[i].bytes) continue;
    const std::string name = i == 0 ? "device heap" : fmt::format("registered buffer {}", i);
    return fmt::format("{} + {}", name, number - segments[i].base);
  }
  return "no symmetric address";
}

}  // namespace meshmem
