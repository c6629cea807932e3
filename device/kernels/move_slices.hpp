// SPDX-License-Identifier: Apache-2.0
//
// How the data of a collective that moves it is cut in slices, one for each block of threads.
// Invariant: it depends only on values that all PEs have in common, except for the evenness of
// their addresses. Included by moves.cpp and broadcasts.cpp.
#ifndef MESHMEM_DEVICE_KERNELS_MOVE_SLICES_HPP_
#define MESHMEM_DEVICE_KERNELS_MOVE_SLICES_HPP_

#include <algorithm>

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

// Few bytes for each block while there are channels left: it then moves them as packets.
inline dim3 blocks_for(const TeamHandle& team, std::size_t bytes) {
  if (!kernels_are_wide()) return dim3(1);
  const std::size_t wanted = (bytes + kBytesPerMoveBlock - 1) / kBytesPerMoveBlock;
  const auto most =
      static_cast<std::size_t>(kMostMoveBlocks < team.channels ? kMostMoveBlocks : team.channels);
  return dim3(static_cast<unsigned>(wanted < 1 ? 1 : wanted < most ? wanted : most));
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
