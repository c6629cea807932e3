// SPDX-License-Identifier: Apache-2.0
//
// <hip/hip_runtime_api.h> on NVIDIA GPUs: a part of HIP's host API, for meshmem and for programs of
// its users. Most calls are one call of the CUDA runtime (12 or 13).
// Invariant: a name has HIP's meaning. A call that CUDA cannot do returns hipErrorNotSupported, and
// a name that is not here does not compile. Any C++17 compiler takes it, not only nvcc. Included by
// src/, by device/ through hip_runtime.h, and by programs that are built for cuda.
#ifndef MESHMEM_HIP_ON_CUDA_HIP_RUNTIME_API_H_
#define MESHMEM_HIP_ON_CUDA_HIP_RUNTIME_API_H_

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "hip_errors.h"
#include "hip_version.h"

#if CUDART_VERSION < 12000
#error "meshmem: CUDA 12 or newer is needed"
#endif

// A call of HIP that means the same as one of CUDA: both names, the parameters, the arguments.
#define MESHMEM_HIP_CALL(hip, cuda, params, args) \
  inline hipError_t hip params { return hip_on_cuda::to_hip(cuda args); }

struct CUmod_st;  // of cuda.h, whose CUmodule points to it

using hipStream_t = cudaStream_t;
using hipEvent_t = cudaEvent_t;
using hipGraph_t = cudaGraph_t;
using hipGraphExec_t = cudaGraphExec_t;
using hipGraphNode_t = cudaGraphNode_t;
using hipIpcMemHandle_t = cudaIpcMemHandle_t;
using hipDeviceptr_t = void*;
using hipHostFn_t = void (*)(void*);
using hipModule_t = CUmod_st*;

// ---- Devices

struct hipDeviceProp_t {
  char name[256];
  char gcnArchName[256];  // such as sm_90
  std::size_t totalGlobalMem;
  std::size_t sharedMemPerBlock;
  int multiProcessorCount;
  int warpSize;
  int maxThreadsPerBlock;
  int major;
  int minor;
  int pciDomainID;
  int pciBusID;
  int pciDeviceID;
};

enum hipDeviceAttribute_t {
  hipDeviceAttributeMaxThreadsPerBlock = cudaDevAttrMaxThreadsPerBlock,
  hipDeviceAttributeMaxSharedMemoryPerBlock = cudaDevAttrMaxSharedMemoryPerBlock,
  hipDeviceAttributeWarpSize = cudaDevAttrWarpSize,
  hipDeviceAttributeMultiprocessorCount = cudaDevAttrMultiProcessorCount,
  hipDeviceAttributeMaxThreadsPerMultiProcessor = cudaDevAttrMaxThreadsPerMultiProcessor,
  hipDeviceAttributeComputeCapabilityMajor = cudaDevAttrComputeCapabilityMajor,
  hipDeviceAttributeComputeCapabilityMinor = cudaDevAttrComputeCapabilityMinor,
  hipDeviceAttributePciBusId = cudaDevAttrPciBusId,
  hipDeviceAttributePciDeviceId = cudaDevAttrPciDeviceId,
  hipDeviceAttributePciDomainID = cudaDevAttrPciDomainId,
  hipDeviceAttributeCooperativeLaunch = cudaDevAttrCooperativeLaunch,
  hipDeviceAttributeHostNativeAtomicSupported = cudaDevAttrHostNativeAtomicSupported,
  hipDeviceAttributeL2CacheSize = cudaDevAttrL2CacheSize,
  hipDeviceAttributeClockRate = cudaDevAttrClockRate,  // kHz
  hipDeviceAttributeWallClockRate = 10017,             // kHz, of wall_clock64()
};

inline hipError_t hipGetDeviceCount(int* count) {
  if (!count) return hipErrorInvalidValue;
  *count = 0;
  return hip_on_cuda::to_hip(cudaGetDeviceCount(count));
}
MESHMEM_HIP_CALL(hipSetDevice, cudaSetDevice, (int device), (device))
MESHMEM_HIP_CALL(hipGetDevice, cudaGetDevice, (int* device), (device))
MESHMEM_HIP_CALL(hipDeviceSynchronize, cudaDeviceSynchronize, (), ())

