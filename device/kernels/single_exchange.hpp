// SPDX-License-Identifier: Apache-2.0
//
// fcollect and alltoall in one hop, as the whole of a kernel: by packets, of which a thread has one
// to each PE, and by lines of 128 bytes. Called by moves.cpp.
// Invariant: as in single_unit.hpp; bytes of any number and alignment, so all PEs agree on the
// layout of a line, whatever the addresses are.
#ifndef MESHMEM_DEVICE_KERNELS_SINGLE_EXCHANGE_HPP_
#define MESHMEM_DEVICE_KERNELS_SINGLE_EXCHANGE_HPP_

#include "device/kernels/single_unit.hpp"
#include "device/kernels/single_wide_line.hpp"

namespace meshmem {
namespace device {

// Where the blocks are: the block from or for PE i begins i * spacing bytes after the first. If
// source_spacing is 0, all PEs get the same block.
struct Exchange {
  std::byte* dest;
  const std::byte* source;
  std::size_t dest_spacing, source_spacing;
};

// each_its_own: a block for each PE, and not the same for all.
template <bool each_its_own, bool even>
__global__ void __launch_bounds__(kThreads)
    exchange_single_unit_kernel(const MESHMEM_GRID_CONSTANT TeamHandle handle,
                                const MESHMEM_GRID_CONSTANT SingleHop job,
                                const MESHMEM_GRID_CONSTANT Exchange exchange) {
  const unsigned channel = blockIdx.x, u = threadIdx.x;
  const int n = handle.team.n, me = handle.team.me;
  const Slice slice = job.slice<std::byte>(channel);
  const bool has_unit = u * kLineData < slice.count;
  std::uint64_t* const counter = job.counter(channel);
  std::size_t at = channel * job.row_step + u * kLineBytes;
  std::byte* const dest = exchange.dest + slice.first;
  const std::byte* const source = exchange.source + slice.first;
  const auto block_for = [&](int pe) {
    return each_its_own ? source + static_cast<std::size_t>(pe) * exchange.source_spacing : source;
  };
  const auto block_from = [&](int pe) {
    return dest + static_cast<std::size_t>(pe) * exchange.dest_spacing;
  };

  after_earlier_kernels();
  constexpr int kWords = each_its_own ? kNearMembers : 1;
  std::uint64_t word[kWords] = {};
  if (has_unit) {
#pragma unroll
    for (int i = 0; i < kWords; ++i)
      if (i < n) word[i] = Words<even>::load(block_for(peer_in(handle.team, i)), slice.count, u);
  }
  const std::uint64_t epoch = next_single_hop_epoch(handle, counter);
  if (epoch % 2 != 0) at += job.parity_step;
  if (has_unit) {
#pragma unroll
    for (int i = 1; i < kNearMembers; ++i) {
      if (i < n)
        send_line(reinterpret_cast<Bits128*>(job.to[i - 1] + at), word[each_its_own ? i : 0],
                  epoch);
    }
  }
  __syncthreads();
  if (u == 0) *counter = epoch;
  if (!has_unit) return;
  Words<even>::store(block_from(me), slice.count, u, word[0]);
  Bits128 line[kNearMembers];
  receive_units(job, at, handle.team, line_of(0, epoch), epoch, line);
  allow_next_kernel_if_it_pays();
#pragma unroll
  for (int pe = 0; pe < kNearMembers; ++pe)
    if (pe < n && pe != me) Words<even>::store(block_from(pe), slice.count, u, data_of(line[pe]));
}

#if defined(MESHMEM_TARGET_IS_CUDA)

// A slice's bytes as the units of lines.
template <bool even>
struct LinesOfBytes {
  LanePosition lane;
  std::size_t bytes, units, lines;

