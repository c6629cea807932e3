// SPDX-License-Identifier: Apache-2.0
//
// The arguments of an alltoallv in a kernel or on a stream, its launch, and the request to the
// proxy. Invariant: plain numbers and pointers, which a launch hands over by value. Shared by the
// host and kernels.
#ifndef MESHMEM_DEVICE_COLLECTIVES_ALLTOALLV_CALL_HPP_
#define MESHMEM_DEVICE_COLLECTIVES_ALLTOALLV_CALL_HPP_

#include <hip/hip_runtime_api.h>

#include <cstddef>

#include "device/proxy_ring.hpp"
#include "device/state.hpp"

namespace meshmem {
namespace device {

// Arrays of a number for each PE of the team, which count elements.
struct BlocksInArrays {
  const std::size_t *nelems, *displs;
};

struct Alltoallv {
  void* dest;
  BlocksInArrays to;
  const void* source;
  BlocksInArrays from;
  std::size_t elem_bytes;
};

// On one node; the arrays are read when the kernel runs. Defined in kernels/, called by src/.
hipError_t launch_alltoallv(const TeamHandle& team, const Alltoallv& call, hipStream_t stream);

}  // namespace device
}  // namespace meshmem

#endif  // MESHMEM_DEVICE_COLLECTIVES_ALLTOALLV_CALL_HPP_
