// SPDX-License-Identifier: Apache-2.0
//
// HIP's streams, events, graphs and launches on NVIDIA GPUs.
// Invariant: as in hip_runtime_api.h, which includes it.
#ifndef MESHMEM_HIP_ON_CUDA_HIP_STREAMS_H_
#define MESHMEM_HIP_ON_CUDA_HIP_STREAMS_H_

#include <cuda_runtime_api.h>

#include <cstddef>

#include "hip_errors.h"

enum : unsigned {
  hipStreamDefault = cudaStreamDefault,
  hipStreamNonBlocking = cudaStreamNonBlocking,

  hipEventDefault = cudaEventDefault,
  hipEventBlockingSync = cudaEventBlockingSync,
  hipEventDisableTiming = cudaEventDisableTiming,
};

using hipStreamCaptureMode = cudaStreamCaptureMode;
constexpr auto hipStreamCaptureModeGlobal = cudaStreamCaptureModeGlobal;
constexpr auto hipStreamCaptureModeThreadLocal = cudaStreamCaptureModeThreadLocal;
constexpr auto hipStreamCaptureModeRelaxed = cudaStreamCaptureModeRelaxed;

using hipStreamCaptureStatus = cudaStreamCaptureStatus;
constexpr auto hipStreamCaptureStatusNone = cudaStreamCaptureStatusNone;
constexpr auto hipStreamCaptureStatusActive = cudaStreamCaptureStatusActive;
constexpr auto hipStreamCaptureStatusInvalidated = cudaStreamCaptureStatusInvalidated;

using hipFuncAttribute = cudaFuncAttribute;
constexpr auto hipFuncAttributeMaxDynamicSharedMemorySize =
    cudaFuncAttributeMaxDynamicSharedMemorySize;
constexpr auto hipFuncAttributePreferredSharedMemoryCarveout =
    cudaFuncAttributePreferredSharedMemoryCarveout;

// ---- Streams

MESHMEM_HIP_CALL(hipStreamCreate, cudaStreamCreate, (hipStream_t * stream), (stream))
MESHMEM_HIP_CALL(hipStreamCreateWithFlags, cudaStreamCreateWithFlags,
                 (hipStream_t * stream, unsigned flags), (stream, flags))
MESHMEM_HIP_CALL(hipStreamCreateWithPriority, cudaStreamCreateWithPriority,
                 (hipStream_t * stream, unsigned flags, int priority), (stream, flags, priority))
MESHMEM_HIP_CALL(hipStreamGetPriority, cudaStreamGetPriority, (hipStream_t stream, int* priority),
                 (stream, priority))
MESHMEM_HIP_CALL(hipDeviceGetStreamPriorityRange, cudaDeviceGetStreamPriorityRange,
                 (int* least, int* greatest), (least, greatest))
MESHMEM_HIP_CALL(hipStreamDestroy, cudaStreamDestroy, (hipStream_t stream), (stream))
MESHMEM_HIP_CALL(hipStreamSynchronize, cudaStreamSynchronize, (hipStream_t stream), (stream))
MESHMEM_HIP_CALL(hipStreamQuery, cudaStreamQuery, (hipStream_t stream), (stream))
// CUDA has a flag here, HIP does not.
inline hipError_t hipStreamWaitEvent(hipStream_t stream, hipEvent_t event, unsigned flags = 0) {
  if (flags != 0) return hipErrorInvalidValue;
  return hip_on_cuda::to_hip(cudaStreamWaitEvent(stream, event, flags));
}
MESHMEM_HIP_CALL(hipLaunchHostFunc, cudaLaunchHostFunc,
                 (hipStream_t stream, hipHostFn_t function, void* argument),
                 (stream, function, argument))

// ---- Capture and graphs

MESHMEM_HIP_CALL(hipStreamBeginCapture, cudaStreamBeginCapture,
                 (hipStream_t stream, hipStreamCaptureMode mode), (stream, mode))
MESHMEM_HIP_CALL(hipThreadExchangeStreamCaptureMode, cudaThreadExchangeStreamCaptureMode,
                 (hipStreamCaptureMode * mode), (mode))
