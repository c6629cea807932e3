// SPDX-License-Identifier: Apache-2.0
// Puts a kernel on a stream, whichever call has launched it.
// Invariant: errors are HIP's. Defined in registration.cpp, called there and by by_hand.cpp.
#pragma once

#include "dispatch.hpp"

namespace amd_gpu {

hipError_t launch_kernel(const Kernel& kernel, const dim3& grid, const dim3& block,
                         void** arguments, std::size_t shared, hipStream_t stream,
                         bool is_cooperative);

}  // namespace amd_gpu