  template <typename Group>
  MESHMEM_DEVICE_MEMBER LinesOfBytes(const Group& group, std::size_t of_slice)
      : lane(group),
        bytes(of_slice),
        units((of_slice + kLineData - 1) / kLineData),
        lines((units + kUnitsOfLine - 1) / kUnitsOfLine) {}
  MESHMEM_DEVICE_MEMBER Bits128 load(const std::byte* block, std::size_t line) const {
    Bits128 words{};
    const std::size_t u = lane.unit_of(line);
    if (u < units) words.word[0] = Words<even>::load(block, bytes, u);
    if (u + 1 < units && !lane.has_flag()) words.word[1] = Words<even>::load(block, bytes, u + 1);
    return words;
  }
  MESHMEM_DEVICE_MEMBER void store(std::byte* block, std::size_t line, const Bits128& words) const {
    const std::size_t u = lane.unit_of(line);
    if (u < units) Words<even>::store(block, bytes, u, words.word[0]);
    if (u + 1 < units && !lane.has_flag()) Words<even>::store(block, bytes, u + 1, words.word[1]);
  }
};

// A lane has one line or a few.
template <bool each_its_own, bool even>
__global__ void __launch_bounds__(kMostThreadsOfTwoShotWide)
    exchange_wide_lines_kernel(const MESHMEM_GRID_CONSTANT TeamHandle handle,
                               const MESHMEM_GRID_CONSTANT SingleHop job,
                               const MESHMEM_GRID_CONSTANT Exchange exchange) {
  after_earlier_kernels();
  const unsigned channel = blockIdx.x;
  const int n = handle.team.n, me = handle.team.me;
  const Slice slice = job.slice<std::byte>(channel);
  const LinesOfBytes<even> all(Block(), slice.count);
  std::uint64_t* const counter = job.counter(channel);
  std::size_t rows = channel * job.row_step;
  std::byte* const dest = exchange.dest + slice.first;
  const std::byte* const source = exchange.source + slice.first;
  const auto at = [&](std::size_t line) { return rows + all.lane.word_of(line) * sizeof(Bits128); };
  const auto block_from = [&](int pe) {
    return dest + static_cast<std::size_t>(pe) * exchange.dest_spacing;
  };

  const std::uint64_t epoch = next_single_hop_epoch(handle, counter);
  if (epoch % 2 != 0) rows += job.parity_step;
  for_each_line(all.lane, all.lines, [&](std::size_t line, bool is_there) {
    if (!is_there) return;
    if constexpr (each_its_own) {
      Bits128 words[kNearMembers];
#pragma unroll
      for (int i = 0; i < kNearMembers; ++i) {
        const auto pe = static_cast<std::size_t>(peer_in(handle.team, i));
        if (i < n) words[i] = all.load(source + pe * exchange.source_spacing, line);
      }
#pragma unroll
      for (int i = 1; i < kNearMembers; ++i) {
        if (i < n)
          store_pair(reinterpret_cast<Bits128*>(job.to[i - 1] + at(line)),
                     with_flag(all.lane, words[i], epoch));
      }
      all.store(block_from(me), line, words[0]);
    } else {
      const Bits128 words = all.load(source, line);
      job.send(with_flag(all.lane, words, epoch), at(line), n);
      all.store(block_from(me), line, words);
    }
  });
  __syncthreads();
  if (threadIdx.x == 0) *counter = epoch;
  for_each_line(all.lane, all.lines, [&](std::size_t line, bool is_there) {
    Bits128 words[kNearMembers] = {};
    await_missing_lines(
        job, n, at(line), epoch, [&](int pe) { return is_there && pe < n && pe != me; }, words);
    const bool is_last = line - all.lane.line_in_wave + all.lane.stride >= all.lines;
    if (is_last) allow_next_kernel_if_it_pays();
    if (!is_there) return;
#pragma unroll
    for (int pe = 0; pe < kNearMembers; ++pe)
      if (pe < n && pe != me) all.store(block_from(pe), line, words[pe]);
  });
}

#endif  // MESHMEM_TARGET_IS_CUDA

}  // namespace device
}  // namespace meshmem

#endif  // MESHMEM_DEVICE_KERNELS_SINGLE_EXCHANGE_HPP_
