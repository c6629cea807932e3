// SPDX-License-Identifier: Apache-2.0
//
// For which PE a kernel waits, by the place in the sync slab that it looks at.
// Invariant: the layout is the one that kernels use.
#include "core/kernel_waits.hpp"

#include <gtest/gtest.h>

#include "device/state.hpp"

namespace meshmem {
namespace {

constexpr int kPes = 5;

void expect_sender(const device::SyncLayout& layout, int slot, std::size_t offset, int sender) {
  const auto wait = sync_wait_at(layout, slot, offset);
  ASSERT_TRUE(wait.has_value());
  ASSERT_TRUE(wait->team_pe.has_value());
  EXPECT_EQ(*wait->team_pe, sender);
  EXPECT_FALSE(sync_wait_at(layout, slot + 1, offset).has_value());
}

TEST(SyncWait, NamesTheSenderOfEachFlagAndRow) {
  for (bool wide_lines : {false, true}) {
    const auto layout = device::SyncLayout::of(kPes, wide_lines);
    for (int slot : {0, 3, 7}) {
      for (int channel : {0, layout.channels_of(slot) - 1}) {
        const device::ChannelSpace space = layout.space(slot, channel);
        for (std::size_t pe = 0; pe < kPes; ++pe) {
          const int sender = static_cast<int>(pe);
          expect_sender(layout, slot, space.flags + sizeof(device::Flag) + pe * 8, sender);
          expect_sender(layout, slot,
                        space.flags + (space.progress_flag() + pe) * sizeof(device::Flag), sender);
          for (std::size_t parity : {0, 1}) {
            const std::size_t row = parity * space.senders + pe;
            expect_sender(layout, slot, space.packets + row * space.packet_row, sender);
            expect_sender(layout, slot, space.plain + (row + 1) * space.plain_row - 1, sender);
            if (wide_lines && space.wide_row > 0)
              expect_sender(layout, slot, space.wide + row * space.wide_row, sender);
          }
        }
      }
    }
  }
}

TEST(SyncWait, TellsTheWordOfAGridFromThoseOfPes) {
  const auto layout = device::SyncLayout::of(kPes, false);
  const device::ChannelSpace space = layout.space(2, 1);
  const auto wait = sync_wait_at(layout, 2, space.flags + space.grid_flag() * sizeof(device::Flag));
  ASSERT_TRUE(wait.has_value());
  EXPECT_FALSE(wait->team_pe.has_value());
}

}  // namespace
}  // namespace meshmem
