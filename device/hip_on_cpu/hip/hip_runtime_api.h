// SPDX-License-Identifier: Apache-2.0
// HIP's host API on ordinary CPUs: devices, memory, IPC, streams, events, graphs. The names, values
// and error codes are HIP's (ROCm 6). A name that is not declared here does not compile.
// Invariant: a declaration's signature compiles wherever ROCm's does. hip_runtime.h adds the
// language of kernels. Included by host code of every kind; the functions live in
// libmeshmem_hip_cpu.
#pragma once

#include <cstddef>
#include <cstdint>

#include "hip/hip_version.h"

#pragma GCC visibility push(default)

// Errors
typedef enum hipError_t {
#define HIP_ON_CPU_ERROR(name, value, text) name = value,
#include "hip/on_cpu/errors.def"
#undef HIP_ON_CPU_ERROR
  hipErrorInvalidResourceHandle = hipErrorInvalidHandle,
  hipErrorMemoryAllocation = hipErrorOutOfMemory,
  hipErrorInitializationError = hipErrorNotInitialized,
} hipError_t;

// Shapes and handles
struct dim3 {
  std::uint32_t x, y, z;
  constexpr dim3(std::uint32_t width = 1, std::uint32_t height = 1, std::uint32_t depth = 1)
      : x(width), y(height), z(depth) {}
};

typedef struct ihipStream_t* hipStream_t;  // 0 is the default stream of the current device
typedef struct ihipEvent_t* hipEvent_t;
typedef struct ihipGraph* hipGraph_t;
typedef struct hipGraphExec* hipGraphExec_t;
typedef struct hipGraphNode* hipGraphNode_t;
typedef void* hipDeviceptr_t;
typedef int hipDevice_t;
typedef void (*hipHostFn_t)(void* user_data);

// Devices
typedef struct hipDeviceProp_t {
  char name[256];
  char gcnArchName[256];
  std::size_t totalGlobalMem;
  std::size_t sharedMemPerBlock;
  int warpSize;
  int maxThreadsPerBlock;
  int maxThreadsDim[3];
  int maxGridSize[3];
  int maxThreadsPerMultiProcessor;
  int multiProcessorCount;
  int major;
  int minor;
  int clockRate;  // kHz, of clock64()
  int cooperativeLaunch;
  int canMapHostMemory;
  int concurrentKernels;
  int pciDomainID;
  int pciBusID;
  int pciDeviceID;
} hipDeviceProp_t;

typedef enum hipDeviceAttribute_t {
  hipDeviceAttributeWarpSize,
  hipDeviceAttributeMaxThreadsPerBlock,
  hipDeviceAttributeMaxSharedMemoryPerBlock,
  hipDeviceAttributeMultiprocessorCount,
  hipDeviceAttributeClockRate,
  hipDeviceAttributeWallClockRate,  // kHz, of wall_clock64()
  hipDeviceAttributeCooperativeLaunch,
  hipDeviceAttributePciDomainID,
  hipDeviceAttributePciBusId,
  hipDeviceAttributePciDeviceId,
  hipDeviceAttributeManagedMemory,
  hipDeviceAttributeConcurrentManagedAccess,
  hipDeviceAttributeUnifiedAddressing,
  hipDeviceAttributeComputeCapabilityMajor,
  hipDeviceAttributeComputeCapabilityMinor,
  hipDeviceAttributeHdpMemFlushCntl,  // value points to a pointer, to a word to write to
} hipDeviceAttribute_t;

// Memory
typedef enum hipMemcpyKind {
  hipMemcpyHostToHost = 0,
  hipMemcpyHostToDevice = 1,
  hipMemcpyDeviceToHost = 2,
  hipMemcpyDeviceToDevice = 3,
  hipMemcpyDefault = 4,
} hipMemcpyKind;

typedef enum hipMemoryType {
  hipMemoryTypeUnregistered = 0,
  hipMemoryTypeHost = 1,
  hipMemoryTypeDevice = 2,
  hipMemoryTypeManaged = 3,
} hipMemoryType;

