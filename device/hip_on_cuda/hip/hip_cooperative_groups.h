// SPDX-License-Identifier: Apache-2.0
// HIP's cooperative groups on NVIDIA GPUs are CUDA's. Included by programs.
#ifndef MESHMEM_HIP_ON_CUDA_HIP_COOPERATIVE_GROUPS_H_
#define MESHMEM_HIP_ON_CUDA_HIP_COOPERATIVE_GROUPS_H_

#include <cooperative_groups.h>

#include "hip_runtime.h"

#endif  // MESHMEM_HIP_ON_CUDA_HIP_COOPERATIVE_GROUPS_H_
