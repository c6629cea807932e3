// SPDX-License-Identifier: Apache-2.0
//
// All blocks of a kernel as one group: how they meet, alone and with the grids of other PEs. They
// must be on the device at the same time, which a cooperative launch ensures. A grid has any shape.
// Invariant: the count of blocks is zero between two meetings, so that a grid of another size may
// come next, in another kernel or a graph. Each PE has one grid at a time on a team. Called by the
// collectives of grids.
#ifndef MESHMEM_DEVICE_GRID_HPP_
#define MESHMEM_DEVICE_GRID_HPP_

#include "device/sync.hpp"

// A grid has one word, in its PE's sync slab, with the flags of the team's channel 0. The low half
// counts the blocks that have come to the meeting, the high half the meetings that have ended.
// The last block to come clears the low half and increments the high half in one addition. The
// number of meetings may wrap: blocks wait for it to change, and it cannot change again before they
// have come to the next meeting. Only additions change the word. So a block that sees another
// block's addition and acquires has all stores that this block released before it. Block b uses
// channel b.

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

// False if the launch is known not to be cooperative, so that some blocks may never run.
MESHMEM_DEVICE bool is_cooperative() {
#if defined(MESHMEM_TARGET_IS_CPU)
  return hip_on_cpu::current_thread->block->is_cooperative;
#elif defined(MESHMEM_TARGET_IS_CUDA)
  // The address of the driver's memory for a cooperative grid, read as cooperative_groups.h reads
  // it.
  unsigned low, high;
  asm("mov.u32 %0, %%envreg2;" : "=r"(low));
  asm("mov.u32 %0, %%envreg1;" : "=r"(high));
  return (low | high) != 0;
#else
  return true;
#endif
}

// Checks how the grid was launched, and prints a mistake.
MESHMEM_DEVICE void check_launch_of(const CooperativeGrid& grid) {
  if (!kChecks || grid.blocks() == 1 || thread_in_block() != 0 || is_cooperative()) return;
  MESHMEM_PRINT_MISTAKE(
      "%d blocks call a _grid routine, and were not launched by hipLaunchCooperativeKernel; some "
      "may wait for others that never run",
      grid.blocks());
  trap();
}

// A meeting of the grid's blocks. Only the first thread of each block uses it.
class GridMeeting {
 public:
  MESHMEM_DEVICE_MEMBER GridMeeting(const CooperativeGrid& grid, const TeamSync& sync)
      : word_(sync.grid_word()), blocks_(static_cast<std::uint32_t>(grid.blocks())) {}

  // Publishes the stores that the block has released. True if this block is the last to come.
  MESHMEM_DEVICE_MEMBER bool arrive() {
    release_mine();
    before_ = fetch_add(word_, std::uint64_t{1});
    return static_cast<std::uint32_t>(before_) + 1 == blocks_;
  }
  // After arrive(): waits until the meeting has ended.
  MESHMEM_DEVICE_MEMBER void await_end() const {
    pause_until([this] { return load_relaxed(word_) >> 32 != before_ >> 32; },
                [this] { return word_; });
    acquire_mine();
  }
  // Instead of arrive(): waits until all other blocks have come.
  MESHMEM_DEVICE_MEMBER void await_others() const {
    pause_until([this] { return static_cast<std::uint32_t>(load_relaxed(word_)) + 1 == blocks_; },
                [this] { return word_; });
    acquire_mine();
  }
  // Ends the meeting. `counted`: how many blocks have called arrive().
  MESHMEM_DEVICE_MEMBER void end(std::uint32_t counted) const {
    fetch_add(word_, (std::uint64_t{1} << 32) - counted);
  }
  MESHMEM_DEVICE_MEMBER std::uint32_t blocks() const { return blocks_; }

 private:
  std::uint64_t* word_;
  std::uint32_t blocks_;
  std::uint64_t before_ = 0;
};

// A meeting of all blocks. After it, all can read what each stored before it. The last block to
// come ends it.
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

// A meeting of the grids of all PEs. Block 0 waits for the other blocks of its grid, meets the
// block 0 of the other PEs, and then ends the meeting of its grid. Each block has released to all
// PEs before it arrives. The number of blocks may differ between PEs.
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
    // Passes the other PEs' released stores on to the other blocks. If kEachFences, it
    // does nothing: these stores have reached memory, and the other blocks' own fences are enough.
    release_mine();
    meeting.end(meeting.blocks() - 1);
  }
}

}  // namespace device
}  // namespace meshmem

#endif  // MESHMEM_DEVICE_GRID_HPP_
