// SPDX-License-Identifier: Apache-2.0
//
// <cuda.h> on ordinary CPUs: the part of CUDA's driver interface that programs of SHMEM libraries
// use. Invariant: calls that processors cannot serve (modules, mapping of physical memory) return
// CUDA_ERROR_NOT_SUPPORTED, as a driver does for a feature that its device lacks. Other names do
// not compile.
#pragma once

#include <cstdio>

#include "cuda_runtime_api.h"

#define CUDA_VERSION CUDART_VERSION

typedef hipError_t CUresult;
#define CUDA_SUCCESS hipSuccess
#define CUDA_ERROR_INVALID_VALUE hipErrorInvalidValue
#define CUDA_ERROR_OUT_OF_MEMORY hipErrorOutOfMemory
#define CUDA_ERROR_NOT_INITIALIZED hipErrorNotInitialized
#define CUDA_ERROR_INVALID_DEVICE hipErrorInvalidDevice
#define CUDA_ERROR_INVALID_CONTEXT hipErrorInvalidContext
#define CUDA_ERROR_INVALID_HANDLE hipErrorInvalidHandle
#define CUDA_ERROR_NOT_FOUND hipErrorNotFound
#define CUDA_ERROR_NOT_READY hipErrorNotReady
#define CUDA_ERROR_NOT_SUPPORTED hipErrorNotSupported
#define CUDA_ERROR_UNKNOWN hipErrorUnknown

typedef hipDevice_t CUdevice;
typedef hipStream_t CUstream;
typedef hipEvent_t CUevent;
typedef unsigned long long CUdeviceptr;
typedef struct CUctx_st* CUcontext;  // the context of device i is the number i + 1
typedef struct CUmod_st* CUmodule;
typedef struct CUfunc_st* CUfunction;
typedef unsigned long long CUmemGenericAllocationHandle;

typedef hipDeviceAttribute_t CUdevice_attribute;
#define CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK hipDeviceAttributeMaxThreadsPerBlock
#define CU_DEVICE_ATTRIBUTE_WARP_SIZE hipDeviceAttributeWarpSize
#define CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT hipDeviceAttributeMultiprocessorCount
#define CU_DEVICE_ATTRIBUTE_PCI_BUS_ID hipDeviceAttributePciBusId
#define CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID hipDeviceAttributePciDeviceId
#define CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING hipDeviceAttributeUnifiedAddressing
#define CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID hipDeviceAttributePciDomainID
#define CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH hipDeviceAttributeCooperativeLaunch

typedef enum CUmemLocationType_enum { CU_MEM_LOCATION_TYPE_DEVICE = 1 } CUmemLocationType;
typedef enum CUmemAllocationType_enum { CU_MEM_ALLOCATION_TYPE_PINNED = 1 } CUmemAllocationType;
typedef enum CUmemAllocationHandleType_enum {
  CU_MEM_HANDLE_TYPE_NONE = 0,
  CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR = 1
} CUmemAllocationHandleType;
typedef enum CUmemAccess_flags_enum {
  CU_MEM_ACCESS_FLAGS_PROT_READ = 1,
  CU_MEM_ACCESS_FLAGS_PROT_READWRITE = 3
} CUmemAccess_flags;
typedef enum CUmemAllocationGranularity_flags_enum {
  CU_MEM_ALLOC_GRANULARITY_MINIMUM = 0,
  CU_MEM_ALLOC_GRANULARITY_RECOMMENDED = 1
} CUmemAllocationGranularity_flags;
typedef struct CUmemLocation_st {
  CUmemLocationType type;
  int id;
} CUmemLocation;
typedef struct CUmemAllocationProp_st {
  CUmemAllocationType type;
  CUmemAllocationHandleType requestedHandleTypes;
  CUmemLocation location;
  void* win32HandleMetaData;
  struct {
    unsigned char compressionType;
    unsigned char gpuDirectRDMACapable;
    unsigned short usage;
    unsigned char reserved[4];
  } allocFlags;
} CUmemAllocationProp;
typedef struct CUmemAccessDesc_st {
  CUmemLocation location;
  CUmemAccess_flags flags;
} CUmemAccessDesc;

inline CUresult cuGetErrorString(CUresult error, const char** text) {
  *text = hipGetErrorString(error);
  return CUDA_SUCCESS;
}
inline CUresult cuGetErrorName(CUresult error, const char** name) {
  *name = hipGetErrorName(error);
  return CUDA_SUCCESS;
}

// ---- Devices and their contexts

