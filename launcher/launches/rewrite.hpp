// SPDX-License-Identifier: Apache-2.0
// Makes C++ of what CUDA and HIP add to it: launches by <<<...>>>, shared memory whose size the
// launch gives, and kernels whose address is cast to void*.
// Called by the program, with what the preprocessor has made of a source; the result needs
// hip_on_cpu/hip/hip_runtime.h, which is part of such a source.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace meshmem::launches {

// Nothing if the source has nothing of the kind.
std::optional<std::string> rewrite(std::string_view preprocessed);

}  // namespace meshmem::launches
