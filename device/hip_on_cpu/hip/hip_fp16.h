// SPDX-License-Identifier: Apache-2.0
// HIP's half (IEEE 754 binary16) on ordinary CPUs: 2 bytes that convert to and from float. The
// conversion rounds to nearest, ties to even. Arithmetic is done in float. Left out on purpose:
// arithmetic of __half itself, __half2, and other rounding modes.
#pragma once

#include "hip/on_cpu/short_floats.h"

struct __half {
  __half() = default;
  __half(float value) : bits(hip_on_cpu::shorten<10, 5>(value)) {}
  operator float() const { return hip_on_cpu::lengthen<10, 5>(bits); }
  unsigned short bits;
};

inline __half __float2half(float value) { return __half(value); }
inline float __half2float(__half value) { return value; }
