// SPDX-License-Identifier: Apache-2.0
//
// <cuda_bf16.h> on ordinary CPUs: the bfloat16 that meshmem's routines take, and its conversions.
// Arithmetic converts to float. Deliberately missing: vectors of bfloat16, and other rounding
// modes. A file includes this header or <hip/hip_bf16.h>, not both.
#pragma once

#include <hip/hip_bfloat16.h>

using __nv_bfloat16 = hip_bfloat16;
using nv_bfloat16 = hip_bfloat16;

inline __nv_bfloat16 __float2bfloat16(float value) { return __nv_bfloat16(value); }
inline __nv_bfloat16 __float2bfloat16_rn(float value) { return __nv_bfloat16(value); }
inline float __bfloat162float(__nv_bfloat16 value) { return value; }
