// SPDX-License-Identifier: Apache-2.0
// The kernel of outside_launch.cu, and how it is launched.
#include <hip/hip_runtime.h>

__global__ void set(long* to, long value) { *to = value; }

inline void launch_set(long* to, long value) { set<<<1, 1>>>(to, value); }
