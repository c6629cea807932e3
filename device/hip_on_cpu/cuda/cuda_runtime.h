// SPDX-License-Identifier: Apache-2.0
//
// <cuda_runtime.h> on ordinary CPUs: the host's names (cuda_runtime_api.h) and those of kernels,
// nearly all of which are HIP's. Like nvcc, oshhip includes it in every .cu file.
#pragma once

#if defined(__cplusplus)  // a source of C beside one of CUDA gets nothing

#include <hip/hip_runtime.h>

#include "cuda_runtime_api.h"

#define cudaLaunchKernel hipLaunchKernel
#define cudaLaunchCooperativeKernel hipLaunchCooperativeKernel
#define cudaOccupancyMaxActiveBlocksPerMultiprocessor hipOccupancyMaxActiveBlocksPerMultiprocessor

#define __align__(bytes) __attribute__((aligned(bytes)))
#define __grid_constant__

#endif
