// SPDX-License-Identifier: Apache-2.0
// Every function of the API begins with host_only(), since no kernel may call it. A function that
// can fail returns its error through remember(), which keeps each thread's last error.
// Invariant: hipErrorNotReady is an answer, not an error, and is not kept. Used by all API
// functions.
#pragma once

#include "hip/hip_runtime_api.h"

namespace hip_on_cpu {

hipError_t remember(hipError_t error);

// Checks flags: those in `supported` may be given. Those in `unsupported` are valid in HIP, but not
// supported here. All others are invalid.
inline hipError_t check_flags(unsigned flags, unsigned supported, unsigned unsupported) {
  if (flags & ~(supported | unsupported)) return hipErrorInvalidValue;
  return flags & unsupported ? hipErrorNotSupported : hipSuccess;
}

}  // namespace hip_on_cpu
