// SPDX-License-Identifier: Apache-2.0
//
// <cuda_fp16.h> on ordinary CPUs: CUDA's names for the half of <hip/hip_fp16.h>. Conversions round
// to nearest, and arithmetic is done in float. Left out on purpose: half2, and conversions with
// other rounding modes.
#pragma once

#include <hip/hip_fp16.h>

using half = __half;

inline __half __float2half_rn(float value) { return __float2half(value); }
