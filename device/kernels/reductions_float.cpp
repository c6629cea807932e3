// SPDX-License-Identifier: Apache-2.0
//
// The kernels of reductions of float and double.
#include "device/kernels/reductions_of_type.hpp"

namespace meshmem {
namespace device {

template struct ReductionKernels<float>;
template struct ReductionKernels<double>;

}  // namespace device
}  // namespace meshmem
