// SPDX-License-Identifier: Apache-2.0
//
// The library's kernels that compute, of one operation and type, for instructions.py: those of the
// others differ in what they add up, and take minutes to compile.
#include "device/kernels/reductions_of_type.hpp"

namespace meshmem {
namespace device {

hipError_t load_probes() {
  return load(reduce_kernel<ReduceOp::sum, float>, reduce_at_once_kernel<ReduceOp::sum, float>,
              scan_kernel<float>);
}

}  // namespace device
}  // namespace meshmem
