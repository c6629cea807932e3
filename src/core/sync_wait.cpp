// SPDX-License-Identifier: Apache-2.0
//
// Looks through the channels of a slot: flags tell by their index who sets them, packets by their
// row who sends them.
// Invariant: as TeamSync (device/sync.hpp) finds the places.
#include "core/sync_wait.hpp"

#include <cstdint>
#include <utility>

namespace meshmem {
namespace {

using device::Flag;

std::optional<SyncWait> flag_wait(const device::ChannelSpace& space, std::size_t offset) {
  if (offset < space.flags || offset - space.flags >= space.flags_of_channel() * sizeof(Flag))
    return std::nullopt;
  const std::size_t at = offset - space.flags, flag = at / sizeof(Flag);
  if (flag >= space.grid_flag()) return SyncWait{};
  const std::size_t sender = flag >= space.progress_flag()
                                 ? flag - space.progress_flag()
                                 : (at - sizeof(Flag)) / sizeof(std::uint64_t);
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

}  // namespace meshmem
