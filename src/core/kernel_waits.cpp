// SPDX-License-Identifier: Apache-2.0
//
// Says what the address is that a kernel looks at. It is a variable of the program, or a flag or
// packet of a collective, whose place in the sync slab tells the team and the sender.
// Invariant: a team whose collective is under way is alive.
#include "core/kernel_waits.hpp"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "base/status/own_status.hpp"
#include "core/sync_wait.hpp"
#include "gpu/device_target.hpp"
#include "memory/place_text.hpp"

namespace meshmem {
namespace {

KernelWaitSources* sources;

std::string whom(const SyncWait& wait, const Team& team) {
  if (!wait.team_pe) return fmt::format("the other blocks of its grid ({})", team.text());
  const bool is_member = *wait.team_pe >= 0 && *wait.team_pe < team.n;
  return fmt::format("PE {} in a collective ({})",
                     is_member ? team.world_pe(*wait.team_pe) : *wait.team_pe, team.text());
}

// Of what kernels wait for in the ring and in its results.
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
  return fmt::format("a flag of the library's at {}", awaited);
}

void* say(void* shown, const char* who, const void* awaited, std::uint64_t since_ns) {
  auto* const wait = shown ? static_cast<ShownWait*>(shown) : new ShownWait(since_ns, true);
  wait->say(fmt::format("{} waits for {}", who, text_of(awaited)));
  return wait;
}

void end(void* shown) { delete static_cast<ShownWait*>(shown); }

}  // namespace

void show_waits_of_kernels(KernelWaitSources where) {
  sources =
      new KernelWaitSources(std::move(where));  // kernels may wait until the process has ended
  observe_kernels(say, end);
}

}  // namespace meshmem