inline hipError_t hipGetDeviceProperties(hipDeviceProp_t* properties, int device) {
  if (!properties) return hipErrorInvalidValue;
  cudaDeviceProp found;
  const cudaError_t result = cudaGetDeviceProperties(&found, device);
  if (result != cudaSuccess) return hip_on_cuda::to_hip(result);
  *properties = {};
  std::memcpy(properties->name, found.name, sizeof properties->name);
  std::memcpy(properties->gcnArchName, "sm_", 3);
  char* digit = properties->gcnArchName + 3;
  if (found.major >= 10) *digit++ = static_cast<char>('0' + found.major / 10);
  *digit++ = static_cast<char>('0' + found.major % 10);
  *digit = static_cast<char>('0' + found.minor);
  properties->totalGlobalMem = found.totalGlobalMem;
  properties->sharedMemPerBlock = found.sharedMemPerBlock;
  properties->multiProcessorCount = found.multiProcessorCount;
  properties->warpSize = found.warpSize;
  properties->maxThreadsPerBlock = found.maxThreadsPerBlock;
  properties->major = found.major;
  properties->minor = found.minor;
  properties->pciDomainID = found.pciDomainID;
  properties->pciBusID = found.pciBusID;
  properties->pciDeviceID = found.pciDeviceID;
  return hipSuccess;
}
inline hipError_t hipDeviceGetAttribute(int* value, hipDeviceAttribute_t attribute, int device) {
  if (attribute == hipDeviceAttributeWallClockRate) {
    *value = 1000000;  // %globaltimer counts nanoseconds
    return hipSuccess;
  }
  return hip_on_cuda::to_hip(
      cudaDeviceGetAttribute(value, static_cast<cudaDeviceAttr>(attribute), device));
}
MESHMEM_HIP_CALL(hipDeviceGetPCIBusId, cudaDeviceGetPCIBusId, (char* id, int bytes, int device),
                 (id, bytes, device))
MESHMEM_HIP_CALL(hipMemGetInfo, cudaMemGetInfo,
                 (std::size_t * free_bytes, std::size_t* total_bytes), (free_bytes, total_bytes))
MESHMEM_HIP_CALL(hipDriverGetVersion, cudaDriverGetVersion, (int* version), (version))
MESHMEM_HIP_CALL(hipRuntimeGetVersion, cudaRuntimeGetVersion, (int* version), (version))

MESHMEM_HIP_CALL(hipDeviceCanAccessPeer, cudaDeviceCanAccessPeer, (int* can, int device, int peer),
                 (can, device, peer))
MESHMEM_HIP_CALL(hipDeviceEnablePeerAccess, cudaDeviceEnablePeerAccess, (int peer, unsigned flags),
                 (peer, flags))
MESHMEM_HIP_CALL(hipDeviceDisablePeerAccess, cudaDeviceDisablePeerAccess, (int peer), (peer))
// `link` gets HSA's number: 4 for the GPUs' own links, NVLink here, and 2 for PCI Express. Only
// NVLink carries all atomics, so these tell the two apart.
inline hipError_t hipExtGetLinkTypeAndHopCount(int device, int peer, std::uint32_t* link,
                                               std::uint32_t* hops) {
  if (device == peer) return hipErrorInvalidValue;
  int atomics = 0;
  const cudaError_t result =
      cudaDeviceGetP2PAttribute(&atomics, cudaDevP2PAttrNativeAtomicSupported, device, peer);
  if (result != cudaSuccess) return hip_on_cuda::to_hip(result);
  *link = atomics ? 4 : 2;
  *hops = atomics ? 1 : 2;
  return hipSuccess;
}

// ---- Memory

