// SPDX-License-Identifier: Apache-2.0
//
// The kernels of reductions of integers of 16 bits.
#include "device/kernels/reductions_of_type.hpp"

namespace meshmem {
namespace device {

template struct ReductionKernels<std::int16_t>;
template struct ReductionKernels<std::uint16_t>;

}  // namespace device
}  // namespace meshmem
