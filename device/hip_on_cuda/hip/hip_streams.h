// SPDX-License-Identifier: Apache-2.0
//
// HIP's streams, events, graphs and launches on NVIDIA GPUs.
// Invariant: as in hip_runtime_api.h, which includes it: one call of the CUDA runtime each.
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

enum hipStreamCaptureMode {
  hipStreamCaptureModeGlobal = cudaStreamCaptureModeGlobal,
  hipStreamCaptureModeThreadLocal = cudaStreamCaptureModeThreadLocal,
  hipStreamCaptureModeRelaxed = cudaStreamCaptureModeRelaxed,
};

enum hipStreamCaptureStatus {
  hipStreamCaptureStatusNone = cudaStreamCaptureStatusNone,
  hipStreamCaptureStatusActive = cudaStreamCaptureStatusActive,
  hipStreamCaptureStatusInvalidated = cudaStreamCaptureStatusInvalidated,
};

enum hipFuncAttribute {
  hipFuncAttributeMaxDynamicSharedMemorySize = cudaFuncAttributeMaxDynamicSharedMemorySize,
  hipFuncAttributePreferredSharedMemoryCarveout = cudaFuncAttributePreferredSharedMemoryCarveout,
};

// ---- Streams

inline hipError_t hipStreamCreate(hipStream_t* stream) {
  return hip_on_cuda::to_hip(cudaStreamCreate(stream));
}
inline hipError_t hipStreamCreateWithFlags(hipStream_t* stream, unsigned flags) {
  return hip_on_cuda::to_hip(cudaStreamCreateWithFlags(stream, flags));
}
inline hipError_t hipStreamCreateWithPriority(hipStream_t* stream, unsigned flags, int priority) {
  return hip_on_cuda::to_hip(cudaStreamCreateWithPriority(stream, flags, priority));
}
inline hipError_t hipStreamGetPriority(hipStream_t stream, int* priority) {
  return hip_on_cuda::to_hip(cudaStreamGetPriority(stream, priority));
}
inline hipError_t hipDeviceGetStreamPriorityRange(int* least, int* greatest) {
  return hip_on_cuda::to_hip(cudaDeviceGetStreamPriorityRange(least, greatest));
}
inline hipError_t hipStreamDestroy(hipStream_t stream) {
  return hip_on_cuda::to_hip(cudaStreamDestroy(stream));
}
inline hipError_t hipStreamSynchronize(hipStream_t stream) {
  return hip_on_cuda::to_hip(cudaStreamSynchronize(stream));
}
inline hipError_t hipStreamQuery(hipStream_t stream) {
  return hip_on_cuda::to_hip(cudaStreamQuery(stream));
}
// CUDA has a flag here that HIP has not.
inline hipError_t hipStreamWaitEvent(hipStream_t stream, hipEvent_t event, unsigned flags = 0) {
  if (flags != 0) return hipErrorInvalidValue;
  return hip_on_cuda::to_hip(cudaStreamWaitEvent(stream, event, flags));
}
inline hipError_t hipLaunchHostFunc(hipStream_t stream, hipHostFn_t function, void* argument) {
  return hip_on_cuda::to_hip(cudaLaunchHostFunc(stream, function, argument));
}

// ---- Capture and graphs

