// SPDX-License-Identifier: Apache-2.0
// The version of HIP whose names and structures these headers have, as on CPUs.
// Included by hip_runtime_api.h, and by programs.
#ifndef MESHMEM_HIP_ON_CUDA_HIP_VERSION_H_
#define MESHMEM_HIP_ON_CUDA_HIP_VERSION_H_

#define HIP_VERSION_MAJOR 6
#define HIP_VERSION_MINOR 0
#define HIP_VERSION_PATCH 0
#define HIP_VERSION (HIP_VERSION_MAJOR * 10000000 + HIP_VERSION_MINOR * 100000 + HIP_VERSION_PATCH)

#endif  // MESHMEM_HIP_ON_CUDA_HIP_VERSION_H_
