// SPDX-License-Identifier: Apache-2.0
//
// Reductions as groups in kernels call them.
// Invariant: a call without elements does nothing, on all PEs alike.
#ifndef MESHMEM_DEVICE_COLLECTIVES_REDUCE_HPP_
#define MESHMEM_DEVICE_COLLECTIVES_REDUCE_HPP_

#include "device/collectives/one_shot.hpp"

namespace meshmem {
namespace device {

template <ReduceOp op, typename E, typename Group>
MESHMEM_DEVICE int reduce(const Group& group, const TeamSync& sync, E* dest, const E* source,
                          std::size_t count) {
  if (count == 0) return 0;
  reduce_one_shot<op>(group, sync, dest, source, count);
  return 0;
}

}  // namespace device
}  // namespace meshmem

#endif  // MESHMEM_DEVICE_COLLECTIVES_REDUCE_HPP_