inline hipError_t hipStreamBeginCapture(hipStream_t stream, hipStreamCaptureMode mode) {
  return hip_on_cuda::to_hip(
      cudaStreamBeginCapture(stream, static_cast<cudaStreamCaptureMode>(mode)));
}
inline hipError_t hipThreadExchangeStreamCaptureMode(hipStreamCaptureMode* mode) {
  if (!mode) return hipErrorInvalidValue;
  auto exchanged = static_cast<cudaStreamCaptureMode>(*mode);
  const cudaError_t result = cudaThreadExchangeStreamCaptureMode(&exchanged);
  *mode = static_cast<hipStreamCaptureMode>(exchanged);
  return hip_on_cuda::to_hip(result);
}
inline hipError_t hipStreamEndCapture(hipStream_t stream, hipGraph_t* graph) {
  return hip_on_cuda::to_hip(cudaStreamEndCapture(stream, graph));
}
inline hipError_t hipStreamIsCapturing(hipStream_t stream, hipStreamCaptureStatus* status) {
  if (!status) return hipErrorInvalidValue;
  cudaStreamCaptureStatus found = cudaStreamCaptureStatusNone;
  const cudaError_t result = cudaStreamIsCapturing(stream, &found);
  *status = static_cast<hipStreamCaptureStatus>(found);
  return hip_on_cuda::to_hip(result);
}
// CUDA 12 took the last three parameters away: it names no node, and writes no log.
inline hipError_t hipGraphInstantiate(hipGraphExec_t* executable, hipGraph_t graph,
                                      hipGraphNode_t* error_node, char* log,
                                      std::size_t log_bytes) {
  if (error_node) *error_node = nullptr;
  if (log && log_bytes > 0) *log = '\0';
  return hip_on_cuda::to_hip(cudaGraphInstantiate(executable, graph, 0));
}
inline hipError_t hipGraphLaunch(hipGraphExec_t executable, hipStream_t stream) {
  return hip_on_cuda::to_hip(cudaGraphLaunch(executable, stream));
}
inline hipError_t hipGraphDestroy(hipGraph_t graph) {
  return hip_on_cuda::to_hip(cudaGraphDestroy(graph));
}
inline hipError_t hipGraphExecDestroy(hipGraphExec_t executable) {
  return hip_on_cuda::to_hip(cudaGraphExecDestroy(executable));
}

// ---- Events

inline hipError_t hipEventCreate(hipEvent_t* event) {
  return hip_on_cuda::to_hip(cudaEventCreate(event));
}
inline hipError_t hipEventCreateWithFlags(hipEvent_t* event, unsigned flags) {
  return hip_on_cuda::to_hip(cudaEventCreateWithFlags(event, flags));
}
inline hipError_t hipEventRecord(hipEvent_t event, hipStream_t stream = nullptr) {
  return hip_on_cuda::to_hip(cudaEventRecord(event, stream));
}
inline hipError_t hipEventSynchronize(hipEvent_t event) {
  return hip_on_cuda::to_hip(cudaEventSynchronize(event));
}
inline hipError_t hipEventQuery(hipEvent_t event) {
  return hip_on_cuda::to_hip(cudaEventQuery(event));
}
inline hipError_t hipEventElapsedTime(float* milliseconds, hipEvent_t start, hipEvent_t stop) {
  return hip_on_cuda::to_hip(cudaEventElapsedTime(milliseconds, start, stop));
}
inline hipError_t hipEventDestroy(hipEvent_t event) {
  return hip_on_cuda::to_hip(cudaEventDestroy(event));
}

// ---- Kernels, by address

using hipFuncAttributes = cudaFuncAttributes;
inline hipError_t hipFuncGetAttributes(hipFuncAttributes* attributes, const void* kernel) {
  return hip_on_cuda::to_hip(cudaFuncGetAttributes(attributes, kernel));
}

inline hipError_t hipLaunchKernel(const void* kernel, dim3 grid, dim3 block, void** arguments,
                                  std::size_t shared_bytes, hipStream_t stream) {
  return hip_on_cuda::to_hip(
      cudaLaunchKernel(kernel, grid, block, arguments, shared_bytes, stream));
}
template <typename Kernel>
hipError_t hipLaunchCooperativeKernel(Kernel kernel, dim3 grid, dim3 block, void** arguments,
                                      unsigned shared_bytes, hipStream_t stream) {
  return hip_on_cuda::to_hip(cudaLaunchCooperativeKernel(
      reinterpret_cast<const void*>(kernel), grid, block, arguments, shared_bytes, stream));
}
template <typename Kernel>
hipError_t hipFuncSetAttribute(Kernel kernel, hipFuncAttribute attribute, int value) {
  return hip_on_cuda::to_hip(cudaFuncSetAttribute(
      reinterpret_cast<const void*>(kernel), static_cast<cudaFuncAttribute>(attribute), value));
}
template <typename Kernel>
hipError_t hipOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, Kernel kernel,
                                                        int threads_per_block,
                                                        std::size_t shared_bytes) {
  return hip_on_cuda::to_hip(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
      blocks, reinterpret_cast<const void*>(kernel), threads_per_block, shared_bytes));
}

#endif  // MESHMEM_HIP_ON_CUDA_HIP_STREAMS_H_
