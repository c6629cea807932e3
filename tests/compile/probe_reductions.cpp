// SPDX-License-Identifier: Apache-2.0
//
// The library's kernels that compute, of one operation and type, for instructions.py: those of the
// others differ in what they add up, and take minutes to compile.
#include "device/kernels/reductions_of_type.hpp"

namespace meshmem {
namespace device {

hipError_t load_probes() {
  hipError_t loaded =
      load(reduce_packets_kernel<ReduceOp::sum, float>, reduce_large_kernel<ReduceOp::sum, float>,
           reduce_single_unit_kernel<ReduceOp::sum, float>, scan_kernel<float>);
  if constexpr (kHasWideLines<float>) {
    if (loaded == hipSuccess) loaded = load(reduce_wide_lines_kernel<ReduceOp::sum, float>);
#if defined(MESHMEM_TARGET_IS_CUDA)
    if (loaded == hipSuccess)
      loaded = load(reduce_single_wide_line_kernel<ReduceOp::sum, float>,
                    reduce_single_wide_line_two_hops_kernel<ReduceOp::sum, float>);
#endif
  }
  return loaded;
}

}  // namespace device
}  // namespace meshmem
