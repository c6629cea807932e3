// SPDX-License-Identifier: Apache-2.0
//
// <cuda_fp16.h> on ordinary CPUs: half and its conversions, as in <hip/hip_fp16.h>. Arithmetic
// converts to float. Deliberately missing: half2, and other rounding modes.
#pragma once

#include <hip/hip_fp16.h>

using half = __half;

inline __half __float2half_rn(float value) { return __float2half(value); }
