// SPDX-License-Identifier: Apache-2.0
//
// The kernels of reductions of half and bfloat16.
#include "device/kernels/reductions_of_type.hpp"

namespace meshmem {
namespace device {

template struct ReductionKernels<meshmem_half>;
template struct ReductionKernels<meshmem_bfloat16>;

}  // namespace device
}  // namespace meshmem
