// SPDX-License-Identifier: Apache-2.0
//
// The library's kernels that compute, of one type, for instructions.py: with an operation that the
// compiler knows, and with one that is given at the launch. Those of other types differ in what
// they add up, and take minutes to compile.
#include "device/kernels/reductions_of_type.hpp"

namespace meshmem {
namespace device {

using Sum = StaticOp<ReduceOp::sum>;
using Any = RuntimeOp<float>;

hipError_t load_probes() {
  hipError_t loaded = load_packets_kernels<Sum, float>();
  if (loaded == hipSuccess) loaded = load_packets_kernels<Any, float>();
  if (loaded == hipSuccess)
    loaded = load(reduce_large_kernel<Sum, float>, reduce_single_unit_kernel<Sum, float>,
                  scatter_single_unit_kernel<Sum, float>, combine_kernel<Sum, float>,
                  scan_kernel<float>);
  if (loaded == hipSuccess)
    loaded = load(reduce_large_kernel<Any, float>, reduce_single_unit_kernel<Any, float>,
                  scatter_single_unit_kernel<Any, float>, combine_kernel<Any, float>);
#if defined(MESHMEM_TARGET_IS_CUDA)
  if (loaded == hipSuccess)
    loaded = load(reduce_single_wide_line_kernel<Sum, float>,
                  reduce_single_wide_line_two_hops_kernel<Sum, float>,
                  reduce_wide_lines_kernel<false, Sum, float>,
                  reduce_wide_lines_kernel<true, Sum, float>,
                  reduce_wide_lines_kernel<false, Any, float>);
#endif
  return loaded;
}

}  // namespace device
}  // namespace meshmem
