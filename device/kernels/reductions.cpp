// SPDX-License-Identifier: Apache-2.0
//
// Reductions and scans on streams: finds the kernels of an element type.
// Invariant: the kernels themselves are in the files of reductions_of_types.cpp.in.
#include "device/kernels/reductions.hpp"

#include "device/kernels/launch_kernel.hpp"
#include "device/kernels/single_wide_line.hpp"
#include "device/located.hpp"

namespace meshmem {
namespace device {

hipError_t launch_reduce(const ReduceLaunch& job, ElemType type) {
  if (is_located(type)) return launch_located(job, type);
  return with_type(type, [&job](auto given) {
    return ReductionKernels<typename decltype(given)::Type>::launch_reduce(job);
  });
}
std::size_t most_reduced_by_wide_lines([[maybe_unused]] const TeamHandle& team,
                                       [[maybe_unused]] const Plan& plan) {
#if defined(MESHMEM_TARGET_IS_CUDA)
  constexpr std::size_t kGrain = Slices::grain<std::byte>();
  const bool in_one_hop = plan.algorithm == ReduceAlgorithm::one_shot_wide;
  const bool in_two_hops = plan.algorithm == ReduceAlgorithm::two_shot_wide;
  if (!team.has_all_slabs() || (!in_one_hop && !in_two_hops)) return 0;
  const std::size_t row = in_one_hop ? team.space.wide_row : results_in_row(team.space);
  const std::size_t of_row = row / kWideLineBytes * kUnitsOfLine * sizeof(std::uint64_t);
  const auto shares = static_cast<std::size_t>(in_one_hop ? 1 : team.team.n);
  return of_row * shares / kGrain * kGrain * static_cast<std::size_t>(plan.blocks);
#else
  return 0;
#endif
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