inline CUresult cuInit(unsigned flags) { return hipInit(flags); }
inline CUresult cuDriverGetVersion(int* version) { return cudaDriverGetVersion(version); }
inline CUresult cuDeviceGetCount(int* count) { return hipGetDeviceCount(count); }
inline CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  int count = 0;
  if (const CUresult error = hipGetDeviceCount(&count)) return error;
  if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (ordinal < 0 || ordinal >= count) return CUDA_ERROR_INVALID_DEVICE;
  *device = ordinal;
  return CUDA_SUCCESS;
}
inline CUresult cuDeviceGetName(char* name, int bytes, CUdevice device) {
  hipDeviceProp_t properties;
  if (const CUresult error = hipGetDeviceProperties(&properties, device)) return error;
  snprintf(name, static_cast<std::size_t>(bytes), "%s", properties.name);
  return CUDA_SUCCESS;
}
inline CUresult cuDeviceTotalMem(std::size_t* bytes, CUdevice device) {
  hipDeviceProp_t properties;
  if (const CUresult error = hipGetDeviceProperties(&properties, device)) return error;
  *bytes = properties.totalGlobalMem;
  return CUDA_SUCCESS;
}
inline CUresult cuDeviceGetPCIBusId(char* text, int bytes, CUdevice device) {
  return hipDeviceGetPCIBusId(text, bytes, device);
}
inline CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice device) {
  return hipDeviceGetAttribute(value, attribute, device);
}
inline CUcontext cuda_on_cpu_context_of(CUdevice device) {
  return reinterpret_cast<CUcontext>(static_cast<std::uintptr_t>(device) + 1);
}
inline CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  *context = cuda_on_cpu_context_of(device);
  return CUDA_SUCCESS;
}
inline CUresult cuDevicePrimaryCtxRelease(CUdevice) { return CUDA_SUCCESS; }
inline CUresult cuCtxGetCurrent(CUcontext* context) {
  int device = 0;
  if (const CUresult error = hipGetDevice(&device)) return error;
  *context = cuda_on_cpu_context_of(device);
  return CUDA_SUCCESS;
}
inline CUresult cuCtxSetCurrent(CUcontext context) {
  if (context == nullptr) return CUDA_ERROR_NOT_SUPPORTED;
  return hipSetDevice(static_cast<int>(reinterpret_cast<std::uintptr_t>(context) - 1));
}
inline CUresult cuCtxGetDevice(CUdevice* device) { return hipGetDevice(device); }
inline CUresult cuCtxSynchronize() { return hipDeviceSynchronize(); }

// ---- Memory and streams

inline CUresult cuMemAlloc(CUdeviceptr* pointer, std::size_t bytes) {
  void* block = nullptr;
  const CUresult error = hipMalloc(&block, bytes);
  *pointer = reinterpret_cast<CUdeviceptr>(block);
  return error;
}
inline CUresult cuMemFree(CUdeviceptr pointer) { return hipFree(reinterpret_cast<void*>(pointer)); }
inline CUresult cuStreamSynchronize(CUstream stream) { return hipStreamSynchronize(stream); }
inline CUresult cuStreamQuery(CUstream stream) { return hipStreamQuery(stream); }

// ---- Calls that processors cannot serve

#define CUDA_ON_CPU_LACKS(name, ...) \
  inline CUresult name(__VA_ARGS__) { return CUDA_ERROR_NOT_SUPPORTED; }
CUDA_ON_CPU_LACKS(cuModuleLoad, CUmodule*, const char*)
CUDA_ON_CPU_LACKS(cuModuleLoadData, CUmodule*, const void*)
CUDA_ON_CPU_LACKS(cuModuleUnload, CUmodule)
CUDA_ON_CPU_LACKS(cuModuleGetFunction, CUfunction*, CUmodule, const char*)
CUDA_ON_CPU_LACKS(cuLaunchKernel, CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned,
                  unsigned, unsigned, CUstream, void**, void**)
CUDA_ON_CPU_LACKS(cuLaunchCooperativeKernel, CUfunction, unsigned, unsigned, unsigned, unsigned,
                  unsigned, unsigned, unsigned, CUstream, void**)
CUDA_ON_CPU_LACKS(cuMemCreate, CUmemGenericAllocationHandle*, std::size_t,
                  const CUmemAllocationProp*, unsigned long long)
CUDA_ON_CPU_LACKS(cuMemRelease, CUmemGenericAllocationHandle)
CUDA_ON_CPU_LACKS(cuMemRetainAllocationHandle, CUmemGenericAllocationHandle*, void*)
CUDA_ON_CPU_LACKS(cuMemAddressReserve, CUdeviceptr*, std::size_t, std::size_t, CUdeviceptr,
                  unsigned long long)
CUDA_ON_CPU_LACKS(cuMemAddressFree, CUdeviceptr, std::size_t)
CUDA_ON_CPU_LACKS(cuMemMap, CUdeviceptr, std::size_t, std::size_t, CUmemGenericAllocationHandle,
                  unsigned long long)
CUDA_ON_CPU_LACKS(cuMemUnmap, CUdeviceptr, std::size_t)
CUDA_ON_CPU_LACKS(cuMemSetAccess, CUdeviceptr, std::size_t, const CUmemAccessDesc*, std::size_t)
CUDA_ON_CPU_LACKS(cuMemGetAllocationGranularity, std::size_t*, const CUmemAllocationProp*,
                  CUmemAllocationGranularity_flags)
#undef CUDA_ON_CPU_LACKS
