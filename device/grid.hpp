// SPDX-License-Identifier: Apache-2.0
//
// All blocks of a kernel as one group: how they meet, alone and with the grids of other PEs. They
// have to be on the device together, as a cooperative launch makes sure, and any shape will do.
// Called by the collectives of grids.
// Invariant: between two meetings no block is counted, so grids of other sizes may follow, in other
// kernels and in graphs. One grid at a time of each PE is on a team.
#ifndef MESHMEM_DEVICE_GRID_HPP_
#define MESHMEM_DEVICE_GRID_HPP_

#include "device/sync.hpp"

// A grid's word lies in its PE's sync slab, with the flags of the team's channel 0: in its low half
// the blocks that have come to a meeting, in the high half the meetings that there have been.
// Whoever ends a meeting takes both on in one addition. The number of meetings may wrap: blocks
// wait for it to change, and it cannot change again before they have come to the next. The word
// changes by additions alone, so whoever acquires after a look at it has what each block released
// before it came. Block 0 is on channel 0, as block b is on channel b.

namespace meshmem {
namespace device {

struct CooperativeGrid {
  MESHMEM_DEVICE_MEMBER int block() const {
    return static_cast<int>((blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x);
  }
  MESHMEM_DEVICE_MEMBER int blocks() const {
    return static_cast<int>(gridDim.x * gridDim.y * gridDim.z);
  }
};

#ifndef NDEBUG
// False where it is known that blocks may wait for others that never come to be run.
MESHMEM_DEVICE bool is_cooperative() {
#if defined(MESHMEM_TARGET_IS_CPU)
  return hip_on_cpu::current_thread->block->is_cooperative;
#elif defined(MESHMEM_TARGET_IS_CUDA)
  // The address of the driver's memory for such a grid, from where cooperative_groups.h takes it.
  unsigned low, high;
  asm("mov.u32 %0, %%envreg2;" : "=r"(low));
  asm("mov.u32 %0, %%envreg1;" : "=r"(high));
  return (low | high) != 0;
#else
  return true;
#endif
}
#endif

// Debug builds look at how the grid was launched, and say what is wrong with it.
MESHMEM_DEVICE void check_launch_of(const CooperativeGrid& grid) {
#ifndef NDEBUG
  if (grid.blocks() == 1 || thread_in_block() != 0 || is_cooperative()) return;
  printf(
      "meshmem: PE %d, in a kernel: %d blocks call a _grid routine, and were not launched by "
      "hipLaunchCooperativeKernel; some may wait for others that never run\n",
      state().me, grid.blocks());
  trap();
#else
  (void)grid;
#endif
}

// A meeting as the leader of a block takes part in it.
class GridMeeting {
 public:
  MESHMEM_DEVICE_MEMBER GridMeeting(const CooperativeGrid& grid, const TeamSync& sync)
      : word_(sync.grid_word()), blocks_(static_cast<std::uint32_t>(grid.blocks())) {}

  // Publishes what the block has released. Whether all others have come before.
  MESHMEM_DEVICE_MEMBER bool arrive() {
    release_mine();
    before_ = fetch_add(word_, std::uint64_t{1});
    return static_cast<std::uint32_t>(before_) + 1 == blocks_;
  }
  // After arrive(): until the meeting has ended.
  MESHMEM_DEVICE_MEMBER void await_end() const {
    pause_until([this] { return load_relaxed(word_) >> 32 != before_ >> 32; },
                [this] { return word_; });
    acquire_mine();
  }
  // Instead of arrive(): until all others have come.
  MESHMEM_DEVICE_MEMBER void await_others() const {
    pause_until([this] { return static_cast<std::uint32_t>(load_relaxed(word_)) + 1 == blocks_; },
                [this] { return word_; });
    acquire_mine();
  }
  // `counted`: the blocks that have arrived.
  MESHMEM_DEVICE_MEMBER void end(std::uint32_t counted) const {
    fetch_add(word_, (std::uint64_t{1} << 32) - counted);
  }
  MESHMEM_DEVICE_MEMBER std::uint32_t blocks() const { return blocks_; }

 private:
  std::uint64_t* word_;
  std::uint32_t blocks_;
  std::uint64_t before_ = 0;
};

// What any block of the grid stored before it, all can read after it. The last to come ends it.
MESHMEM_DEVICE void meet(const CooperativeGrid& grid, const TeamSync& sync) {
  const Block block;
  check_launch_of(grid);
  release_all(block);
  if (block.rank() == 0) {
    GridMeeting meeting(grid, sync);
    if (meeting.arrive()) {
      meeting.end(meeting.blocks());
      acquire_mine();
    } else {
      meeting.await_end();
    }
  }
  acquire_all(block);
}

// The same of all PEs' grids: block 0 meets the other PEs while the rest of its own waits for it.
// All of the rest have released to all PEs by then. The number of blocks may differ between PEs.
MESHMEM_DEVICE void team_sync(const CooperativeGrid& grid, const TeamSync& sync) {
  const Block block;
  GridMeeting meeting(grid, sync);
  const bool leads = grid.block() == 0;
  check_launch_of(grid);
  release_all(block);
  if (block.rank() == 0) {
    if (leads) {
      meeting.await_others();
    } else {
      meeting.arrive();
      meeting.await_end();
    }
  }
  acquire_all(block);
  if (!leads) return;
  team_sync(block, sync);
  if (block.rank() == 0) {
    release_mine();  // the others read what PEs have stored that this block has waited for
    meeting.end(meeting.blocks() - 1);
  }
}

}  // namespace device
}  // namespace meshmem

#endif  // MESHMEM_DEVICE_GRID_HPP_
