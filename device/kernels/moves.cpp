// SPDX-License-Identifier: Apache-2.0
//
// Kernels of a team that move data and do not compute.
// Invariant: each collective is one kernel. A block moves its slice of the bytes, on its channel,
// and waits for no other block; how many blocks there are depends on what all PEs have in common.
#include "device/collectives/alltoallv.hpp"
#include "device/collectives/slices.hpp"
#include "device/kernels/launch_kernel.hpp"
#include "device/routines.hpp"

namespace meshmem {
namespace device {
namespace {

#if defined(MESHMEM_TARGET_IS_CPU)
// Threads take turns there, and so do blocks, on processors that PEs share.
constexpr unsigned kMoveThreads = 64;
constexpr int kMostMoveBlocks = 2;
constexpr std::size_t kBytesPerMoveBlock = 64 * 1024;
constexpr int kBlocksOfAlltoallv = 1;
#else
constexpr unsigned kMoveThreads = 512;
constexpr int kMostMoveBlocks = kChannels;
constexpr std::size_t kBytesPerMoveBlock = 4 * 1024;
constexpr int kBlocksOfAlltoallv = 16;
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
  broadcast(Block(), mine.sync, mine.of(dest), mine.of(source), mine.slice.count, root);
}
__global__ void __launch_bounds__(kMoveThreads)
    fcollect_kernel(const MESHMEM_GRID_CONSTANT TeamHandle handle, void* dest, const void* source,
                    std::size_t bytes) {
  after_earlier_kernels();
  const BlockSlice mine(handle, bytes);
  fcollect(Block(), mine.sync, mine.of(dest), mine.of(source), mine.slice.count, bytes);
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
           blockIdx.x % 2 != 0);
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
  return launch(alltoalls_kernel<E>, dim3(1), kMoveThreads, stream, team, dest, source, dest_stride,
                source_stride, nelems);
}

// Few bytes for each block while there are channels left: it then moves them as packets.
dim3 blocks_for(const TeamHandle& team, std::size_t bytes) {
  const std::size_t wanted = (bytes + kBytesPerMoveBlock - 1) / kBytesPerMoveBlock;
  const auto most =
      static_cast<std::size_t>(kMostMoveBlocks < team.channels ? kMostMoveBlocks : team.channels);
  return dim3(static_cast<unsigned>(wanted < 1 ? 1 : wanted < most ? wanted : most));
}

}  // namespace

hipError_t launch_sync(const TeamHandle& team, hipStream_t stream) {
  return launch(sync_kernel, dim3(1), kThreadsForPes, stream, team);
}

hipError_t launch_broadcast(const TeamHandle& team, void* dest, const void* source,
                            std::size_t bytes, int root, hipStream_t stream) {
  return launch(broadcast_kernel, blocks_for(team, bytes), kMoveThreads, stream, team, dest, source,
                bytes, root);
}
hipError_t launch_fcollect(const TeamHandle& team, void* dest, const void* source,
                           std::size_t bytes, hipStream_t stream) {
  return launch(fcollect_kernel, blocks_for(team, bytes), kMoveThreads, stream, team, dest, source,
                bytes);
}
hipError_t launch_collect(const TeamHandle& team, void* dest, const void* source, std::size_t bytes,
                          hipStream_t stream) {
  return launch(collect_kernel, dim3(1), kMoveThreads, stream, team, dest, source, bytes);
}
hipError_t launch_alltoall(const TeamHandle& team, void* dest, const void* source,
                           std::size_t block_bytes, hipStream_t stream) {
  return launch(alltoall_kernel, blocks_for(team, block_bytes), kMoveThreads, stream, team, dest,
                source, block_bytes);
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
  return launch(alltoallv_kernel, dim3(static_cast<unsigned>(blocks)), kMoveThreads, stream, team,
                call);
}

hipError_t load_move_kernels() {
  const hipError_t error = load(sync_kernel, broadcast_kernel, fcollect_kernel, collect_kernel,
                                alltoall_kernel, alltoallv_kernel, alltoalls_kernel<Bits128>);
  if (error != hipSuccess) return error;
  return with_each_bits(
      [](auto given) { return load(alltoalls_kernel<typename decltype(given)::Type>); });
}

}  // namespace device
}  // namespace meshmem
