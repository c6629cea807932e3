// SPDX-License-Identifier: Apache-2.0
// HIP's half (IEEE 754 binary16) on ordinary CPUs: 2 bytes, to and from float, rounded to nearest,
// ties to even. All else is done in float. Deliberately not there: arithmetic of __half itself,
// __half2, and other ways to round.
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
