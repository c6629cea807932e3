// SPDX-License-Identifier: Apache-2.0
//
// Broadcasts: by packets, by wide lines that relays hand on, and by a root that pushes.
// Invariant: as in moves.cpp.
#include "device/kernels/broadcast_lines.hpp"
#include "device/kernels/move_slices.hpp"

namespace meshmem {
namespace device {
namespace {

__global__ void __launch_bounds__(kMoveThreads)
    broadcast_kernel(const MESHMEM_GRID_CONSTANT TeamHandle handle, void* dest, const void* source,
                     std::size_t bytes, int root) {
  after_earlier_kernels();
  const BlockSlice mine(handle, bytes);
  broadcast(Block(), mine.sync, mine.of(dest), mine.of(source), mine.slice.count, root,
            Caller::kernel);
}

#if defined(MESHMEM_TARGET_IS_CUDA)
// Whether relays broadcast the data. Packets are faster for less data, and with two PEs pushing is
// faster for more.
bool takes_relays(const TeamHandle& team, const Move& move) {
  constexpr std::size_t kLeast = 128 << 10, kMostOfTwo = 4 << 20;
  const int n = team.team.n;
  if (!team.has_all_slabs() || team.space.wide_row == 0 || n < 2) return false;
  if (move.by_rows)
    return move.bytes > std::min(kLeast, most_packets_of_block(team) * most_move_blocks(team));
  return move.bytes > kLeast && (n > 2 || move.bytes <= kMostOfTwo);
}
// A relay's lines of a batch, of `lines` in all. Batches are equally long, since otherwise all PEs
// would wait for the few lines of the last one. A batch is a whole number of a block's turns.
unsigned lines_of_batch(std::size_t lines, std::size_t row) {
  constexpr std::size_t kMost = 256, kTurn = kThreads / kLanesOfLine;
  const std::size_t most = std::min(row, kMost);
  const std::size_t batches = (lines + most - 1) / most;
  const std::size_t turns = (lines + batches * kTurn - 1) / (batches * kTurn);
  return static_cast<unsigned>(std::min(most, turns * kTurn));
}
// Broadcasts at most SingleHop::kMostBytes bytes, since offsets have 32 bits.
hipError_t launch_lines(const TeamHandle& team, std::byte* dest, const std::byte* source,
                        std::size_t bytes, int root, hipStream_t stream) {
  const Shape shape(bytes, kChannels, team.channels);
  const auto relays = static_cast<std::size_t>(team.team.n - 1);
  const std::size_t of_block = (shape.units + kUnitsOfLine - 1) / kUnitsOfLine;
  const unsigned lines =
      lines_of_batch((of_block + relays - 1) / relays, team.space.wide_row / kWideLineBytes);
  const auto kernel =
      is_even(dest, source, bytes) ? broadcast_lines_kernel<true> : broadcast_lines_kernel<false>;
  return launch(kernel, shape.grid(), kThreads, stream, team,
                SingleHop(team, shape.slices, RowsOfChannel::wide_lines(team.space)),
                Relay{dest, source, root, lines,
                      DealtLine(kThreads / kLanesOfLine, static_cast<unsigned>(relays))});
}
hipError_t launch_broadcast_lines(const TeamHandle& team, void* dest, const void* source,
                                  std::size_t bytes, int root, hipStream_t stream) {
  auto* const to = static_cast<std::byte*>(dest);
  const auto* const from = static_cast<const std::byte*>(source);
  hipError_t error = hipSuccess;
  for (std::size_t at = 0; at < bytes && error == hipSuccess; at += SingleHop::kMostBytes)
    error = launch_lines(team, to + at, from + at, std::min(bytes - at, SingleHop::kMostBytes),
                         root, stream);
  return error;
}
#endif

}  // namespace

hipError_t launch_broadcast(const TeamHandle& team, const Move& move, int root,
                            hipStream_t stream) {
#if defined(MESHMEM_TARGET_IS_CUDA)
  if (takes_relays(team, move))
    return launch_broadcast_lines(team, move.dest, move.source, move.bytes, root, stream);
#endif
  return launch(broadcast_kernel, blocks_for(team, move), any_threads(kMoveThreads), stream, team,
                move.dest, move.source, move.bytes, root);
}

hipError_t load_broadcast_kernels() {
  hipError_t error = load(broadcast_kernel);
#if defined(MESHMEM_TARGET_IS_CUDA)
  if (error == hipSuccess)
    error = load(broadcast_lines_kernel<false>, broadcast_lines_kernel<true>);
#endif
  return error;
}

}  // namespace device
}  // namespace meshmem
