// SPDX-License-Identifier: Apache-2.0
//
// Reductions and scans on streams: finds the kernels of an element type.
// Invariant: the kernels themselves are in the files of reductions_of_types.cpp.in.
#include "device/kernels/reductions.hpp"

#include "device/kernels/launch_kernel.hpp"
#include "device/located.hpp"

namespace meshmem {
namespace device {

hipError_t launch_reduce(const ReduceLaunch& job, ElemType type) {
  if (is_located(type)) return launch_located(job, type);
  return with_type(type, [&job](auto given) {
    return ReductionKernels<typename decltype(given)::Type>::launch_reduce(job);
  });
}
hipError_t launch_scan(const ScanLaunch& job, ElemType type) {
  return with_type(type, [&job](auto given) {
    return ReductionKernels<typename decltype(given)::Type>::launch_scan(job);
  });
}
hipError_t launch_combine(const CombineLaunch& job, ElemType type) {
  return with_type(type, [&job](auto given) {
    return ReductionKernels<typename decltype(given)::Type>::launch_combine(job);
  });
}

hipError_t load_reduction_kernels() {
  const hipError_t error = with_each_type(
      [](auto given) { return ReductionKernels<typename decltype(given)::Type>::load_all(); });
  return error == hipSuccess ? load_located_kernels() : error;
}

#if defined(MESHMEM_TARGET_IS_CPU)
extern "C" __attribute__((visibility("default"))) void shmemx_reduce_by_one_thread(
    ReduceForm form, ReduceOp op, ElemType type, const TeamSync& sync, void* dest,
    const void* source, std::size_t count) {
  const ReduceByOneThread job{form, op, sync, dest, source, count};
  const hipError_t error = with_type(type, [&job](auto given) {
    return ReductionKernels<typename decltype(given)::Type>::reduce_by_one_thread(job);
  });
  if (error != hipSuccess) trap();  // no routine has such a type
}
#endif

}  // namespace device
}  // namespace meshmem
