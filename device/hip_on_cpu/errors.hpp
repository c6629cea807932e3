// SPDX-License-Identifier: Apache-2.0
// Every function of the API begins with host_only(), since kernels have none of them, and returns
// through remember(), which keeps the thread's last error.
// Invariant: hipErrorNotReady is an answer, not an error, and is not kept. Used by all API
// functions.
#pragma once

#include "hip/hip_runtime_api.h"

namespace hip_on_cpu {

hipError_t remember(hipError_t error);

// Checks flags. `known` have an effect here; `hips_own` are valid in HIP but have none here.
inline hipError_t check_flags(unsigned flags, unsigned known, unsigned hips_own) {
  if (flags & ~(known | hips_own)) return hipErrorInvalidValue;
  return flags & hips_own ? hipErrorNotSupported : hipSuccess;
}

}  // namespace hip_on_cpu
