// SPDX-License-Identifier: Apache-2.0
//
// <cuda_bf16.h> on ordinary CPUs: bfloat16 and its conversions, as in <hip/hip_bf16.h>; arithmetic
// is that of float. Deliberately not there: vectors of it, and other ways to round.
#pragma once

#include <hip/hip_bf16.h>

using __nv_bfloat16 = __hip_bfloat16;
using nv_bfloat16 = __hip_bfloat16;

inline __nv_bfloat16 __float2bfloat16_rn(float value) { return __float2bfloat16(value); }