using hipMemcpyKind = cudaMemcpyKind;
constexpr auto hipMemcpyHostToHost = cudaMemcpyHostToHost;
constexpr auto hipMemcpyHostToDevice = cudaMemcpyHostToDevice;
constexpr auto hipMemcpyDeviceToHost = cudaMemcpyDeviceToHost;
constexpr auto hipMemcpyDeviceToDevice = cudaMemcpyDeviceToDevice;
constexpr auto hipMemcpyDefault = cudaMemcpyDefault;

using hipMemoryType = cudaMemoryType;
constexpr auto hipMemoryTypeUnregistered = cudaMemoryTypeUnregistered;
constexpr auto hipMemoryTypeHost = cudaMemoryTypeHost;
constexpr auto hipMemoryTypeDevice = cudaMemoryTypeDevice;
constexpr auto hipMemoryTypeManaged = cudaMemoryTypeManaged;

struct hipPointerAttribute_t {
  union {
    hipMemoryType type;
    hipMemoryType memoryType;  // its name in HIP 5
  };
  int device;
  void* devicePointer;
  void* hostPointer;
  int isManaged;
  unsigned allocationFlags;
};

// Macros, as in HIP: programs test with #ifdef whether the version has them.
#define hipDeviceMallocDefault 0x0
#define hipDeviceMallocFinegrained 0x1
#define hipDeviceMallocUncached 0x3

enum : unsigned {
  hipHostMallocDefault = cudaHostAllocDefault,
  hipHostMallocPortable = cudaHostAllocPortable,
  hipHostMallocMapped = cudaHostAllocMapped,
  hipHostMallocWriteCombined = cudaHostAllocWriteCombined,
  hipHostMallocCoherent = 0x40000000,

  hipMemAttachGlobal = cudaMemAttachGlobal,
  hipMemAttachHost = cudaMemAttachHost,

  hipHostRegisterDefault = cudaHostRegisterDefault,
  hipHostRegisterPortable = cudaHostRegisterPortable,
  hipHostRegisterMapped = cudaHostRegisterMapped,

  hipIpcMemLazyEnablePeerAccess = cudaIpcMemLazyEnablePeerAccess,
};

MESHMEM_HIP_CALL(hipMalloc, cudaMalloc, (void** memory, std::size_t bytes), (memory, bytes))
template <typename T>
hipError_t hipMalloc(T** memory, std::size_t bytes) {
  return hipMalloc(reinterpret_cast<void**>(memory), bytes);
}
inline hipError_t hipMallocManaged(void** memory, std::size_t bytes,
                                   unsigned flags = hipMemAttachGlobal) {
  if (flags != hipMemAttachGlobal && flags != hipMemAttachHost) return hipErrorInvalidValue;
  return hip_on_cuda::to_hip(cudaMallocManaged(memory, bytes, flags));
}
template <typename T>
hipError_t hipMallocManaged(T** memory, std::size_t bytes, unsigned flags = hipMemAttachGlobal) {
  return hipMallocManaged(reinterpret_cast<void**>(memory), bytes, flags);
}
MESHMEM_HIP_CALL(hipMallocAsync, cudaMallocAsync,
                 (void** memory, std::size_t bytes, hipStream_t stream), (memory, bytes, stream))
template <typename T>
hipError_t hipMallocAsync(T** memory, std::size_t bytes, hipStream_t stream) {
  return hipMallocAsync(reinterpret_cast<void**>(memory), bytes, stream);
}
MESHMEM_HIP_CALL(hipFreeAsync, cudaFreeAsync, (void* memory, hipStream_t stream), (memory, stream))
MESHMEM_HIP_CALL(hipFree, cudaFree, (void* memory), (memory))

// CUDA has one kind of device memory, which is coherent under operations of system scope.
inline hipError_t hipExtMallocWithFlags(void** memory, std::size_t bytes, unsigned flags) {
  const bool known = flags == hipDeviceMallocDefault || flags == hipDeviceMallocFinegrained ||
                     flags == hipDeviceMallocUncached;
  if (known) return hipMalloc(memory, bytes);
  constexpr unsigned kSignalMemory = 0x2, kContiguous = 0x4;  // HIP's; CUDA has no such memory
  return flags == kSignalMemory || flags == kContiguous ? hipErrorNotSupported
                                                        : hipErrorInvalidValue;
}

