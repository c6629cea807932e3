// SPDX-License-Identifier: Apache-2.0
//
// The first PE of the node makes the arena, and chooses its layout. The others open the arena, and
// read the layout from the ticket. Also finds the parts of a PE's control segment: team areas, and
// the list of active sets, and the word of a PE that joins a team.
#include "core/node_memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <utility>

#include "base/error.hpp"
#include "base/status/own_status.hpp"
#include "base/waiting/wait.hpp"
#include "core/agreement.hpp"

namespace meshmem {
namespace {

constexpr const char* kArenaKey = "meshmem.arena";
// Where the list of active sets begins in a PE's control segment: behind its team areas.
constexpr std::size_t kActiveSetsOffset = sizeof(TeamArea) * kTeamAreas;
constexpr std::size_t kJoiningOffset = kActiveSetsOffset + sizeof(ActiveSetList);

ArenaLayout layout_of(const NodeMemory::Plan& plan) {
  return {.n_pes = plan.pes.size(),
          .control_bytes = kJoiningOffset + sizeof(std::uint64_t),
          .static_bytes = plan.static_bytes,
          .heap_bytes = plan.heap_bytes,
          .has_wire_addresses = plan.has_wire_addresses};
}

// Rows of the status board are by index. Writes each PE's number into its row.
void number_rows(const StatusBoard& board, const std::vector<int>& pes) {
  int place = 0;
  for (const int pe : pes)
    board.pe(place++).number.store(static_cast<std::uint32_t>(pe) + 1, std::memory_order_relaxed);
}

}  // namespace

void NodeMemory::open(Plan plan) {
  pes_ = std::move(plan.pes);
  index_ = index_of(plan.me);
  std::string mine = build_name();
  if (is_first()) {
    plan.pes = pes_;
    layout_ = layout_of(plan);
    arena_.emplace(Arena::create(layout_));
    if (pes_.back() != n() - 1) number_rows(arena_->status_board(), pes_);
    mine += ' ' + arena_->ticket();
  }
  publish(kArenaKey, mine, plan.exchange);
  exchange_published(plan.exchange, plan.start_timeout);
  if (!is_first()) {
    const std::string told = lookup(pes_.front(), kArenaKey);
    require_build(told);
    const std::string ticket = told.substr(build_name().size() + 1);
    layout_ = Arena::layout_of(ticket);
    arena_.emplace(Arena::attach(ticket, index_));
  }
  open_board(arena_->status_board(), index_);
}

// Ends the job if this PE runs another build than the first PE. If several PEs do, only the first
// of them prints this.
void NodeMemory::require_build(const std::string& told_by_first) const {
  const auto build_of = [](const std::string& told) { return told.substr(0, told.find(' ')); };
  const std::string build = build_of(told_by_first);
  if (build == build_name()) return;
  for (int i = 1; i < index_; ++i) {
    if (build_of(lookup(pes_[static_cast<std::size_t>(i)], kArenaKey)) == build) continue;
    wait_for_others_to_report();
    break;
  }
  fatal_message(other_build_line(pes_.front(), build));
}

int NodeMemory::index_of(int pe) const {
  return static_cast<int>(std::lower_bound(pes_.begin(), pes_.end(), pe) - pes_.begin());
}

std::uint64_t NodeMemory::highest_sequence() const {
  std::uint64_t highest = arena_->header().highest_sequence.load(std::memory_order_relaxed);
  for (int i = 0; i < n(); ++i) highest = std::max(highest, directory()[i].highest_sequence);
  return highest;
}

void NodeMemory::tell_wire_address(const std::string& address) {
  if (address.size() > kMostWireAddressBytes)
    fatal(
        "the network's address of this PE has {} bytes, and {} are kept; choose one network by "
        "MESHMEM_NETWORK_DEVICE",
        address.size(), kMostWireAddressBytes);
  WireAddress& mine = arena_->wire_address(index_);
  mine.size = static_cast<std::uint16_t>(address.size());
  std::copy(address.begin(), address.end(), mine.bytes);
}

std::byte* NodeMemory::base_of(int index, RemoteSegment segment) const {
  switch (segment) {
    case RemoteSegment::heap:
      return arena_->base() + layout_.heap(index);
    case RemoteSegment::statics:
      if (index == index_ && own_statics_) return own_statics_;
      return arena_->base() + layout_.statics(index);
    case RemoteSegment::control:
    case RemoteSegment::device:  // which is not in the arena
      break;
  }
  return arena_->base() + layout_.region(index);
}

TeamArea* NodeMemory::team_area(int pe, int slot) const {
  return reinterpret_cast<TeamArea*>(base_of(index_of(pe), RemoteSegment::control)) + slot;
}

ActiveSetList* NodeMemory::active_sets() const {
  std::byte* const control = base_of(0, RemoteSegment::control);
  return reinterpret_cast<ActiveSetList*>(control + kActiveSetsOffset);
}

std::size_t NodeMemory::place_of_active_set(std::size_t place) {
  return kActiveSetsOffset + place * sizeof ActiveSetList::names[0];
}

std::atomic<std::uint64_t>& NodeMemory::joining(int pe) const {
  std::byte* const control = base_of(index_of(pe), RemoteSegment::control);
  return *reinterpret_cast<std::atomic<std::uint64_t>*>(control + kJoiningOffset);
}

std::size_t NodeMemory::place_of_joining() { return kJoiningOffset; }

void NodeMemory::meet(const char* where) {
  const std::uint64_t target = ++meetings_ * static_cast<std::uint64_t>(n());
  std::atomic<std::uint64_t>& arrivals = arena_->header().arrivals;
  // Release: publishes what this PE wrote before to the loads of all PEs that come.
  arrivals.fetch_add(1, std::memory_order_release);
  wait_until_ready([&] { return arrivals.load(std::memory_order_acquire) >= target; },
                   [&] {
                     const std::uint64_t come = std::min(arrivals.load(), target);
                     return fmt::format("{} of {} PEs to {}", target - come, n(), where);
                   });
}

}  // namespace meshmem