MESHMEM_HIP_CALL(hipStreamEndCapture, cudaStreamEndCapture, (hipStream_t stream, hipGraph_t* graph),
                 (stream, graph))
MESHMEM_HIP_CALL(hipStreamIsCapturing, cudaStreamIsCapturing,
                 (hipStream_t stream, hipStreamCaptureStatus* status), (stream, status))
// CUDA 12 has no form with the last three parameters: this one names no node and writes no log.
inline hipError_t hipGraphInstantiate(hipGraphExec_t* executable, hipGraph_t graph,
                                      hipGraphNode_t* error_node, char* log,
                                      std::size_t log_bytes) {
  if (error_node) *error_node = nullptr;
  if (log && log_bytes > 0) *log = '\0';
  return hip_on_cuda::to_hip(cudaGraphInstantiate(executable, graph, 0));
}
MESHMEM_HIP_CALL(hipGraphLaunch, cudaGraphLaunch, (hipGraphExec_t executable, hipStream_t stream),
                 (executable, stream))
MESHMEM_HIP_CALL(hipGraphDestroy, cudaGraphDestroy, (hipGraph_t graph), (graph))
MESHMEM_HIP_CALL(hipGraphExecDestroy, cudaGraphExecDestroy, (hipGraphExec_t executable),
                 (executable))

// ---- Events

MESHMEM_HIP_CALL(hipEventCreate, cudaEventCreate, (hipEvent_t * event), (event))
MESHMEM_HIP_CALL(hipEventCreateWithFlags, cudaEventCreateWithFlags,
                 (hipEvent_t * event, unsigned flags), (event, flags))
MESHMEM_HIP_CALL(hipEventRecord, cudaEventRecord, (hipEvent_t event, hipStream_t stream = nullptr),
                 (event, stream))
MESHMEM_HIP_CALL(hipEventSynchronize, cudaEventSynchronize, (hipEvent_t event), (event))
MESHMEM_HIP_CALL(hipEventQuery, cudaEventQuery, (hipEvent_t event), (event))
MESHMEM_HIP_CALL(hipEventElapsedTime, cudaEventElapsedTime,
                 (float* milliseconds, hipEvent_t start, hipEvent_t stop),
                 (milliseconds, start, stop))
MESHMEM_HIP_CALL(hipEventDestroy, cudaEventDestroy, (hipEvent_t event), (event))

// ---- Kernels, by address

using hipFuncAttributes = cudaFuncAttributes;
MESHMEM_HIP_CALL(hipFuncGetAttributes, cudaFuncGetAttributes,
                 (hipFuncAttributes * attributes, const void* kernel), (attributes, kernel))

MESHMEM_HIP_CALL(hipLaunchKernel, cudaLaunchKernel,
                 (const void* kernel, dim3 grid, dim3 block, void** arguments,
                  std::size_t shared_bytes, hipStream_t stream),
                 (kernel, grid, block, arguments, shared_bytes, stream))
template <typename Kernel>
hipError_t hipLaunchCooperativeKernel(Kernel kernel, dim3 grid, dim3 block, void** arguments,
                                      unsigned shared_bytes, hipStream_t stream) {
  return hip_on_cuda::to_hip(cudaLaunchCooperativeKernel(
      reinterpret_cast<const void*>(kernel), grid, block, arguments, shared_bytes, stream));
}
template <typename Kernel>
hipError_t hipFuncSetAttribute(Kernel kernel, hipFuncAttribute attribute, int value) {
  return hip_on_cuda::to_hip(
      cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel), attribute, value));
}
template <typename Kernel>
hipError_t hipOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, Kernel kernel,
                                                        int threads_per_block,
                                                        std::size_t shared_bytes) {
  return hip_on_cuda::to_hip(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
      blocks, reinterpret_cast<const void*>(kernel), threads_per_block, shared_bytes));
}

#endif  // MESHMEM_HIP_ON_CUDA_HIP_STREAMS_H_
