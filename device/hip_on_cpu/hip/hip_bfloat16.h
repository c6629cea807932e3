// SPDX-License-Identifier: Apache-2.0
// HIP's bfloat16 (the upper half of a float) on ordinary CPUs: 2 bytes, to and from float, rounded
// to nearest, ties to even. All else is done in float.
#pragma once

#include "hip/on_cpu/short_floats.h"

struct hip_bfloat16 {
  hip_bfloat16() = default;
  explicit hip_bfloat16(float value) : data(hip_on_cpu::shorten<7, 8>(value)) {}
  operator float() const { return hip_on_cpu::lengthen<7, 8>(data); }
  unsigned short data;
};
