// SPDX-License-Identifier: Apache-2.0
//
// Several operations on device memory in one kernel: the requests of other nodes.
// Invariant: as in launch.hpp. Defined in kernels/, called by src/gpu/.
#ifndef MESHMEM_DEVICE_LAUNCH_OPERATIONS_HPP_
#define MESHMEM_DEVICE_LAUNCH_OPERATIONS_HPP_

#include <hip/hip_runtime_api.h>

#include <cstdint>

#include "device/operations.hpp"

namespace meshmem {
namespace device {

// An atomic of 4 or 8 bytes, or the store of 1, 2, 4 or 8 (set).
struct Operation {
  void* there;
  std::uint64_t operand;
  std::uint64_t condition;
  std::uint64_t before;  // the value, of those that fetch
  AtomicOp op;
  std::uint32_t bytes;
};

// Executes them one after the other, each after all that those before it have stored. `all` is
// memory that the device reaches.
hipError_t launch_operations(Operation* all, int n, hipStream_t stream);

}  // namespace device
}  // namespace meshmem

#endif  // MESHMEM_DEVICE_LAUNCH_OPERATIONS_HPP_
