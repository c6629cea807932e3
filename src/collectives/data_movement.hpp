// SPDX-License-Identifier: Apache-2.0
//
// Broadcast, collect, fcollect, alltoall and scans over a team's members on a node, in bytes; and
// alltoallv over any team.
// Invariant: a PE's dest is written by that PE alone, inside its own call. So the program may use
// the data until its next call, without synchronizing with the others. Called by dispatch;
// alltoallv also for kernels.
#ifndef MESHMEM_COLLECTIVES_DATA_MOVEMENT_HPP_
#define MESHMEM_COLLECTIVES_DATA_MOVEMENT_HPP_

#include <cstddef>
#include <cstring>

#include "collectives/collective.hpp"
#include "core/team.hpp"

namespace meshmem {

// Copies the root's source to the dest of every member. dest may be source.
void broadcast(NodeTeam& team, void* dest, const void* source, std::size_t bytes, int root);

// Block i of dest, `bytes` long, is PE i's source.
void fcollect(NodeTeam& team, void* dest, const void* source, std::size_t bytes);

// The same where each PE brings its own number of bytes. If this PE's buffers need another
// executor, `wanted` is its number, 1 or 2 (dispatch.cpp). Returns the bitwise or of all PEs'
// `wanted`. If it is 0, dest is complete; otherwise nothing was copied.
unsigned collect(NodeTeam& team, void* dest, const void* source, std::size_t bytes,
                 unsigned wanted = 0);

// Elements of a buffer at a stride, in elements.
struct Strided {
  std::byte* begin;
  std::ptrdiff_t stride;
};
// Copies elements. copy(dest, source, bytes) copies those that lie side by side in both buffers.
template <typename Copy>
void copy_elements(const Strided& dest, const Strided& source, std::size_t elem_bytes,
                   std::size_t count, const Copy& copy) {
  if (dest.stride == 1 && source.stride == 1) {
    copy(dest.begin, source.begin, count * elem_bytes);
    return;
  }
  const auto unit = static_cast<std::ptrdiff_t>(elem_bytes);
  for (std::size_t i = 0; i < count; ++i) {
    const auto index = static_cast<std::ptrdiff_t>(i);
    std::memcpy(dest.begin + index * dest.stride * unit,
                source.begin + index * source.stride * unit, elem_bytes);
  }
}

// Element j of block i of dest is element j of block `me` of PE i's source.
void alltoall(NodeTeam& team, const Collective& call);

// dest[i] = source[i] of all PEs before this one, in PE order, and for an inclusive scan of this
// one too. The exclusive scan of PE 0 is zero bits. dest may be source.
void scan(NodeTeam& team, const Reduction& op, void* dest, const void* source, std::size_t count,
          bool inclusive);

// An alltoall whose blocks differ in length and lie where each PE says, in any memory. The PEs tell
// each other where their blocks begin, each gets its own, and all meet at the end.
// The arrays of a call have a number for each PE, which counts elements. Block i of the dest comes
// from PE i, block i of the source goes to it. The arrays are in memory of the host or of the
// device. A kernel's arrays (`from_kernel`) may be in any memory that the device reaches.
void alltoallv(Team& team, const Collective& call, bool from_kernel);

}  // namespace meshmem

#endif  // MESHMEM_COLLECTIVES_DATA_MOVEMENT_HPP_