// Pinned memory of CUDA is always coherent, and within reach of all devices.
inline hipError_t hipHostMalloc(void** memory, std::size_t bytes, unsigned flags = 0) {
  flags &= ~hipHostMallocCoherent;
  const unsigned known = hipHostMallocPortable | hipHostMallocMapped | hipHostMallocWriteCombined;
  if (flags & ~known) return hipErrorNotSupported;
  return hip_on_cuda::to_hip(cudaHostAlloc(memory, bytes, flags));
}
template <typename T>
hipError_t hipHostMalloc(T** memory, std::size_t bytes, unsigned flags = 0) {
  return hipHostMalloc(reinterpret_cast<void**>(memory), bytes, flags);
}
MESHMEM_HIP_CALL(hipHostFree, cudaFreeHost, (void* memory), (memory))
// Refuses all other flags: in CUDA they have another meaning than in HIP, or none.
inline hipError_t hipHostRegister(void* memory, std::size_t bytes, unsigned flags) {
  if (flags & ~(hipHostRegisterPortable | hipHostRegisterMapped)) return hipErrorNotSupported;
  return hip_on_cuda::to_hip(cudaHostRegister(memory, bytes, flags));
}
MESHMEM_HIP_CALL(hipHostUnregister, cudaHostUnregister, (void* memory), (memory))
MESHMEM_HIP_CALL(hipHostGetDevicePointer, cudaHostGetDevicePointer,
                 (void** on_device, void* on_host, unsigned flags), (on_device, on_host, flags))

namespace hip_on_cuda {

// Waits for a copy or memset. HIP's synchronous ones have ended when they return. CUDA's copies
// have read pageable memory by then, but other streams and processes may not see the copy yet.
inline hipError_t finish(cudaError_t error) {
  return to_hip(error == cudaSuccess ? cudaStreamSynchronize(nullptr) : error);
}

}  // namespace hip_on_cuda

inline hipError_t hipMemcpy(void* dest, const void* source, std::size_t bytes, hipMemcpyKind kind) {
  return hip_on_cuda::finish(cudaMemcpy(dest, source, bytes, kind));
}
MESHMEM_HIP_CALL(hipMemcpyAsync, cudaMemcpyAsync,
                 (void* dest, const void* source, std::size_t bytes, hipMemcpyKind kind,
                  hipStream_t stream = nullptr),
                 (dest, source, bytes, kind, stream))
inline hipError_t hipMemcpyPeer(void* dest, int dest_device, const void* source, int source_device,
                                std::size_t bytes) {
  return hip_on_cuda::finish(cudaMemcpyPeer(dest, dest_device, source, source_device, bytes));
}
MESHMEM_HIP_CALL(hipMemcpyPeerAsync, cudaMemcpyPeerAsync,
                 (void* dest, int dest_device, const void* source, int source_device,
                  std::size_t bytes, hipStream_t stream = nullptr),
                 (dest, dest_device, source, source_device, bytes, stream))
inline hipError_t hipMemcpy2D(void* dest, std::size_t dest_pitch, const void* source,
                              std::size_t source_pitch, std::size_t width, std::size_t height,
                              hipMemcpyKind kind) {
  return hip_on_cuda::finish(
      cudaMemcpy2D(dest, dest_pitch, source, source_pitch, width, height, kind));
}
MESHMEM_HIP_CALL(hipMemcpy2DAsync, cudaMemcpy2DAsync,
                 (void* dest, std::size_t dest_pitch, const void* source, std::size_t source_pitch,
                  std::size_t width, std::size_t height, hipMemcpyKind kind,
                  hipStream_t stream = nullptr),
                 (dest, dest_pitch, source, source_pitch, width, height, kind, stream))
