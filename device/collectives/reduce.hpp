// SPDX-License-Identifier: Apache-2.0
//
// Reductions by whatever algorithm: one that is given, or what groups in users' kernels take.
// Invariant: the choice depends on what all PEs have in common. A call without elements does nothing,
// on all PEs alike.
#ifndef MESHMEM_DEVICE_COLLECTIVES_REDUCE_HPP_
#define MESHMEM_DEVICE_COLLECTIVES_REDUCE_HPP_

#include "device/collectives/direct.hpp"
#include "device/collectives/one_shot.hpp"
#include "device/collectives/pull.hpp"
#include "device/collectives/recursive_doubling.hpp"
#include "device/collectives/ring.hpp"
#include "device/collectives/two_shot.hpp"
#include "device/collectives/wide_lines.hpp"

namespace meshmem {
namespace device {

// The algorithms by what a kernel that has them needs; the library's kernels have those of one kind each:
// in one with all of them the small ones would have the registers, and the frame, of the largest.
enum class ReduceKind { packets, wide_lines, large };

// Of narrow integers a line of 128 bytes has so many that there would be too much code.
#if defined(MESHMEM_TARGET_IS_CUDA)
template <typename E>
constexpr bool kHasWideLines = sizeof(E) >= 4 || !std::is_integral<E>::value;
#else
template <typename E>
constexpr bool kHasWideLines = false;
#endif

template <typename E>
MESHMEM_HOST_DEVICE ReduceKind kind_of(ReduceAlgorithm algorithm, int n_pes,
                                       const ChannelSpace& space, bool scatter) {
  if (n_pes == 1 || (scatter && algorithm != ReduceAlgorithm::ring)) return ReduceKind::packets;
  switch (algorithm) {
    case ReduceAlgorithm::ring:
    case ReduceAlgorithm::ring_and_copies:
    case ReduceAlgorithm::direct:
    case ReduceAlgorithm::pull:
      return ReduceKind::large;
    case ReduceAlgorithm::one_shot_wide:
    case ReduceAlgorithm::two_shot_wide:
      return kHasWideLines<E> && space.wide_row > 0 ? ReduceKind::wide_lines : ReduceKind::packets;
    default:
      return ReduceKind::packets;
  }
}

// apart: 0, or for a scatter, which is done around a ring or in one hop, how far apart the source's blocks for the
// PEs are. Of ring_and_copies a kernel does all around the ring.
template <ReduceKind kind, ReduceOp op, typename E, typename Group>
MESHMEM_DEVICE void reduce_by(ReduceAlgorithm algorithm, const Group& group, const TeamSync& sync,
                              E* dest, const E* source, std::size_t count, std::size_t apart) {
  if (count == 0) return;
  if constexpr (kind == ReduceKind::large) {
    if (algorithm == ReduceAlgorithm::ring || algorithm == ReduceAlgorithm::ring_and_copies)
      return reduce_ring<op>(group, sync, dest, source, count, apart);
    if (algorithm == ReduceAlgorithm::direct)
      return reduce_direct<op>(group, sync, dest, source, count);
    return reduce_pull<op>(group, sync, dest, source, count);
  }
#if defined(MESHMEM_TARGET_IS_CUDA)
  if constexpr (kind == ReduceKind::wide_lines && kHasWideLines<E>) {
    if (algorithm == ReduceAlgorithm::one_shot_wide)
      return reduce_one_shot_wide<op>(group, sync, dest, source, count);
    return reduce_two_shot_wide<op>(group, sync, dest, source, count);
  }
#endif
  if constexpr (kind == ReduceKind::packets) {
    if (sync.team.n == 1 || apart != 0) algorithm = ReduceAlgorithm::one_shot;
    if (algorithm == ReduceAlgorithm::two_shot || algorithm == ReduceAlgorithm::two_shot_wide)
      return reduce_two_shot<op>(group, sync, dest, source, count);
    if (algorithm == ReduceAlgorithm::recursive_doubling)
      return reduce_recursive_doubling<op>(group, sync, dest, source, count);
    return reduce_one_shot<op>(group, sync, dest, source, count, apart);
  }
}

// By any of them.
template <ReduceOp op, typename E, typename Group>
MESHMEM_DEVICE void reduce_by(ReduceAlgorithm algorithm, const Group& group, const TeamSync& sync,
                              E* dest, const E* source, std::size_t count) {
  switch (kind_of<E>(algorithm, sync.team.n, sync.space, false)) {
    case ReduceKind::large:
      return reduce_by<ReduceKind::large, op>(algorithm, group, sync, dest, source, count, 0);
    case ReduceKind::wide_lines:
      return reduce_by<ReduceKind::wide_lines, op>(algorithm, group, sync, dest, source, count, 0);
    default:
      return reduce_by<ReduceKind::packets, op>(algorithm, group, sync, dest, source, count, 0);
  }
}

MESHMEM_DEVICE ReduceAlgorithm algorithm_within(const ReduceLimits& limits, const TeamSync& sync,
                                                std::size_t bytes) {
  if (bytes <= limits.one_shot || sync.team.n == 1) return ReduceAlgorithm::one_shot;
  return bytes <= limits.two_shot ? ReduceAlgorithm::two_shot : ReduceAlgorithm::pull;
}

// The algorithms that groups in users' kernels have.
template <ReduceOp op, typename E, typename Group>
MESHMEM_DEVICE void reduce_in_pe_order(ReduceAlgorithm algorithm, const Group& group,
                                       const TeamSync& sync, E* dest, const E* source,
                                       std::size_t count) {
  if (algorithm == ReduceAlgorithm::one_shot) {
    reduce_one_shot<op>(group, sync, dest, source, count);
  } else if (algorithm == ReduceAlgorithm::two_shot) {
    reduce_two_shot<op>(group, sync, dest, source, count);
  } else {
    reduce_pull<op>(group, sync, dest, source, count);
  }
}

template <ReduceOp op, typename E, typename Group>
MESHMEM_DEVICE int reduce(const Group& group, const TeamSync& sync, E* dest, const E* source,
                          std::size_t count) {
  if (count == 0) return 0;
  reduce_in_pe_order<op>(algorithm_within(state().group_limits, sync, count * sizeof(E)), group,
                         sync, dest, source, count);
  return 0;
}

// PE i gets the reduction of block i, `count` elements.
template <ReduceOp op, typename E, typename Group>
MESHMEM_DEVICE int reduce_scatter(const Group& group, const TeamSync& sync, E* dest,
                                  const E* source, std::size_t count) {
  if (count > 0) reduce_one_shot<op>(group, sync, dest, source, count, count);
  return 0;
}

}  // namespace device
}  // namespace meshmem

#endif  // MESHMEM_DEVICE_COLLECTIVES_REDUCE_HPP_