typedef struct hipPointerAttribute_t {
  union {
    hipMemoryType type;        // HIP 6
    hipMemoryType memoryType;  // HIP 5
  };
  int device;
  void* devicePointer;
  void* hostPointer;
  int isManaged;
  unsigned allocationFlags;
} hipPointerAttribute_t;

#define HIP_IPC_HANDLE_SIZE 64
typedef struct hipIpcMemHandle_st {
  char reserved[HIP_IPC_HANDLE_SIZE];
} hipIpcMemHandle_t;

#define hipDeviceMallocDefault 0x0
#define hipDeviceMallocFinegrained 0x1
#define hipDeviceMallocUncached 0x3
#define hipMemAttachGlobal 0x1
#define hipMemAttachHost 0x2
#define hipHostMallocDefault 0x0
#define hipHostMallocPortable 0x1
#define hipHostMallocMapped 0x2
#define hipHostMallocWriteCombined 0x4
#define hipHostMallocCoherent 0x40000000
#define hipHostMallocNonCoherent 0x80000000
#define hipHostRegisterDefault 0x0
#define hipHostRegisterPortable 0x1
#define hipHostRegisterMapped 0x2
#define hipIpcMemLazyEnablePeerAccess 0x1
#define hipStreamDefault 0x0
#define hipStreamNonBlocking 0x1
#define hipEventDefault 0x0
#define hipEventBlockingSync 0x1
#define hipEventDisableTiming 0x2
#define hipEventInterprocess 0x4  // hipErrorNotSupported here

// Streams, kernels
typedef enum hipStreamCaptureMode {
  hipStreamCaptureModeGlobal = 0,
  hipStreamCaptureModeThreadLocal = 1,
  hipStreamCaptureModeRelaxed = 2,
} hipStreamCaptureMode;

typedef enum hipStreamCaptureStatus {
  hipStreamCaptureStatusNone = 0,
  hipStreamCaptureStatusActive = 1,
  hipStreamCaptureStatusInvalidated = 2,
} hipStreamCaptureStatus;

typedef enum hipFuncAttribute {
  hipFuncAttributeMaxDynamicSharedMemorySize = 8,
  hipFuncAttributePreferredSharedMemoryCarveout = 9,
} hipFuncAttribute;

