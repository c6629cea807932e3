// SPDX-License-Identifier: Apache-2.0
//
// <cuda_runtime_api.h> on ordinary CPUs: CUDA's names for <hip/hip_runtime_api.h>, so that programs
// for NVIDIA GPUs compile on machines without one.
// Invariant: a name has CUDA's meaning; a name that is not here does not compile. On the cpu target
// oshhip and CMake's meshmem::nvshmem_names find it after the program's own headers.
#pragma once

#include <hip/hip_runtime_api.h>

#include "cuda_on_cpu/runtime_names.h"

// The CUDA version that these names follow. Programs use it to choose between forms of a call.
#define CUDART_VERSION 12000

// Functions that differ from those of HIP.
inline cudaError_t cudaRuntimeGetVersion(int* version) {
  const cudaError_t error = hipRuntimeGetVersion(version);
  if (error == cudaSuccess) *version = CUDART_VERSION;
  return error;
}
inline cudaError_t cudaDriverGetVersion(int* version) { return cudaRuntimeGetVersion(version); }

// Memory that nobody has registered is a type of its own in CUDA, and an error in HIP.
inline cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes,
                                            const void* pointer) {
  const cudaError_t before = cudaPeekAtLastError();
  const cudaError_t error = hipPointerGetAttributes(attributes, pointer);
  if (error != cudaErrorInvalidValue || attributes == nullptr) return error;
  if (before == cudaSuccess) (void)cudaGetLastError();
  *attributes = {};
  attributes->type = cudaMemoryTypeUnregistered;
  attributes->device = -2;  // cudaInvalidDeviceId
  attributes->hostPointer = const_cast<void*>(pointer);
  return cudaSuccess;
}

#if defined(__cplusplus)
// The form of CUDA 12, then that of CUDA 10 and 11.
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
