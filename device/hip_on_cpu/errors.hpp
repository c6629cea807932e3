// SPDX-License-Identifier: Apache-2.0
// Every function of the API returns through remember(), which keeps the thread's last error.
// Invariant: hipErrorNotReady is an answer, not an error, and is not kept. Used by all API functions.
#pragma once

#include "hip/hip_runtime_api.h"

namespace hip_on_cpu {

hipError_t remember(hipError_t error);

}  // namespace hip_on_cpu
