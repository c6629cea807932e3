// SPDX-License-Identifier: Apache-2.0
//
// The kernels of reductions of integers of 32 bits.
#include "device/kernels/reductions_of_type.hpp"

namespace meshmem {
namespace device {

template struct ReductionKernels<std::int32_t>;
template struct ReductionKernels<std::uint32_t>;

}  // namespace device
}  // namespace meshmem