inline hipError_t hipMemset(void* memory, int value, std::size_t bytes) {
  return hip_on_cuda::finish(cudaMemset(memory, value, bytes));
}
MESHMEM_HIP_CALL(hipMemsetAsync, cudaMemsetAsync,
                 (void* memory, int value, std::size_t bytes, hipStream_t stream = nullptr),
                 (memory, value, bytes, stream))

inline hipError_t hipPointerGetAttributes(hipPointerAttribute_t* attributes, const void* pointer) {
  if (!attributes) return hipErrorInvalidValue;
  cudaPointerAttributes found;
  const cudaError_t result = cudaPointerGetAttributes(&found, pointer);
  if (result != cudaSuccess) return hip_on_cuda::to_hip(result);
  *attributes = {};
  attributes->type = found.type;
  attributes->device = found.device;
  attributes->devicePointer = found.devicePointer;
  attributes->hostPointer = found.hostPointer;
  attributes->isManaged = found.type == cudaMemoryTypeManaged;
  return hipSuccess;
}

namespace hip_on_cuda {
// Finds at run time a function that the CUDA runtime lacks: libcuda.so is not on every machine that
// links. The driver's error codes are the runtime's.
template <typename Function>
cudaError_t find_in_driver(const char* name, Function* function) {
  cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
  void* address = nullptr;
#if CUDART_VERSION >= 12050
  const cudaError_t result =
      cudaGetDriverEntryPointByVersion(name, &address, 12000, cudaEnableDefault, &found);
#else
  const cudaError_t result = cudaGetDriverEntryPoint(name, &address, cudaEnableDefault, &found);
#endif
  if (result != cudaSuccess) return result;
  *function = reinterpret_cast<Function>(address);
  return found == cudaDriverEntryPointSuccess ? cudaSuccess : cudaErrorSymbolNotFound;
}
// Calls the driver's function `name`, which finds the range of addresses of `subject`.
template <typename... Subject>
hipError_t find_range(const char* name, hipDeviceptr_t* base, std::size_t* bytes,
                      Subject... subject) {
  cudaError_t (*function)(unsigned long long*, std::size_t*, Subject...) = nullptr;
  const cudaError_t found = find_in_driver(name, &function);
  if (found != cudaSuccess) return to_hip(found);
  unsigned long long start = 0;
  const cudaError_t result = function(&start, bytes, subject...);
  if (base) *base = reinterpret_cast<void*>(static_cast<std::uintptr_t>(start));
  return to_hip(result);
}
}  // namespace hip_on_cuda

inline hipError_t hipMemGetAddressRange(hipDeviceptr_t* base, std::size_t* bytes,
                                        hipDeviceptr_t pointer) {
  const unsigned long long address = reinterpret_cast<std::uintptr_t>(pointer);
  return hip_on_cuda::find_range("cuMemGetAddressRange", base, bytes, address);
}
// Programs load the module by the driver's calls (cuModuleLoad).
inline hipError_t hipModuleGetGlobal(hipDeviceptr_t* place, std::size_t* bytes, hipModule_t module,
                                     const char* name) {
  return hip_on_cuda::find_range("cuModuleGetGlobal", place, bytes, module, name);
}

MESHMEM_HIP_CALL(hipIpcGetMemHandle, cudaIpcGetMemHandle,
                 (hipIpcMemHandle_t * handle, void* memory), (handle, memory))
MESHMEM_HIP_CALL(hipIpcOpenMemHandle, cudaIpcOpenMemHandle,
                 (void** memory, hipIpcMemHandle_t handle, unsigned flags), (memory, handle, flags))
MESHMEM_HIP_CALL(hipIpcCloseMemHandle, cudaIpcCloseMemHandle, (void* memory), (memory))

#include "hip_streams.h"

#undef MESHMEM_HIP_CALL

#endif  // MESHMEM_HIP_ON_CUDA_HIP_RUNTIME_API_H_
