// SPDX-License-Identifier: Apache-2.0
//
// <cuda_runtime.h> on ordinary CPUs: CUDA's names for the host (cuda_runtime_api.h) and for
// kernels. In kernels CUDA and HIP have nearly the same names. Like nvcc, oshhip includes this file
// at the start of every .cu file.
#pragma once

// If one command compiles .cu and .c files, oshhip includes this file in the .c files, too.
#if defined(__cplusplus)

#include <hip/hip_runtime.h>

#include "cuda_runtime_api.h"

#define cudaLaunchKernel hipLaunchKernel
#define cudaLaunchCooperativeKernel hipLaunchCooperativeKernel
#define cudaOccupancyMaxActiveBlocksPerMultiprocessor hipOccupancyMaxActiveBlocksPerMultiprocessor

#define __align__(bytes) __attribute__((aligned(bytes)))
#define __grid_constant__

#endif
