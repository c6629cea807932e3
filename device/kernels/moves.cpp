// SPDX-License-Identifier: Apache-2.0
//
// Kernels of a team that move data and do not compute.
// Invariant: each collective is one kernel. A block moves its slice of the bytes, on its channel,
// and waits for no other block; how many blocks there are depends on what all PEs have in common.
#include <algorithm>

#include "device/collectives/alltoallv.hpp"
#include "device/collectives/relays.hpp"
#include "device/collectives/slices.hpp"
#include "device/kernels/broadcast_over_blanks.hpp"
#include "device/kernels/launch_kernel.hpp"
#include "device/kernels/line_ends.hpp"
#include "device/kernels/single_exchange.hpp"
#include "device/routines.hpp"

namespace meshmem {
namespace device {
namespace {

#if defined(MESHMEM_TARGET_IS_CPU)
// Of wide kernels, whose threads take turns there, and blocks too, on processors that PEs share.
constexpr unsigned kMoveThreads = 64;
constexpr int kMostMoveBlocks = 2;
constexpr std::size_t kBytesPerMoveBlock = 64 * 1024;
constexpr int kBlocksOfAlltoallv = 1;
constexpr std::size_t kMostByUnits = 512;
#else
constexpr unsigned kMoveThreads = 512;
constexpr int kMostMoveBlocks = kChannels;
constexpr std::size_t kBytesPerMoveBlock = 4 * 1024;
constexpr int kBlocksOfAlltoallv = 16;
constexpr std::size_t kMostByUnits = 32 * 1024;
#endif

// What a block moves of `bytes` bytes, and where it meets the others that do.
struct BlockSlice {
  TeamSync sync;
  Slice slice;

