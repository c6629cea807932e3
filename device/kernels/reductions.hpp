// SPDX-License-Identifier: Apache-2.0
//
// The kernels of a team that compute, by element type. Each file of reductions_of_types.cpp.in has
// those of two types (reductions_of_type.hpp), so that compilers take them side by side.
// Invariant: only declared here, so that a file that chooses among them compiles none.
#ifndef MESHMEM_DEVICE_KERNELS_REDUCTIONS_HPP_
#define MESHMEM_DEVICE_KERNELS_REDUCTIONS_HPP_

#include "device/collectives/by_one_thread.hpp"
#include "device/launch.hpp"

namespace meshmem {
namespace device {

#if defined(MESHMEM_TARGET_IS_CPU)
struct ReduceByOneThread {
  ReduceForm form;
  ReduceOp op;
  const TeamSync& sync;
  void* dest;
  const void* source;
  std::size_t count;
};
#endif

// Reductions of values with their indices, for all such types. There are no such reduce-scatters.
hipError_t launch_located(const ReduceLaunch& job, ElemType type);
hipError_t load_located_kernels();

// The kernels of one type.
template <typename E>
struct ReductionKernels {
  static hipError_t launch_reduce(const ReduceLaunch& job);
  static hipError_t launch_scan(const ScanLaunch& job);
  static hipError_t launch_combine(const CombineLaunch& job);
  static hipError_t load_all();
#if defined(MESHMEM_TARGET_IS_CPU)
  static hipError_t reduce_by_one_thread(const ReduceByOneThread& job);
#endif
};

}  // namespace device
}  // namespace meshmem

#endif  // MESHMEM_DEVICE_KERNELS_REDUCTIONS_HPP_
