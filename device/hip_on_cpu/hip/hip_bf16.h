// SPDX-License-Identifier: Apache-2.0
// HIP's newer bfloat16 type on ordinary CPUs. It has the values of hip_bfloat16, and the names that
// ROCm 5.7 introduced. As in hip_fp16.h, arithmetic, vectors and other roundings of the type are
// left out on purpose.
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
