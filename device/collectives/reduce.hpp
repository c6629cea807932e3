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

// apart: 0, or for a scatter, which is done in one hop, how far apart the source's blocks for the PEs are.
template <ReduceOp op, typename E, typename Group>
MESHMEM_DEVICE void reduce_by(ReduceAlgorithm algorithm, const Group& group, const TeamSync& sync,
                              E* dest, const E* source, std::size_t count, std::size_t apart = 0) {
  if (count == 0) return;
  if (sync.team.n == 1 || apart != 0) algorithm = ReduceAlgorithm::one_shot;
#if defined(MESHMEM_TARGET_IS_CUDA)
  // Of narrow integers a line has so many that there would be too much code.
  if constexpr (sizeof(E) >= 4 || !std::is_integral<E>::value) {
    if (sync.space.wide_row > 0) {
      if (algorithm == ReduceAlgorithm::one_shot_wide)
        return reduce_one_shot_wide<op>(group, sync, dest, source, count);
      if (algorithm == ReduceAlgorithm::two_shot_wide)
        return reduce_two_shot_wide<op>(group, sync, dest, source, count);
    }
  }
#endif
  switch (algorithm) {
    case ReduceAlgorithm::direct:
      return reduce_direct<op>(group, sync, dest, source, count);
    case ReduceAlgorithm::pull:
      return reduce_pull<op>(group, sync, dest, source, count);
    case ReduceAlgorithm::two_shot:
    case ReduceAlgorithm::two_shot_wide:
      return reduce_two_shot<op>(group, sync, dest, source, count);
    case ReduceAlgorithm::recursive_doubling:
      return reduce_recursive_doubling<op>(group, sync, dest, source, count);
    case ReduceAlgorithm::ring:
      return reduce_ring<op>(group, sync, dest, source, count);
    default:
      return reduce_one_shot<op>(group, sync, dest, source, count, apart);
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
