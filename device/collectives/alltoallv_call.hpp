// SPDX-License-Identifier: Apache-2.0
//
// The arguments of an alltoallv in a kernel or on a stream.
// Invariant: plain numbers and pointers, which a launch hands over by value. Shared by the host and
// kernels, so it is installed, unlike launch.hpp.
#ifndef MESHMEM_DEVICE_COLLECTIVES_ALLTOALLV_CALL_HPP_
#define MESHMEM_DEVICE_COLLECTIVES_ALLTOALLV_CALL_HPP_

#include <cstddef>

namespace meshmem {
namespace device {

// Arrays of a number for each PE of the team, which count elements. The kernel reads them when it
// runs.
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

}  // namespace device
}  // namespace meshmem

#endif  // MESHMEM_DEVICE_COLLECTIVES_ALLTOALLV_CALL_HPP_
