// SPDX-License-Identifier: Apache-2.0
//
// The rows of rows.def inside kernels. Invariant: C++17, read as host and as device code.
#ifndef MESHMEM_BENCH_KERNELS_HPP_
#define MESHMEM_BENCH_KERNELS_HPP_

#include <hip/hip_runtime_api.h>

#include "bench/operation.hpp"

namespace meshmem::bench {

struct Shape {
  unsigned blocks;
  unsigned threads;
};

// Whether row `number` has a kernel for a group.
bool has_kernel(int number, Caller group);
// Launches it.
hipError_t launch(int number, Caller group, const At& at, const Rounds& rounds, const Shape& shape,
                  hipStream_t stream);

}  // namespace meshmem::bench

#endif  // MESHMEM_BENCH_KERNELS_HPP_
