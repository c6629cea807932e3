// SPDX-License-Identifier: Apache-2.0
//
// HIP's error codes on NVIDIA GPUs.
// Invariant: HIP took its numbers from CUDA, and every row of the table is compared with the CUDA
// that compiles it; so a code is converted by a cast. A code that CUDA has and HIP lacks keeps its
// number, and hipGetErrorString explains it. Included by hip_runtime_api.h.
#ifndef MESHMEM_HIP_ON_CUDA_HIP_ERRORS_H_
#define MESHMEM_HIP_ON_CUDA_HIP_ERRORS_H_

#include <cuda_runtime_api.h>

// clang-format off
// X(HIP's name, HIP's number, CUDA's name)
#define MESHMEM_HIP_ERRORS(X) \
  X(hipSuccess, 0, cudaSuccess) \
  X(hipErrorInvalidValue, 1, cudaErrorInvalidValue) \
  X(hipErrorOutOfMemory, 2, cudaErrorMemoryAllocation) \
  X(hipErrorNotInitialized, 3, cudaErrorInitializationError) \
  X(hipErrorDeinitialized, 4, cudaErrorCudartUnloading) \
  X(hipErrorInvalidConfiguration, 9, cudaErrorInvalidConfiguration) \
  X(hipErrorInvalidPitchValue, 12, cudaErrorInvalidPitchValue) \
  X(hipErrorInvalidSymbol, 13, cudaErrorInvalidSymbol) \
  X(hipErrorInvalidDevicePointer, 17, cudaErrorInvalidDevicePointer) \
  X(hipErrorInvalidMemcpyDirection, 21, cudaErrorInvalidMemcpyDirection) \
  X(hipErrorInsufficientDriver, 35, cudaErrorInsufficientDriver) \
  X(hipErrorInvalidDeviceFunction, 98, cudaErrorInvalidDeviceFunction) \
  X(hipErrorNoDevice, 100, cudaErrorNoDevice) \
  X(hipErrorInvalidDevice, 101, cudaErrorInvalidDevice) \
  X(hipErrorInvalidImage, 200, cudaErrorInvalidKernelImage) \
  X(hipErrorInvalidContext, 201, cudaErrorDeviceUninitialized) \
  X(hipErrorMapFailed, 205, cudaErrorMapBufferObjectFailed) \
  X(hipErrorNoBinaryForGpu, 209, cudaErrorNoKernelImageForDevice) \
  X(hipErrorECCNotCorrectable, 214, cudaErrorECCUncorrectable) \
  X(hipErrorPeerAccessUnsupported, 217, cudaErrorPeerAccessUnsupported) \
  X(hipErrorOperatingSystem, 304, cudaErrorOperatingSystem) \
  X(hipErrorInvalidHandle, 400, cudaErrorInvalidResourceHandle) \
  X(hipErrorIllegalState, 401, cudaErrorIllegalState) \
  X(hipErrorNotFound, 500, cudaErrorSymbolNotFound) \
  X(hipErrorNotReady, 600, cudaErrorNotReady) \
  X(hipErrorIllegalAddress, 700, cudaErrorIllegalAddress) \
  X(hipErrorLaunchOutOfResources, 701, cudaErrorLaunchOutOfResources) \
  X(hipErrorLaunchTimeOut, 702, cudaErrorLaunchTimeout) \
  X(hipErrorPeerAccessAlreadyEnabled, 704, cudaErrorPeerAccessAlreadyEnabled) \
  X(hipErrorPeerAccessNotEnabled, 705, cudaErrorPeerAccessNotEnabled) \
  X(hipErrorContextIsDestroyed, 709, cudaErrorContextIsDestroyed) \
  X(hipErrorAssert, 710, cudaErrorAssert) \
  X(hipErrorHostMemoryAlreadyRegistered, 712, cudaErrorHostMemoryAlreadyRegistered) \
  X(hipErrorHostMemoryNotRegistered, 713, cudaErrorHostMemoryNotRegistered) \
  X(hipErrorLaunchFailure, 719, cudaErrorLaunchFailure) \
  X(hipErrorCooperativeLaunchTooLarge, 720, cudaErrorCooperativeLaunchTooLarge) \
  X(hipErrorNotSupported, 801, cudaErrorNotSupported) \
  X(hipErrorStreamCaptureUnsupported, 900, cudaErrorStreamCaptureUnsupported) \
  X(hipErrorStreamCaptureInvalidated, 901, cudaErrorStreamCaptureInvalidated) \
  X(hipErrorStreamCaptureMerge, 902, cudaErrorStreamCaptureMerge) \
  X(hipErrorStreamCaptureUnmatched, 903, cudaErrorStreamCaptureUnmatched) \
  X(hipErrorStreamCaptureUnjoined, 904, cudaErrorStreamCaptureUnjoined) \
  X(hipErrorStreamCaptureIsolation, 905, cudaErrorStreamCaptureIsolation) \
  X(hipErrorStreamCaptureImplicit, 906, cudaErrorStreamCaptureImplicit) \
  X(hipErrorCapturedEvent, 907, cudaErrorCapturedEvent) \
  X(hipErrorStreamCaptureWrongThread, 908, cudaErrorStreamCaptureWrongThread) \
  X(hipErrorGraphExecUpdateFailure, 910, cudaErrorGraphExecUpdateFailure) \
  X(hipErrorUnknown, 999, cudaErrorUnknown)
// clang-format on

enum hipError_t : int {
#define X(hip, number, cuda) hip = number,
  MESHMEM_HIP_ERRORS(X)
#undef X
  // Second names of the same codes.
  hipErrorMemoryAllocation = hipErrorOutOfMemory,
  hipErrorInitializationError = hipErrorNotInitialized,
  hipErrorMapBufferObjectFailed = hipErrorMapFailed,
  hipErrorInvalidResourceHandle = hipErrorInvalidHandle,
};

namespace hip_on_cuda {
#define X(hip, number, cuda) static_assert(number == static_cast<int>(cuda), #hip " is not " #cuda);
MESHMEM_HIP_ERRORS(X)
#undef X

constexpr hipError_t to_hip(cudaError_t error) { return static_cast<hipError_t>(error); }
constexpr cudaError_t to_cuda(hipError_t error) { return static_cast<cudaError_t>(error); }
}  // namespace hip_on_cuda

inline const char* hipGetErrorName(hipError_t error) {
  switch (error) {
#define X(hip, number, cuda) \
  case hip:                  \
    return #hip;
    MESHMEM_HIP_ERRORS(X)
#undef X
  }
  return cudaGetErrorName(hip_on_cuda::to_cuda(error));
}
inline const char* hipGetErrorString(hipError_t error) {
  return cudaGetErrorString(hip_on_cuda::to_cuda(error));
}
inline hipError_t hipGetLastError() { return hip_on_cuda::to_hip(cudaGetLastError()); }
inline hipError_t hipPeekAtLastError() { return hip_on_cuda::to_hip(cudaPeekAtLastError()); }

#undef MESHMEM_HIP_ERRORS

#endif  // MESHMEM_HIP_ON_CUDA_HIP_ERRORS_H_
