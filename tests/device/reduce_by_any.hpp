// SPDX-License-Identifier: Apache-2.0
//
// A reduction by any algorithm that kernels for groups have, for tests that try all of them. Also
// used by tests/unit/.
// Invariant: as reduce_by() of the library's kernels; one PE has one algorithm.
#ifndef MESHMEM_TESTS_DEVICE_REDUCE_BY_ANY_HPP
#define MESHMEM_TESTS_DEVICE_REDUCE_BY_ANY_HPP

#include "device/collectives/reduce.hpp"

namespace meshmem {
namespace device {

template <typename Op, typename E, typename Group>
MESHMEM_DEVICE void reduce_by_any(const Op& op, ReduceAlgorithm algorithm, const Group& group,
                                  const TeamSync& sync, E* dest, const E* source,
                                  std::size_t count) {
  if (sync.team.n == 1) algorithm = ReduceAlgorithm::one_shot;
  reduce_by<ReduceKernel::packets>(op, algorithm, group, sync, dest, source, count, 0);
  reduce_by<ReduceKernel::large>(op, algorithm, group, sync, dest, source, count, 0);
}

}  // namespace device
}  // namespace meshmem

#endif