extern "C" {

const char* hipGetErrorName(hipError_t error);
const char* hipGetErrorString(hipError_t error);
hipError_t hipGetLastError(void);
hipError_t hipPeekAtLastError(void);

hipError_t hipInit(unsigned flags);
hipError_t hipGetDeviceCount(int* count);
hipError_t hipSetDevice(int device);
hipError_t hipGetDevice(int* device);
hipError_t hipGetDeviceProperties(hipDeviceProp_t* properties, int device);
hipError_t hipDeviceGetAttribute(int* value, hipDeviceAttribute_t attribute, int device);
hipError_t hipDeviceGetPCIBusId(char* text, int length, int device);
hipError_t hipDeviceSynchronize(void);
hipError_t hipDeviceCanAccessPeer(int* can, int device, int peer);
hipError_t hipDeviceEnablePeerAccess(int peer, unsigned flags);
hipError_t hipDeviceDisablePeerAccess(int peer);
hipError_t hipExtGetLinkTypeAndHopCount(int device, int peer, std::uint32_t* link,
                                        std::uint32_t* hops);
hipError_t hipMemGetInfo(std::size_t* available, std::size_t* total);
hipError_t hipDriverGetVersion(int* version);
hipError_t hipRuntimeGetVersion(int* version);

hipError_t hipMalloc(void** pointer, std::size_t size);
hipError_t hipExtMallocWithFlags(void** pointer, std::size_t size, unsigned flags);
// Memory of host and devices alike, freed by hipFree(). It cannot be shared with other processes.
hipError_t hipMallocManaged(void** pointer, std::size_t size, unsigned flags = hipMemAttachGlobal);
hipError_t hipFree(void* pointer);
// Both fail on a stream that is being captured. Memory from hipMallocAsync() can be used at once.
hipError_t hipMallocAsync(void** pointer, std::size_t size, hipStream_t stream);
hipError_t hipFreeAsync(void* pointer, hipStream_t stream);
hipError_t hipHostMalloc(void** pointer, std::size_t size, unsigned flags = hipHostMallocDefault);
hipError_t hipHostFree(void* pointer);
hipError_t hipHostRegister(void* pointer, std::size_t size, unsigned flags);
hipError_t hipHostUnregister(void* pointer);
hipError_t hipHostGetDevicePointer(void** device_pointer, void* host_pointer, unsigned flags);
hipError_t hipMemGetAddressRange(hipDeviceptr_t* base, std::size_t* size, hipDeviceptr_t pointer);
hipError_t hipPointerGetAttributes(hipPointerAttribute_t* attributes, const void* pointer);

hipError_t hipMemcpy(void* dest, const void* source, std::size_t size, hipMemcpyKind kind);
hipError_t hipMemcpyAsync(void* dest, const void* source, std::size_t size, hipMemcpyKind kind,
                          hipStream_t stream = nullptr);
hipError_t hipMemcpyPeer(void* dest, int dest_device, const void* source, int source_device,
                         std::size_t size);
hipError_t hipMemcpyPeerAsync(void* dest, int dest_device, const void* source, int source_device,
                              std::size_t size, hipStream_t stream = nullptr);
hipError_t hipMemcpy2D(void* dest, std::size_t dest_pitch, const void* source,
                       std::size_t source_pitch, std::size_t width, std::size_t height,
                       hipMemcpyKind kind);
hipError_t hipMemcpy2DAsync(void* dest, std::size_t dest_pitch, const void* source,
                            std::size_t source_pitch, std::size_t width, std::size_t height,
                            hipMemcpyKind kind, hipStream_t stream = nullptr);
hipError_t hipMemset(void* dest, int value, std::size_t size);
hipError_t hipMemsetAsync(void* dest, int value, std::size_t size, hipStream_t stream = nullptr);

hipError_t hipIpcGetMemHandle(hipIpcMemHandle_t* handle, void* base);
hipError_t hipIpcOpenMemHandle(void** pointer, hipIpcMemHandle_t handle, unsigned flags);
hipError_t hipIpcCloseMemHandle(void* pointer);

hipError_t hipStreamCreate(hipStream_t* stream);
hipError_t hipStreamCreateWithFlags(hipStream_t* stream, unsigned flags);
// The only priority is 0: a stream gets it whatever the caller asks for.
hipError_t hipDeviceGetStreamPriorityRange(int* least, int* greatest);
hipError_t hipStreamCreateWithPriority(hipStream_t* stream, unsigned flags, int priority);
hipError_t hipStreamGetPriority(hipStream_t stream, int* priority);
hipError_t hipStreamGetDevice(hipStream_t stream, hipDevice_t* device);
hipError_t hipStreamDestroy(hipStream_t stream);
hipError_t hipStreamSynchronize(hipStream_t stream);
hipError_t hipStreamQuery(hipStream_t stream);
hipError_t hipStreamWaitEvent(hipStream_t stream, hipEvent_t event, unsigned flags = 0);
hipError_t hipLaunchHostFunc(hipStream_t stream, hipHostFn_t function, void* user_data);

hipError_t hipEventCreate(hipEvent_t* event);
hipError_t hipEventCreateWithFlags(hipEvent_t* event, unsigned flags);
hipError_t hipEventRecord(hipEvent_t event, hipStream_t stream = nullptr);
hipError_t hipEventSynchronize(hipEvent_t event);
hipError_t hipEventQuery(hipEvent_t event);
hipError_t hipEventElapsedTime(float* milliseconds, hipEvent_t start, hipEvent_t stop);
hipError_t hipEventDestroy(hipEvent_t event);

hipError_t hipStreamBeginCapture(hipStream_t stream, hipStreamCaptureMode mode);
// Sets which captures forbid this thread calls that wait or allocate; `mode` gets the mode before.
hipError_t hipThreadExchangeStreamCaptureMode(hipStreamCaptureMode* mode);
hipError_t hipStreamEndCapture(hipStream_t stream, hipGraph_t* graph);
hipError_t hipStreamIsCapturing(hipStream_t stream, hipStreamCaptureStatus* status);
hipError_t hipGraphInstantiate(hipGraphExec_t* executable, hipGraph_t graph,
                               hipGraphNode_t* error_node, char* log, std::size_t log_size);
hipError_t hipGraphInstantiateWithFlags(hipGraphExec_t* executable, hipGraph_t graph,
                                        unsigned long long flags);
hipError_t hipGraphLaunch(hipGraphExec_t executable, hipStream_t stream);
hipError_t hipGraphDestroy(hipGraph_t graph);
hipError_t hipGraphExecDestroy(hipGraphExec_t executable);

hipError_t hipFuncSetAttribute(const void* kernel, hipFuncAttribute attribute, int value);

}  // extern "C"

