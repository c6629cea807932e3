// SPDX-License-Identifier: Apache-2.0
//
// <cuda_runtime_api.h> on ordinary CPUs: CUDA's names for what <hip/hip_runtime_api.h> has, so that
// programs that were written for NVIDIA GPUs compile where there is none.
// Invariant: a name means what it means in CUDA; a name that is not here does not compile. Found by
// oshhip on the cpu target, and by CMake's meshmem::nvshmem_names there, behind the program's own.
#pragma once

#include <hip/hip_runtime_api.h>

#include "cuda_on_cpu/runtime_names.h"

// The version whose names these are. Programs choose by it between forms of a call.
#define CUDART_VERSION 12000

#if defined(__cplusplus)
// Of CUDA 12, and of 10 and 11.
inline cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph,
                                        unsigned long long flags = 0) {
  return hipGraphInstantiateWithFlags(executable, graph, flags);
}
inline cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph,
                                        cudaGraphNode_t* error_node, char* log,
                                        std::size_t log_bytes) {
  return hipGraphInstantiate(executable, graph, error_node, log, log_bytes);
}
#endif
