// SPDX-License-Identifier: Apache-2.0
//
// Reductions and scans on streams: from an element type by name to its kernels.
// Invariant: the kernels themselves are in reductions_*.cpp.
#include "device/kernels/reductions.hpp"

#include "device/kernels/launch_kernel.hpp"
#include "device/located.hpp"

namespace meshmem {
namespace device {

hipError_t launch_reduce(const Plan& plan, const TeamHandle& team, ReduceOp op, ElemType type,
                         void* dest, const void* source, std::size_t count, bool scatter,
                         hipStream_t stream) {
  const ReduceLaunch job{plan, team, op, dest, source, count, scatter, stream};
  if (is_located(type)) return launch_located(job, type);
  return with_type(type, [&job](auto given) {
    return ReductionKernels<typename decltype(given)::Type>::launch_reduce(job);
  });
}

hipError_t launch_scan(const TeamHandle& team, ElemType type, void* dest, const void* source,
                       std::size_t count, bool inclusive, hipStream_t stream) {
  return with_type(type, [&](auto given) {
    return ReductionKernels<typename decltype(given)::Type>::launch_scan(
        {team, dest, source, count, inclusive, stream});
  });
}

hipError_t launch_combine(const Sources& sources, ReduceOp op, ElemType type, void* to,
                          std::size_t count, bool wide, hipStream_t stream) {
  return with_type(type, [&](auto given) {
    return ReductionKernels<typename decltype(given)::Type>::launch_combine(
        {sources, op, to, count, wide, stream});
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
  if (error != hipSuccess) trap();  // no routine asks for it
}
#endif

}  // namespace device
}  // namespace meshmem