namespace hip_on_cpu {
struct ThreadState;  // on_cpu/thread.h

// The library is loaded with the program, so that its thread-local words have fixed places: one
// load, no call.
extern __thread ThreadState* current_thread __attribute__((tls_model("initial-exec")));
inline bool in_kernel() { return current_thread != nullptr; }

// Ends the process with a line that names the kernel and the routine that it called.
[[noreturn]] void refuse_in_kernel(const char* routine);

// The first statement of a function for the host alone: for GPUs, a kernel that calls it does not
// compile.
inline void host_only(const char* routine = __builtin_FUNCTION()) {
  if (in_kernel()) refuse_in_kernel(routine);
}

// Memory that this process has mapped becomes memory of the device, until the process ends: no call
// frees or closes it.
hipError_t adopt_device_memory(void* base, std::size_t size, int device);

hipError_t copy_to_symbol(void* symbol, std::size_t symbol_size, const void* source,
                          std::size_t size, std::size_t offset, hipMemcpyKind kind);
hipError_t copy_from_symbol(void* dest, const void* symbol, std::size_t symbol_size,
                            std::size_t size, std::size_t offset, hipMemcpyKind kind);
}  // namespace hip_on_cpu

#pragma GCC visibility pop

// HIP's typed forms.
template <typename T>
inline hipError_t hipMalloc(T** pointer, std::size_t size) {
  return hipMalloc(reinterpret_cast<void**>(pointer), size);
}
template <typename T>
inline hipError_t hipMallocManaged(T** pointer, std::size_t size,
                                   unsigned flags = hipMemAttachGlobal) {
  return hipMallocManaged(reinterpret_cast<void**>(pointer), size, flags);
}
template <typename T>
inline hipError_t hipMallocAsync(T** pointer, std::size_t size, hipStream_t stream) {
  return hipMallocAsync(reinterpret_cast<void**>(pointer), size, stream);
}
template <typename T>
inline hipError_t hipHostMalloc(T** pointer, std::size_t size,
                                unsigned flags = hipHostMallocDefault) {
  return hipHostMalloc(reinterpret_cast<void**>(pointer), size, flags);
}

// A __device__ or __constant__ variable exists once in a process here: all of its devices share it.
#define HIP_SYMBOL(variable) variable
template <typename T>
inline hipError_t hipMemcpyToSymbol(const T& symbol, const void* source, std::size_t size,
                                    std::size_t offset = 0,
                                    hipMemcpyKind kind = hipMemcpyHostToDevice) {
  return hip_on_cpu::copy_to_symbol(const_cast<T*>(&symbol), sizeof(T), source, size, offset, kind);
}
template <typename T>
inline hipError_t hipMemcpyFromSymbol(void* dest, const T& symbol, std::size_t size,
                                      std::size_t offset = 0,
                                      hipMemcpyKind kind = hipMemcpyDeviceToHost) {
  return hip_on_cpu::copy_from_symbol(dest, &symbol, sizeof(T), size, offset, kind);
}
template <typename Kernel>
inline hipError_t hipFuncSetAttribute(Kernel* kernel, hipFuncAttribute attribute, int value) {
  return hipFuncSetAttribute(reinterpret_cast<const void*>(kernel), attribute, value);
}
