// SPDX-License-Identifier: Apache-2.0
//
// Kernels of a team that move data and do not compute, but for broadcasts (broadcasts.cpp).
// Invariant: each collective is one kernel. A block moves its slice of the bytes, on its channel,
// and waits for no other block. The number of blocks depends only on values that all PEs have in
// common.
#include <optional>

#include "device/collectives/alltoallv.hpp"
#include "device/kernels/line_ends.hpp"
#include "device/kernels/move_slices.hpp"
#include "device/kernels/single_exchange.hpp"
#include "device/routines.hpp"

namespace meshmem {
namespace device {
namespace {

#if defined(MESHMEM_TARGET_IS_CPU)
constexpr int kBlocksOfAlltoallv = 1;
constexpr std::size_t kMostByUnits = 512;
#else
constexpr int kBlocksOfAlltoallv = 16;
constexpr std::size_t kMostByUnits = 32 * 1024;
#endif

__global__ void sync_kernel(const MESHMEM_GRID_CONSTANT TeamHandle handle) {
  after_earlier_kernels();
  team_sync(Block(), TeamSync(handle));
}
__global__ void __launch_bounds__(kMoveThreads)
    fcollect_kernel(const MESHMEM_GRID_CONSTANT TeamHandle handle, void* dest, const void* source,
                    std::size_t bytes, std::size_t spacing) {
  after_earlier_kernels();
  const BlockSlice mine(handle, bytes);
  fcollect(Block(), mine.sync, mine.of(dest), mine.of(source), mine.slice.count, spacing,
           blockIdx.x % 2 != 0, Caller::kernel);
}
__global__ void __launch_bounds__(kMoveThreads)
    collect_kernel(const MESHMEM_GRID_CONSTANT TeamHandle handle, void* dest, const void* source,
                   std::size_t bytes) {
  after_earlier_kernels();
  collect(Block(), TeamSync(handle), dest, source, bytes);
}
__global__ void __launch_bounds__(kMoveThreads)
    alltoall_kernel(const MESHMEM_GRID_CONSTANT TeamHandle handle, void* dest, const void* source,
                    std::size_t bytes, std::size_t spacing) {
  after_earlier_kernels();
  const BlockSlice mine(handle, bytes);
  alltoall(Block(), mine.sync, mine.of(dest), mine.of(source), mine.slice.count, spacing,
           blockIdx.x % 2 != 0, Caller::kernel);
}
template <typename E>
__global__ void alltoalls_kernel(const MESHMEM_GRID_CONSTANT TeamHandle handle, void* dest,
                                 const void* source, std::ptrdiff_t dst, std::ptrdiff_t sst,
                                 std::size_t nelems) {
  after_earlier_kernels();
  alltoalls<E>(Block(), TeamSync(handle), dest, source, dst, sst, nelems);
}
__global__ void __launch_bounds__(kMoveThreads)
    alltoallv_kernel(const MESHMEM_GRID_CONSTANT TeamHandle handle,
                     const MESHMEM_GRID_CONSTANT Alltoallv call) {
  after_earlier_kernels();
  const auto part = static_cast<int>(blockIdx.x);
  alltoallv(Block(), TeamSync(handle, part), call, part, static_cast<int>(gridDim.x));
}

// ---- In one hop, by kernels that get all addresses from the host. The choice of the kernel
// depends on values that all PEs have in common, except for the evenness of their addresses.

// The bytes that a block moves by packets, of which a thread has one. Measured on 4 H100.
constexpr std::size_t bytes_of_unit_block(std::size_t bytes) {
  if (kMostMoveBlocks < kChannels) return kMostByUnits;
  return bytes <= 4 << 10 ? 64 : bytes <= 8 << 10 ? 512 : 1 << 10;
}

template <typename Kernel>
hipError_t launch_exchange(Kernel* kernel, const Shape& shape, const TeamHandle& team,
                           const RowsOfChannel& rows, const Exchange& exchange,
                           hipStream_t stream) {
  return launch(kernel, shape.grid(), shape.threads, stream, team,
                SingleHop(team, shape.slices, rows), exchange);
}

#if defined(MESHMEM_TARGET_IS_CUDA)
// Above this size pushing wins, which needs no flags in the data, but two meetings.
std::size_t most_by_wide_lines(int n) { return n <= 2 ? 2 << 20 : 1 << 20; }
constexpr std::size_t kFewBytes = 256 << 10;  // for which half the blocks are enough

// Returns nullopt unless each block of threads has something to push between its line ends.
template <bool each_its_own>
std::optional<hipError_t> try_line_ends(const TeamHandle& team, const Exchange& exchange,
                                        std::size_t bytes, bool even, hipStream_t stream) {
  constexpr std::size_t kGrain = 16;
  const LineEnds ends = LineEnds::of(team.team.n);
  const std::size_t by_lines = LineEnds::bytes_of(ends.first + ends.last);
  if (team.team.n > kMostWithLineEnds<each_its_own> || ends.of_row() > team.space.wide_row ||
      bytes > SingleHop::kMostBytes)
    return std::nullopt;
  const Shape shape(bytes, kChannels, team.channels);
  if (shape.slices.each * kGrain <= by_lines + kGrain) return std::nullopt;
  const SingleHop hop(team, shape.slices, RowsOfChannel::wide_lines(team.space));
  const auto kernel = even ? push_with_line_ends_kernel<each_its_own, true>
                           : push_with_line_ends_kernel<each_its_own, false>;
  return launch(kernel, shape.grid(), kThreads, stream, team, hop, exchange, ends);
}

// Returns the largest block of a PE whose lines fit: each block of threads fills at most one row.
std::size_t most_by_wide_rows(const TeamHandle& team) {
  constexpr std::size_t kGrain = Slices::grain<std::byte>();
  const std::size_t of_row = team.space.wide_row / kWideLineBytes * kUnitsOfLine * kLineData;
  return of_row / kGrain * kGrain * most_move_blocks(team);
}
#endif

// Returns nullopt if the PEs' blocks do not fit into the rows.
template <bool each_its_own>
std::optional<hipError_t> try_exchange(const TeamHandle& team, const Move& move,
                                       hipStream_t stream) {
  if (!team.has_all_slabs() || !kernels_are_wide()) return std::nullopt;
  const std::size_t bytes = move.bytes;
  const Exchange exchange{static_cast<std::byte*>(move.dest),
                          static_cast<const std::byte*>(move.source), move.spacing,
                          each_its_own ? move.spacing : 0};
  const bool even = is_even(move.dest, move.source, bytes | move.spacing);
  if (bytes <= kMostByUnits) {
    const std::size_t of_block = bytes_of_unit_block(bytes);
    Shape shape(bytes, (bytes + of_block - 1) / of_block, team.channels);
    shape.use_threads(shape.units, shape.blocks > 1 ? 128 : 64, kThreads);
    if (shape.units <= shape.threads && shape.units * kLineBytes <= team.space.packet_row)
      return launch_exchange(even ? exchange_single_unit_kernel<each_its_own, true>
                                  : exchange_single_unit_kernel<each_its_own, false>,
                             shape, team, RowsOfChannel::packets(team.space), exchange, stream);
  }
#if defined(MESHMEM_TARGET_IS_CUDA)
  if (move.by_rows || bytes <= most_by_wide_lines(team.team.n)) {
    const std::size_t few = std::min(kFewBytes, most_by_wide_rows(team) / 2);
    Shape shape(bytes, bytes <= few ? kChannels / 2 : kChannels, team.channels);
    const std::size_t lines = (shape.units + kUnitsOfLine - 1) / kUnitsOfLine;
    shape.use_threads(lines * kLanesOfLine, 128, kMostThreadsOfTwoShotWide);
    if (lines * kWideLineBytes <= team.space.wide_row)
      return launch_exchange(even ? exchange_wide_lines_kernel<each_its_own, true>
                                  : exchange_wide_lines_kernel<each_its_own, false>,
                             shape, team, RowsOfChannel::wide_lines(team.space), exchange, stream);
  }
  if (!move.by_rows) return try_line_ends<each_its_own>(team, exchange, bytes, even, stream);
#endif
  return std::nullopt;
}

}  // namespace

hipError_t launch_sync(const TeamHandle& team, hipStream_t stream) {
  return launch(sync_kernel, dim3(1), any_threads(kThreadsForPes), stream, team);
}

std::size_t most_by_rows(CollectiveKind kind, const TeamHandle& team) {
#if defined(MESHMEM_TARGET_IS_CUDA)
  if (team.has_all_slabs() && team.space.wide_row > 0)
    return kind == CollectiveKind::broadcast ? SIZE_MAX : most_by_wide_rows(team);
#endif
  static_cast<void>(kind);
  return most_packets_of_block(team) * most_move_blocks(team);
}

hipError_t launch_fcollect(const TeamHandle& team, const Move& move, hipStream_t stream) {
  if (const auto error = try_exchange<false>(team, move, stream)) return *error;
  return launch(fcollect_kernel, blocks_for(team, move), any_threads(kMoveThreads), stream, team,
                move.dest, move.source, move.bytes, move.spacing);
}
hipError_t launch_collect(const TeamHandle& team, void* dest, const void* source, std::size_t bytes,
                          hipStream_t stream) {
  return launch(collect_kernel, dim3(1), any_threads(kMoveThreads), stream, team, dest, source,
                bytes);
}
hipError_t launch_alltoall(const TeamHandle& team, const Move& move, hipStream_t stream) {
  if (const auto error = try_exchange<true>(team, move, stream)) return *error;
  return launch(alltoall_kernel, blocks_for(team, move), any_threads(kMoveThreads), stream, team,
                move.dest, move.source, move.bytes, move.spacing);
}
hipError_t launch_alltoalls(const TeamHandle& team, void* dest, const void* source,
                            std::ptrdiff_t dest_stride, std::ptrdiff_t source_stride,
                            std::size_t elem_bytes, std::size_t nelems, hipStream_t stream) {
  const auto launch_of = [&](auto given) {
    return launch(alltoalls_kernel<typename decltype(given)::Type>, dim3(1),
                  any_threads(kMoveThreads), stream, team, dest, source, dest_stride, source_stride,
                  nelems);
  };
  return elem_bytes == 16 ? launch_of(Given<Bits128>()) : with_bits(elem_bytes, launch_of);
}

// How much there is to move only the kernel knows.
hipError_t launch_alltoallv(const TeamHandle& team, const Alltoallv& call, hipStream_t stream) {
  const int blocks = kBlocksOfAlltoallv < team.channels ? kBlocksOfAlltoallv : team.channels;
  return launch(alltoallv_kernel, dim3(static_cast<unsigned>(blocks)), any_threads(kMoveThreads),
                stream, team, call);
}

hipError_t load_move_kernels() {
  hipError_t error =
      load(sync_kernel, fcollect_kernel, collect_kernel, alltoall_kernel, alltoallv_kernel,
           alltoalls_kernel<Bits128>, exchange_single_unit_kernel<false, false>,
           exchange_single_unit_kernel<false, true>, exchange_single_unit_kernel<true, false>,
           exchange_single_unit_kernel<true, true>);
#if defined(MESHMEM_TARGET_IS_CUDA)
  if (error == hipSuccess)
    error = load(exchange_wide_lines_kernel<false, false>, exchange_wide_lines_kernel<false, true>,
                 exchange_wide_lines_kernel<true, false>, exchange_wide_lines_kernel<true, true>,
                 push_with_line_ends_kernel<false, false>, push_with_line_ends_kernel<false, true>,
                 push_with_line_ends_kernel<true, false>, push_with_line_ends_kernel<true, true>);
#endif
  if (error != hipSuccess) return error;
  return with_each_bits(
      [](auto given) { return load(alltoalls_kernel<typename decltype(given)::Type>); });
}

}  // namespace device
}  // namespace meshmem
