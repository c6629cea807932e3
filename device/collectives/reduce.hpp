// SPDX-License-Identifier: Apache-2.0
//
// Reductions by a given algorithm, and the choice of the algorithm for groups in users' kernels.
// Invariant: the choice depends only on values that all PEs have in common. A call without elements
// does nothing, on all PEs alike.
#ifndef MESHMEM_DEVICE_COLLECTIVES_REDUCE_HPP_
#define MESHMEM_DEVICE_COLLECTIVES_REDUCE_HPP_

#include <type_traits>

#include "device/collectives/algorithms.hpp"
#include "device/collectives/direct.hpp"
#include "device/collectives/one_shot.hpp"
#include "device/collectives/pull.hpp"
#include "device/collectives/recursive_doubling.hpp"
#include "device/collectives/ring.hpp"
#include "device/collectives/two_shot.hpp"

namespace meshmem {
namespace device {

// Reduces by `algorithm`, which must be one that `kernel` has. spacing: 0, or for a reduce-scatter
// the distance between the source's blocks for the PEs.
template <ReduceKernel kernel, typename Op, typename E, typename Group>
MESHMEM_DEVICE void reduce_by(const Op& op, ReduceAlgorithm algorithm, const Group& group,
                              const TeamSync& sync, E* dest, const E* source, std::size_t count,
                              std::size_t spacing) {
  if (count == 0) return;
  if constexpr (kernel == ReduceKernel::packets) {
    if (algorithm == ReduceAlgorithm::one_shot)
      return reduce_one_shot(op, group, sync, dest, source, count, spacing);
    if (algorithm == ReduceAlgorithm::two_shot)
      return reduce_two_shot(op, group, sync, dest, source, count);
    if (algorithm == ReduceAlgorithm::recursive_doubling)
      return reduce_recursive_doubling(op, group, sync, dest, source, count);
  } else {
    if (algorithm == ReduceAlgorithm::ring)
      return reduce_ring(op, group, sync, dest, source, count, spacing);
    if (algorithm == ReduceAlgorithm::direct)
      return reduce_direct(op, group, sync, dest, source, count);
    if (algorithm == ReduceAlgorithm::pull)
      return reduce_pull(op, group, sync, dest, source, count);
  }
}

// Returns the algorithm for this many bytes: packets within the limits, otherwise pull.
MESHMEM_DEVICE ReduceAlgorithm algorithm_within(const ReduceLimits& limits, const TeamSync& sync,
                                                std::size_t bytes) {
  if (bytes <= limits.one_shot || sync.team.n == 1) return ReduceAlgorithm::one_shot;
  return bytes <= limits.two_shot ? ReduceAlgorithm::two_shot : ReduceAlgorithm::pull;
}

// Reduces by one of the algorithms that groups in users' kernels have.
template <typename Op, typename E, typename Group>
MESHMEM_DEVICE void reduce_in_pe_order(const Op& op, ReduceAlgorithm algorithm, const Group& group,
                                       const TeamSync& sync, E* dest, const E* source,
                                       std::size_t count) {
  if (algorithm == ReduceAlgorithm::one_shot) {
    reduce_one_shot(op, group, sync, dest, source, count);
  } else if (algorithm == ReduceAlgorithm::two_shot) {
    reduce_two_shot(op, group, sync, dest, source, count);
  } else {
    reduce_pull(op, group, sync, dest, source, count);
  }
}

template <typename Group>
MESHMEM_DEVICE const ReduceLimits& limits_of() {
  const KernelReduceLimits& limits = state().reduce_limits;
  return std::is_same<Group, Thread>::value ? limits.thread
         : std::is_same<Group, Wave>::value ? limits.wave
                                            : limits.block;
}

template <typename Op, typename E, typename Group>
MESHMEM_DEVICE void reduce_as(const Op& op, const Group& group, const TeamSync& sync, E* dest,
                              const E* source, std::size_t count) {
  if (count == 0) return;
  reduce_in_pe_order(op, algorithm_within(limits_of<Group>(), sync, count * sizeof(E)), group, sync,
                     dest, source, count);
}
template <ReduceOp op, typename E, typename Group>
MESHMEM_DEVICE int reduce(const Group& group, const TeamSync& sync, E* dest, const E* source,
                          std::size_t count) {
  reduce_as(StaticOp<op>(), group, sync, dest, source, count);
  return 0;
}

// PE i gets the reduction of block i, `count` elements.
template <typename Op, typename E, typename Group>
MESHMEM_DEVICE void reduce_scatter_as(const Op& op, const Group& group, const TeamSync& sync,
                                      E* dest, const E* source, std::size_t count) {
  if (count > 0) reduce_one_shot(op, group, sync, dest, source, count, count);
}
template <ReduceOp op, typename E, typename Group>
MESHMEM_DEVICE int reduce_scatter(const Group& group, const TeamSync& sync, E* dest,
                                  const E* source, std::size_t count) {
  reduce_scatter_as(StaticOp<op>(), group, sync, dest, source, count);
  return 0;
}

}  // namespace device
}  // namespace meshmem

#endif  // MESHMEM_DEVICE_COLLECTIVES_REDUCE_HPP_
