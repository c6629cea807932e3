// SPDX-License-Identifier: Apache-2.0
//
// Says what a kernel polls: a variable of the program, or a flag or packet of a collective. The
// place of a flag or packet in the sync slab tells its team and its sender. The sender follows from
// the flag's index or the packet's row.
// Invariant: finds places as TeamSync (device/sync.hpp) does. A team lives while it has a
// collective under way.
#include "core/kernel_waits.hpp"

#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <utility>

#include "base/status/own_status.hpp"
#include "base/waiting/wait.hpp"
#include "gpu/device_target.hpp"
#include "memory/address_map.hpp"

namespace meshmem {
namespace {

std::optional<SyncWait> flag_wait(const device::ChannelSpace& space, std::size_t offset) {
  if (offset < space.flags ||
      offset - space.flags >= space.flags_of_channel() * sizeof(device::Flag))
    return std::nullopt;
  const std::size_t at = offset - space.flags, flag = at / sizeof(device::Flag);
  if (flag >= space.grid_flag()) return SyncWait{};
  const std::size_t sender = flag >= space.progress_flag()
                                 ? flag - space.progress_flag()
                                 : (at - sizeof(device::Flag)) / sizeof(std::uint64_t);
  return SyncWait{static_cast<int>(sender)};
}

std::optional<SyncWait> row_wait(const device::ChannelSpace& space, std::size_t offset) {
  for (const auto& [begin, row] :
       {std::pair(space.packets, space.packet_row), std::pair(space.wide, space.wide_row),
        std::pair(space.plain, space.plain_row)}) {
    if (row == 0 || offset < begin || offset - begin >= row * space.rows()) continue;
    return SyncWait{static_cast<int>((offset - begin) / row % space.senders)};
  }
  return std::nullopt;
}

KernelWaitSources* sources;

std::string whom(const SyncWait& wait, const Team& team) {
  if (!wait.team_pe) return fmt::format("the other blocks of its grid ({})", team.text());
  const bool is_member = *wait.team_pe >= 0 && *wait.team_pe < team.n;
  return fmt::format("PE {} in a collective ({})",
                     is_member ? team.world_pe(*wait.team_pe) : *wait.team_pe, team.text());
}

// The text for a place in the ring or its results; nullptr for any other.
const char* text_in_ring(const void* awaited) {
  const device::ProxyRing& ring = sources->state.state().proxy;
  if (!ring.slots) return nullptr;
  if (awaited == &ring.progress->consumed) return "the host to take its commands to other machines";
  if (awaited == &ring.progress->completed) return "its requests to other machines to complete";
  const auto offset =
      reinterpret_cast<std::uintptr_t>(awaited) - reinterpret_cast<std::uintptr_t>(ring.results);
  return offset < ring.n_results * sizeof *ring.results ? "an answer from other machines" : nullptr;
}

std::string text_of(const void* awaited) {
  if (const char* const text = text_in_ring(awaited)) return text;
  const Slab& sync = sources->sync;
  const auto offset = static_cast<std::size_t>(static_cast<const std::byte*>(awaited) - sync.base);
  if (offset >= sync.bytes)
    return fmt::format("the variable at {}", place_text(address_map, awaited));
  for (int slot = 0; slot < kMaxTeams; ++slot) {
    const Team* const team = sources->team_in(slot);
    if (team == nullptr) continue;
    if (const auto wait = sync_wait_at(sources->state.state().sync_layout, slot, offset))
      return whom(*wait, *team);
  }
  return fmt::format("a flag of the library at {}", awaited);
}

// A wait of a kernel, shown on the board. Between two calls of say() the kernel has looked at its
// address again. So the job ends at the second call after the timeout.
struct KernelWait {
  ShownWait shown;
  bool is_late = false;
};

double seconds_since(std::uint64_t since_ns) {
  const std::chrono::nanoseconds now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<double>(static_cast<std::uint64_t>(now.count()) - since_ns) * 1e-9;
}

// Many threads may wait for the same address. Only one prints the line.
void end_late_job(const std::string& what) {
  static std::atomic_flag is_ending;
  if (!is_ending.test_and_set()) report_timeout(wait_policy.timeout_seconds, what);
}

void* say(void* shown, const char* who, const void* awaited, std::uint64_t since_ns) {
  auto* const wait =
      shown ? static_cast<KernelWait*>(shown) : new KernelWait{ShownWait(since_ns, true)};
  const std::string what = text_of(awaited);
  wait->shown.say(fmt::format("{} waits for {}", who, what));
  if (wait->is_late) end_late_job(fmt::format("{}, in {}", what, who));
  wait->is_late =
      wait_policy.timeout_seconds > 0 && seconds_since(since_ns) > wait_policy.timeout_seconds;
  return wait;
}

void end(void* shown) { delete static_cast<KernelWait*>(shown); }

}  // namespace

std::optional<SyncWait> sync_wait_at(const device::SyncLayout& layout, int slot,
                                     std::size_t offset) {
  for (int channel = 0; channel < layout.channels_of(slot); ++channel) {
    const device::ChannelSpace space = layout.space(slot, channel);
    if (const auto wait = flag_wait(space, offset)) return wait;
    if (const auto wait = row_wait(space, offset)) return wait;
  }
  return std::nullopt;
}

void show_waits_of_kernels(KernelWaitSources where) {
  sources =
      new KernelWaitSources(std::move(where));  // kernels may wait until the process has ended
  observe_kernels(say, end);
}

}  // namespace meshmem
