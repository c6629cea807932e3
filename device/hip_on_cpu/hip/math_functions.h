// SPDX-License-Identifier: Apache-2.0
// HIP's header of arithmetic for kernels: C's mathematics, min, max, bit counts. hip_runtime.h has
// it too. Included by programs.
#pragma once

#include "hip/on_cpu/arithmetic.h"
