// SPDX-License-Identifier: Apache-2.0
//
// The kernels that reduce 8-bit integers.
#include "device/kernels/reductions_of_type.hpp"

namespace meshmem {
namespace device {

template struct ReductionKernels<std::int8_t>;
template struct ReductionKernels<std::uint8_t>;

}  // namespace device
}  // namespace meshmem
