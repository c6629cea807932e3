// SPDX-License-Identifier: Apache-2.0
//
// The comparisons that waits are asked for, SHMEM_CMP_*: one meaning for host and device code.
// Invariant: values are compared in their own type, so that an unsigned one is never taken for a
// signed one. A caller has asked is_comparison() first.
#ifndef MESHMEM_DEVICE_COMPARISON_HPP_
#define MESHMEM_DEVICE_COMPARISON_HPP_

#include "device/target.hpp"
#include "shmem/constants.h"

namespace meshmem {
namespace device {

MESHMEM_HOST_DEVICE bool is_comparison(int cmp) {
  return cmp >= SHMEM_CMP_EQ && cmp <= SHMEM_CMP_GE;
}

template <typename E>
MESHMEM_HOST_DEVICE bool compare(E value, int cmp, E wanted) {
  switch (cmp) {
    case SHMEM_CMP_EQ:
      return value == wanted;
    case SHMEM_CMP_NE:
      return value != wanted;
    case SHMEM_CMP_GT:
      return value > wanted;
    case SHMEM_CMP_LE:
      return value <= wanted;
    case SHMEM_CMP_LT:
      return value < wanted;
    default:
      return value >= wanted;
  }
}

}  // namespace device
}  // namespace meshmem

#endif  // MESHMEM_DEVICE_COMPARISON_HPP_
