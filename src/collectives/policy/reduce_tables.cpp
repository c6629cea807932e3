// SPDX-License-Identifier: Apache-2.0
//
// The rows. This command turns a file of `meshmem-bench --tune --out FILE` into rows for kernels:
//   sed -nE 's/^([0-9]+)K /\1 << 10 /;s/^([0-9]+)M /\1 << 20 /;s/^([0-9]+)G /\1 << 30 /;
//            s/^any /kAnySize /;
//            s/^(.+) (any|[0-9]+) (\w+) ([0-9]+) ([0-9]+)$/    {\1, \2, {\3, \4, \5}},/p' FILE
#include "collectives/policy/reduce_tables.hpp"

#include "gpu/device_target.hpp"

namespace meshmem {
namespace {

using Row = PlanRow;
using enum ReduceAlgorithm;

// Host memory. Measured with `./mesh bench` (docs/collectives.md): one_shot, in which each PE reads
// all data, is fastest as long as the data fits in a few cache lines. Then two_shot wins, which
// shares the work. A ring or recursive doubling cannot win within one machine, where every PE reads
// every other directly.
constexpr Row kHostRows[] = {
    {1024, 4, {one_shot, 1, 1}},
    {512, kAnyPes, {one_shot, 1, 1}},
    {kAnySize, kAnyPes, {two_shot, 1, 1}},
};

// NVIDIA, measured on 2 and 4 H200 behind switches; with 576 threads on 2 only. Around a ring no
// two PEs send to the same PE at a time, which suits the switches best. Copy engines carry more
// than stores of kernels do, and begin 30 us later.
constexpr Row kGpuRows[] = {
    {256, kAnyPes, {one_shot, 1, 64}},
    {512, kAnyPes, {one_shot, 1, 128}},
    {1 << 10, kAnyPes, {one_shot, 1, 256}},
    {2 << 10, kAnyPes, {one_shot, 2, 256}},
    {4 << 10, kAnyPes, {one_shot, 4, 256}},
    {8 << 10, kAnyPes, {one_shot, 8, 256}},
    {16 << 10, kAnyPes, {one_shot, 16, 256}},
    {32 << 10, kAnyPes, {one_shot, 32, 256}},
    {64 << 10, 2, {one_shot, 64, 256}},
    {128 << 10, 2, {one_shot_wide, 64, 256}},
    {256 << 10, 2, {one_shot_wide, 64, 512}},
    {512 << 10, 2, {one_shot_wide, 128, 512}},
    {1 << 20, 2, {two_shot_wide, 128, 512}},
    {4 << 20, 2, {two_shot_wide, 128, 576}},
    {8 << 20, 2, {ring, 64, 256}},
    {64 << 10, kAnyPes, {one_shot_wide, 64, 128}},
    {128 << 10, kAnyPes, {one_shot_wide, 64, 256}},
    {256 << 10, kAnyPes, {one_shot_wide, 64, 512}},
    {512 << 10, kAnyPes, {two_shot_wide, 128, 128}},
    {1 << 20, kAnyPes, {two_shot_wide, 64, 512}},
    {4 << 20, kAnyPes, {two_shot_wide, 128, 576}},
    {8 << 20, kAnyPes, {direct, 128, 128}},
    {32 << 20, kAnyPes, {ring, 128, 256}},
    {128 << 20, kAnyPes, {ring, 128, 512}},
    {kAnySize, kAnyPes, {ring_and_copies, 128, 512}},
};
// AMD, gfx90a and gfx942, each PE with a link to each other one: computed from the rates of links.
// Nothing has been measured there.
constexpr Row kAmdRows[] = {
    {1 << 10, kAnyPes, {one_shot, 1, 128}},   {4 << 10, kAnyPes, {one_shot, 4, 128}},
    {32 << 10, kAnyPes, {one_shot, 16, 256}}, {1 << 20, kAnyPes, {two_shot, 64, 256}},
    {kAnySize, kAnyPes, {direct, 64, 512}},
};
// Processors: one block of one thread, since the threads of a PE take turns on a core. Measured
// with 2, 3, 4 and 8 PEs on 2 cores. Packets win only for a few lines, as they are handled twice.
// The ring copies fastest, but each of its steps waits for another PE: it wins if all PEs have a
// core.
constexpr Row kProcessorRows[] = {
    {256, kAnyPes, {one_shot, 1, 1}},
    {kAnySize, 2, {ring, 1, 1}},
    {kAnySize, kAnyPes, {pull, 1, 1}},
};
constexpr std::span<const Row> kRows = kDevicesAreProcessors ? std::span<const Row>(kProcessorRows)
                                       : kDevicesAreAmd      ? std::span<const Row>(kAmdRows)
                                                             : std::span<const Row>(kGpuRows);

// For few blocks: the most bytes that a block reduces by the table's own plan, by wide lines, and
// around the ring.
constexpr std::size_t kTablesBlock = 2 << 10;  // no small row of the table has more for a block
constexpr std::size_t kWideLinesBlock = 16 << 10;
constexpr std::size_t kRingBlock = 256 << 10;
constexpr unsigned kLeastBlocksOfRing = 16;

}  // namespace

// Measured on 2 H100 with 4, 8 and 16 blocks. Lines beyond those that a block's threads carry at
// once take a second trip; `pull` needs the fewest blocks for a link.
device::Plan plan_for_few_blocks(const device::Plan& plan, std::size_t bytes, int n_pes,
                                 unsigned blocks, bool in_pe_order) {
  const std::size_t block_bytes = bytes / std::max(blocks, 1u);
  const bool has_all_blocks = static_cast<unsigned>(plan.blocks) <= blocks;
  if (has_all_blocks || block_bytes <= kTablesBlock) return plan;
  const auto others = static_cast<std::size_t>(std::max(n_pes - 1, 1));
  if (block_bytes <= kWideLinesBlock / others) return {one_shot_wide, plan.blocks, 512};
  if (n_pes <= 2 && !in_pe_order && blocks >= kLeastBlocksOfRing && block_bytes <= kRingBlock)
    return {ring, plan.blocks, 256};
  return {pull, plan.blocks, 512};
}
bool has_plans_for_few_blocks() { return !kDevicesAreProcessors && !kDevicesAreAmd; }

std::span<const PlanRow> host_rows() { return kHostRows; }
std::span<const PlanRow> kernel_rows() { return kRows; }

}  // namespace meshmem
