// SPDX-License-Identifier: Apache-2.0
//
// How the data of a collective that moves it is cut in slices, one for each block of threads.
// Invariant: it depends only on values that all PEs have in common, except for the evenness of
// their addresses. Included by moves.cpp and broadcasts.cpp.
#ifndef MESHMEM_DEVICE_KERNELS_MOVE_SLICES_HPP_
#define MESHMEM_DEVICE_KERNELS_MOVE_SLICES_HPP_

#include <algorithm>

#include "device/collectives/packet_moves.hpp"
#include "device/collectives/slices.hpp"
#include "device/kernels/launch_kernel.hpp"
#include "device/routines.hpp"

namespace meshmem {
namespace device {

#if defined(MESHMEM_TARGET_IS_CPU)
// For wide kernels. Their threads take turns on a processor, and their blocks on processors that
// PEs share.
constexpr unsigned kMoveThreads = 64;
constexpr int kMostMoveBlocks = 2;
constexpr std::size_t kBytesPerMoveBlock = 64 * 1024;
#else
constexpr unsigned kMoveThreads = 512;
constexpr int kMostMoveBlocks = kChannels;
constexpr std::size_t kBytesPerMoveBlock = 4 * 1024;
#endif

// A block's slice of `bytes` bytes, and where the block meets the others that have the same slice.
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

inline std::size_t most_move_blocks(const TeamHandle& team) {
  return kernels_are_wide() ? static_cast<std::size_t>(std::min(kMostMoveBlocks, team.channels))
                            : 1;
}
// Returns how many bytes one block of threads moves as packets, in whole grains.
inline std::size_t most_packets_of_block(const TeamHandle& team) {
  constexpr std::size_t kGrain = Slices::grain<std::byte>();
  const std::size_t row = team.space.packet_row;
  return (kernels_are_wide() ? most_by_packets<Block>(row) : most_by_packets<Thread>(row)) /
         kGrain * kGrain;
}
// Few bytes for each block while there are channels left: it then moves them as packets.
inline dim3 blocks_for(const TeamHandle& team, const Move& move) {
  const std::size_t of_block =
      move.by_rows ? std::min(kBytesPerMoveBlock, most_packets_of_block(team)) : kBytesPerMoveBlock;
  const std::size_t wanted = (move.bytes + of_block - 1) / of_block;
  return dim3(static_cast<unsigned>(std::clamp(wanted, std::size_t{1}, most_move_blocks(team))));
}

// Whether lines can be made of whole words of such blocks.
inline bool is_even(const void* dest, const void* source, std::size_t bytes) {
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

}  // namespace device
}  // namespace meshmem

#endif  // MESHMEM_DEVICE_KERNELS_MOVE_SLICES_HPP_