  __device__ BlockSlice(const TeamHandle& handle, std::size_t bytes)
      : sync(handle, static_cast<int>(blockIdx.x)),
        slice(slice_of<std::byte>(bytes, sync.channel, static_cast<int>(gridDim.x))) {}
  __device__ std::byte* of(void* dest) const { return static_cast<std::byte*>(dest) + slice.first; }
  __device__ const std::byte* of(const void* source) const {
    return static_cast<const std::byte*>(source) + slice.first;
  }
};

__global__ void sync_kernel(const MESHMEM_GRID_CONSTANT TeamHandle handle) {
  after_earlier_kernels();
  barrier(Block(), TeamSync(handle));
}
__global__ void __launch_bounds__(kMoveThreads)
    broadcast_kernel(const MESHMEM_GRID_CONSTANT TeamHandle handle, void* dest, const void* source,
                     std::size_t bytes, int root) {
  after_earlier_kernels();
  const BlockSlice mine(handle, bytes);
  broadcast(Block(), mine.sync, mine.of(dest), mine.of(source), mine.slice.count, root,
            Caller::kernel);
}
#if !defined(MESHMEM_TARGET_IS_HIP)
__global__ void __launch_bounds__(kMoveThreads)
    relayed_broadcast_kernel(const MESHMEM_GRID_CONSTANT TeamHandle handle, void* dest,
                             const void* source, std::size_t bytes, int root, std::size_t chunk) {
  after_earlier_kernels();
  const BlockSlice mine(handle, bytes);
  const Block block;
  RelayedBroadcast<Block>(block, mine.sync, mine.of(dest), mine.of(source), mine.slice.count, root,
                          chunk)
      .run();
}
#endif
__global__ void __launch_bounds__(kMoveThreads)
    fcollect_kernel(const MESHMEM_GRID_CONSTANT TeamHandle handle, void* dest, const void* source,
                    std::size_t bytes) {
  after_earlier_kernels();
  const BlockSlice mine(handle, bytes);
  fcollect(Block(), mine.sync, mine.of(dest), mine.of(source), mine.slice.count, bytes,
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
                    std::size_t bytes) {
  after_earlier_kernels();
  const BlockSlice mine(handle, bytes);
  alltoall(Block(), mine.sync, mine.of(dest), mine.of(source), mine.slice.count, bytes,
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

template <typename E>
hipError_t launch_alltoalls_of(const TeamHandle& team, void* dest, const void* source,
                               std::ptrdiff_t dest_stride, std::ptrdiff_t source_stride,
                               std::size_t nelems, hipStream_t stream) {
  return launch(alltoalls_kernel<E>, dim3(1), any_threads(kMoveThreads), stream, team, dest, source,
                dest_stride, source_stride, nelems);
}

// Few bytes for each block while there are channels left: it then moves them as packets.
dim3 blocks_for(const TeamHandle& team, std::size_t bytes) {
  if (!kernels_are_wide()) return dim3(1);
  const std::size_t wanted = (bytes + kBytesPerMoveBlock - 1) / kBytesPerMoveBlock;
  const auto most =
      static_cast<std::size_t>(kMostMoveBlocks < team.channels ? kMostMoveBlocks : team.channels);
  return dim3(static_cast<unsigned>(wanted < 1 ? 1 : wanted < most ? wanted : most));
}

// ---- In one hop, by kernels that get all addresses from the host. What is launched depends on
// what all PEs have in common, but for the evenness of their addresses.

bool is_even(const void* dest, const void* source, std::size_t bytes) {
  return (reinterpret_cast<std::uintptr_t>(dest) | reinterpret_cast<std::uintptr_t>(source) |
          bytes) %
             kLineData ==
         0;
}

// How many blocks there are, with how many threads, and what each moves.
struct Shape {
  int blocks;
  unsigned threads;
  Slices slices;
  std::size_t units;  // of the longest slice

  Shape(std::size_t bytes, std::size_t wanted, int channels)
      : blocks(Slices::most<std::byte>(
            bytes, static_cast<int>(std::min(wanted, static_cast<std::size_t>(channels))))),
        threads(0),
        slices(Slices::of<std::byte>(bytes, blocks)),
        units((slices.longest<std::byte>() + kLineData - 1) / kLineData) {}
  void use_threads(std::size_t wanted, std::size_t least, std::size_t most) {
    constexpr std::size_t kGrain = 32;
    threads = static_cast<unsigned>(
        std::min(std::max((wanted + kGrain - 1) / kGrain * kGrain, least), most));
  }
  dim3 grid() const { return dim3(static_cast<unsigned>(blocks)); }
};

// What a block moves by packets, of which a thread has one. Measured on 4 H100.
constexpr std::size_t bytes_of_unit_block(std::size_t bytes) {
  if (kMostMoveBlocks < kChannels) return kMostByUnits;
  return bytes <= 4 << 10 ? 64 : bytes <= 8 << 10 ? 512 : 1 << 10;
}

template <bool each_its_own>
hipError_t launch_units(const Shape& shape, const TeamHandle& team, const Exchange& exchange,
                        bool even, hipStream_t stream) {
  const SingleHop hop(team, shape.slices, RowsOfChannel::packets(team.space));
  const auto kernel = even ? exchange_single_unit_kernel<each_its_own, true>
                           : exchange_single_unit_kernel<each_its_own, false>;
  return launch(kernel, shape.grid(), shape.threads, stream, team, hop, exchange);
}

#if defined(MESHMEM_TARGET_IS_CUDA)
// Beyond, pushing wins, which needs no flags in the data, but two meetings.
std::size_t most_by_wide_lines(int n) { return n <= 2 ? 2 << 20 : 1 << 20; }
constexpr std::size_t kFewBytes = 256 << 10;  // for which half the blocks are enough

template <bool each_its_own>
hipError_t launch_wide_lines(const Shape& shape, const TeamHandle& team, const Exchange& exchange,
                             bool even, hipStream_t stream) {
  const SingleHop hop(team, shape.slices, RowsOfChannel::wide_lines(team.space));
  const auto kernel = even ? exchange_wide_lines_kernel<each_its_own, true>
                           : exchange_wide_lines_kernel<each_its_own, false>;
  return launch(kernel, shape.grid(), shape.threads, stream, team, hop, exchange);
}
#endif

#if defined(MESHMEM_TARGET_IS_CUDA)
// Whether it was launched so: if each block of threads has something to push between its lines.
template <bool each_its_own>
bool try_line_ends(const TeamHandle& team, const Exchange& exchange, std::size_t bytes, bool even,
                   hipStream_t stream, hipError_t* error) {
  constexpr std::size_t kMost = std::size_t{1} << 32, kGrain = 16;
  const LineEnds ends = LineEnds::of(team.team.n);
  const std::size_t by_lines = LineEnds::bytes_of(ends.first + ends.last);
  if (team.team.n > kMostWithLineEnds<each_its_own> || ends.of_row() > team.space.wide_row ||
      bytes >= kMost)
    return false;
  const Shape shape(bytes, kChannels, team.channels);
  if (shape.slices.each * kGrain <= by_lines + kGrain) return false;
  const SingleHop hop(team, shape.slices, RowsOfChannel::wide_lines(team.space));
  const auto kernel = even ? push_with_line_ends_kernel<each_its_own, true>
                           : push_with_line_ends_kernel<each_its_own, false>;
  *error = launch(kernel, shape.grid(), kThreads, stream, team, hop, exchange, ends);
  return true;
}
#endif

// Whether it was launched so.
template <bool each_its_own>
bool try_exchange(const TeamHandle& team, const Exchange& exchange, std::size_t bytes,
                  hipStream_t stream, hipError_t* error) {
  if (!team.has_all() || !kernels_are_wide()) return false;
  const bool even = is_even(exchange.dest, exchange.source, bytes);
  if (bytes <= kMostByUnits) {
    const std::size_t of_block = bytes_of_unit_block(bytes);
    Shape shape(bytes, (bytes + of_block - 1) / of_block, team.channels);
    shape.use_threads(shape.units, shape.blocks > 1 ? 128 : 64, kThreads);
    if (shape.units <= shape.threads && shape.units * kLineBytes <= team.space.packet_row) {
      *error = launch_units<each_its_own>(shape, team, exchange, even, stream);
      return true;
    }
  }
#if defined(MESHMEM_TARGET_IS_CUDA)
  if (bytes <= most_by_wide_lines(team.team.n)) {
    Shape shape(bytes, bytes <= kFewBytes ? kChannels / 2 : kChannels, team.channels);
    const std::size_t lines = (shape.units + kUnitsOfLine - 1) / kUnitsOfLine;
    shape.use_threads(lines * kLanesOfLine, 128, kMostThreadsOfTwoShotWide);
    if (lines * kWideLineBytes <= team.space.wide_row) {
      *error = launch_wide_lines<each_its_own>(shape, team, exchange, even, stream);
      return true;
    }
  }
  return try_line_ends<each_its_own>(team, exchange, bytes, even, stream, error);
#else
  return false;
#endif
}

#if !defined(MESHMEM_TARGET_IS_HIP)
// Broadcasts by relays that push: below, lines win (32 MiB by 4 H100: 106 us by lines, 116 by
// pushing; 64 MiB: 210 and 206). Not on AMD GPUs, where the root has a link to each PE.
#if defined(MESHMEM_TARGET_IS_CPU)
constexpr std::size_t kLeastToPushByRelays = 128 << 10;
#else
constexpr std::size_t kLeastToPushByRelays = 64 << 20;
#endif
// A piece of 16 bytes for each thread but the last wave's, which announces.
constexpr std::size_t kChunkOfRelay = 7680;

// Whether relays have a number for each step. There are two relays or more.
bool numbers_all_steps(const TeamHandle& team, std::size_t bytes) {
  constexpr std::size_t kMostSteps = (std::size_t{1} << kStepBits) / 2;
  const auto relays = static_cast<std::size_t>(team.team.n - 1);
  return relays > 1 && bytes / blocks_for(team, bytes).x / (kChunkOfRelay * relays) < kMostSteps;
}
bool pushes_by_relays(const TeamHandle& team, std::size_t bytes) {
  return kernels_are_wide() && bytes >= kLeastToPushByRelays && numbers_all_steps(team, bytes);
}
#endif

#if defined(MESHMEM_TARGET_IS_CUDA)
// Broadcasts by relays: below, packets win, and with two PEs pushing does above.
bool takes_relays(int n, std::size_t bytes) {
  constexpr std::size_t kLeast = 128 << 10, kMostOfTwo = 4 << 20, kMost = std::size_t{1} << 32;
  return bytes > kLeast && (n == 2 ? bytes <= kMostOfTwo : n > 2 && bytes < kMost);
}
// A relay's lines of a batch, of `lines` in all. Batches are equally long, or all PEs wait for the
// few lines of a last one, and are whole turns of a block.
unsigned lines_of_batch(std::size_t lines, std::size_t row) {
  constexpr std::size_t kMost = 256, kTurn = kThreads / kLanesOfLine;
  const std::size_t most = std::min(row, kMost);
  const std::size_t batches = (lines + most - 1) / most;
  const std::size_t turns = (lines + batches * kTurn - 1) / (batches * kTurn);
  return static_cast<unsigned>(std::min(most, turns * kTurn));
}
hipError_t launch_broadcast_lines(const TeamHandle& team, void* dest, const void* source,
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
                Relay{static_cast<std::byte*>(dest), static_cast<const std::byte*>(source), root,
                      lines, DealtLine(kThreads / kLanesOfLine, static_cast<unsigned>(relays))});
}
#endif

}  // namespace

hipError_t launch_sync(const TeamHandle& team, hipStream_t stream) {
  return launch(sync_kernel, dim3(1), any_threads(kThreadsForPes), stream, team);
}

hipError_t launch_broadcast(const TeamHandle& team, void* dest, const void* source,
                            std::size_t bytes, int root, hipStream_t stream) {
#if !defined(MESHMEM_TARGET_IS_HIP)
  if (pushes_by_relays(team, bytes))
    return launch(relayed_broadcast_kernel, blocks_for(team, bytes), kMoveThreads, stream, team,
                  dest, source, bytes, root, kChunkOfRelay);
#endif
#if defined(MESHMEM_TARGET_IS_CUDA)
  if (team.has_all() && team.space.wide_row > 0 && takes_relays(team.team.n, bytes))
    return launch_broadcast_lines(team, dest, source, bytes, root, stream);
#endif
  return launch(broadcast_kernel, blocks_for(team, bytes), any_threads(kMoveThreads), stream, team,
                dest, source, bytes, root);
}
#if defined(MESHMEM_TARGET_IS_CUDA)
// Below, lines win (4 H100: 16 MiB in 53 us by lines, and 57; 32 MiB in 103 either way, by 3 of
// them in 106 and 103).
bool takes_blanks(const TeamHandle& team, const void* dest, std::size_t bytes) {
  constexpr std::size_t kLeast = 32 << 20;
  return bytes >= kLeast && team.has_all() && team.space.wide_row > 0 &&
         numbers_all_steps(team, bytes) &&
         (bytes | reinterpret_cast<std::uintptr_t>(dest)) % sizeof(Bits128) == 0;
}
hipError_t launch_broadcast_over_blanks(const TeamHandle& team, void* dest, const void* source,
                                        std::size_t bytes, int root, hipStream_t stream) {
  const auto kernel = reinterpret_cast<std::uintptr_t>(source) % sizeof(Bits128) == 0
                          ? broadcast_over_blanks_kernel<true>
                          : broadcast_over_blanks_kernel<false>;
  return launch(
      kernel, blocks_for(team, bytes), kThreads, stream, team,
      BroadcastOverBlanks{static_cast<std::byte*>(dest), static_cast<const std::byte*>(source),
                          bytes, root, Blank::of_this_process()});
}
#else
bool takes_blanks(const TeamHandle&, const void*, std::size_t) { return false; }
hipError_t launch_broadcast_over_blanks(const TeamHandle&, void*, const void*, std::size_t, int,
                                        hipStream_t) {
  return hipErrorNotSupported;
}
#endif
hipError_t launch_fcollect(const TeamHandle& team, void* dest, const void* source,
                           std::size_t bytes, hipStream_t stream) {
  const Exchange exchange{static_cast<std::byte*>(dest), static_cast<const std::byte*>(source),
                          bytes, 0};
  hipError_t error = hipSuccess;
  if (try_exchange<false>(team, exchange, bytes, stream, &error)) return error;
  return launch(fcollect_kernel, blocks_for(team, bytes), any_threads(kMoveThreads), stream, team,
                dest, source, bytes);
}
hipError_t launch_collect(const TeamHandle& team, void* dest, const void* source, std::size_t bytes,
                          hipStream_t stream) {
  return launch(collect_kernel, dim3(1), any_threads(kMoveThreads), stream, team, dest, source,
                bytes);
}
hipError_t launch_alltoall(const TeamHandle& team, void* dest, const void* source,
                           std::size_t block_bytes, hipStream_t stream) {
  const Exchange exchange{static_cast<std::byte*>(dest), static_cast<const std::byte*>(source),
                          block_bytes, block_bytes};
  hipError_t error = hipSuccess;
  if (try_exchange<true>(team, exchange, block_bytes, stream, &error)) return error;
  return launch(alltoall_kernel, blocks_for(team, block_bytes), any_threads(kMoveThreads), stream,
                team, dest, source, block_bytes);
}
hipError_t launch_alltoalls(const TeamHandle& team, void* dest, const void* source,
                            std::ptrdiff_t dest_stride, std::ptrdiff_t source_stride,
                            std::size_t elem_bytes, std::size_t nelems, hipStream_t stream) {
  const auto launch_of = [&](auto given) {
    return launch_alltoalls_of<typename decltype(given)::Type>(team, dest, source, dest_stride,
                                                               source_stride, nelems, stream);
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
      load(sync_kernel, broadcast_kernel, fcollect_kernel, collect_kernel, alltoall_kernel,
           alltoallv_kernel, alltoalls_kernel<Bits128>, exchange_single_unit_kernel<false, false>,
           exchange_single_unit_kernel<false, true>, exchange_single_unit_kernel<true, false>,
           exchange_single_unit_kernel<true, true>);
#if !defined(MESHMEM_TARGET_IS_HIP)
  if (error == hipSuccess) error = load(relayed_broadcast_kernel);
#endif
#if defined(MESHMEM_TARGET_IS_CUDA)
  if (error == hipSuccess)
    error = load(exchange_wide_lines_kernel<false, false>, exchange_wide_lines_kernel<false, true>,
                 exchange_wide_lines_kernel<true, false>, exchange_wide_lines_kernel<true, true>,
                 push_with_line_ends_kernel<false, false>, push_with_line_ends_kernel<false, true>,
                 push_with_line_ends_kernel<true, false>, push_with_line_ends_kernel<true, true>,
                 broadcast_lines_kernel<false>, broadcast_lines_kernel<true>,
                 broadcast_over_blanks_kernel<false>, broadcast_over_blanks_kernel<true>);
#endif
  if (error != hipSuccess) return error;
  return with_each_bits(
      [](auto given) { return load(alltoalls_kernel<typename decltype(given)::Type>); });
}

}  // namespace device
}  // namespace meshmem
