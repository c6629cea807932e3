// SPDX-License-Identifier: Apache-2.0
//
// The kernels of reductions of integers of 8 bits.
#include "device/kernels/reductions_of_type.hpp"

namespace meshmem {
namespace device {

template struct ReductionKernels<std::int8_t>;
template struct ReductionKernels<std::uint8_t>;

}  // namespace device
}  // namespace meshmem
