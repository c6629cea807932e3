// SPDX-License-Identifier: Apache-2.0
//
// Reductions and scans by all blocks of a grid: block b does slice b, on channel b of the team, as
// in the library's own kernels. Blocks beyond the number of channels only meet.
// Invariant: slices follow from the number of blocks, so the grids of all PEs of the team have the
// same number. Otherwise blocks wait for packets that no PE sends, or combine elements of different
// places. The work lies between two meetings of the grid. After the first, source has all that any
// block wrote; after the second, dest is complete for all blocks.
#ifndef MESHMEM_DEVICE_COLLECTIVES_BY_GRID_HPP_
#define MESHMEM_DEVICE_COLLECTIVES_BY_GRID_HPP_

#include "device/collectives/reduce.hpp"
#include "device/collectives/slices.hpp"
#include "device/grid.hpp"

namespace meshmem {
namespace device {

MESHMEM_DEVICE int blocks_with_slices(const CooperativeGrid& grid, const TeamSync& sync) {
  return grid.blocks() < sync.channels ? grid.blocks() : sync.channels;
}

// Calls work(sync of the channel, slice) in each block that has elements.
template <typename E, typename Work>
MESHMEM_DEVICE int by_slices(const CooperativeGrid& grid, const TeamSync& sync, std::size_t count,
                             const Work& work) {
  if (count == 0) return 0;
  meet(grid, sync);
  const int blocks = blocks_with_slices(grid, sync);
  if (grid.block() < blocks) {
    const Slice slice = slice_of<E>(count, grid.block(), blocks);
    if (slice.count > 0)
      with_own_registers(Block(), sync.on(grid.block()),
                         [=](const TeamSync& channel) { work(channel, slice); });
  }
  meet(grid, sync);
  return 0;
}

// For a grid this only calls `work`: by_slices() calls the form for a block (sync.hpp) for each
// slice.
template <typename Work>
MESHMEM_DEVICE void with_own_registers(const CooperativeGrid&, const TeamSync& sync,
                                       const Work& work) {
  work(sync);
}

// Returns up to how many bytes a grid uses packets. Each limit is that of one block times the
// number of blocks, or that of a whole grid if it is less. Above the grid's limit the speed of the
// links matters most. Packets put twice the bytes on them, so two_shot is no better than pulling,
// and the two meetings of a pull cost little. Large data is pulled: many blocks have enough loads
// under way to fill the links. A pull adds in PE order, as all reductions of users' kernels do. The
// library's own kernels take a ring for the largest data; a ring adds in another order.
MESHMEM_DEVICE ReduceLimits limits_of_grid(int blocks) {
  const ReduceLimits &each = state().reduce_limits.block, &all = state().reduce_limits.grid;
  const auto most = [blocks](std::size_t of_each, std::size_t of_all) {
    return of_each >= of_all / static_cast<std::size_t>(blocks)
               ? of_all
               : of_each * static_cast<std::size_t>(blocks);
  };
  return {most(each.one_shot, all.one_shot), most(each.two_shot, all.two_shot)};
}

template <ReduceOp op, typename E>
MESHMEM_DEVICE int reduce(const CooperativeGrid& grid, const TeamSync& sync, E* dest,
                          const E* source, std::size_t count) {
  const ReduceLimits limits = limits_of_grid(blocks_with_slices(grid, sync));
  const ReduceAlgorithm algorithm = algorithm_within(limits, sync, count * sizeof(E));
  return by_slices<E>(grid, sync, count, [=](const TeamSync& channel, const Slice& slice) {
    reduce_in_pe_order(StaticOp<op>(), algorithm, Block(), channel, dest + slice.first,
                       source + slice.first, slice.count);
  });
}

template <ReduceOp op, typename E>
MESHMEM_DEVICE int reduce_scatter(const CooperativeGrid& grid, const TeamSync& sync, E* dest,
                                  const E* source, std::size_t count) {
  return by_slices<E>(grid, sync, count, [=](const TeamSync& channel, const Slice& slice) {
    reduce_one_shot(StaticOp<op>(), Block(), channel, dest + slice.first, source + slice.first,
                    slice.count, count);
  });
}

template <typename E>
MESHMEM_DEVICE int scan(const CooperativeGrid& grid, const TeamSync& sync, E* dest, const E* source,
                        std::size_t count, bool inclusive) {
  return by_slices<E>(grid, sync, count, [=](const TeamSync& channel, const Slice& slice) {
    scan(Block(), channel, dest + slice.first, source + slice.first, slice.count, inclusive);
  });
}

}  // namespace device
}  // namespace meshmem

#endif  // MESHMEM_DEVICE_COLLECTIVES_BY_GRID_HPP_
