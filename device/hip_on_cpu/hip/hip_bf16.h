// SPDX-License-Identifier: Apache-2.0
// HIP's second bfloat16 on ordinary CPUs: the same numbers as hip_bfloat16, by the names that came
// with ROCm 5.7. Deliberately not there, as in hip_fp16.h: arithmetic of the type itself, vectors
// of it, and other ways to round.
#pragma once

#include "hip/on_cpu/short_floats.h"

struct __hip_bfloat16 {
  __hip_bfloat16() = default;
  __hip_bfloat16(float value) : data(hip_on_cpu::shorten<7, 8>(value)) {}
  operator float() const { return hip_on_cpu::lengthen<7, 8>(data); }
  unsigned short data;
};

inline __hip_bfloat16 __float2bfloat16(float value) { return __hip_bfloat16(value); }
inline float __bfloat162float(__hip_bfloat16 value) { return value; }
