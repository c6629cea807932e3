// SPDX-License-Identifier: Apache-2.0
// Rewrites into C++ the syntax that CUDA and HIP add to it: launches by <<<...>>>, shared memory
// whose size the launch gives, and kernels whose address is cast to void*.
// main.cpp calls it with a preprocessed source. The result needs hip_on_cpu/hip/hip_runtime.h,
// which such a source includes.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace meshmem::launches {

// Returns nullopt if the source has nothing that must be rewritten.
std::optional<std::string> rewrite(std::string_view preprocessed);

}  // namespace meshmem::launches
