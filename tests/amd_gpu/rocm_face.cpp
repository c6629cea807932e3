// SPDX-License-Identifier: Apache-2.0
// The functions whose structures and numbers are ROCm's own, which change from version to version:
// compiled with the headers that the programs are compiled with.
// Invariant: nothing is decided here; facts come through face.hpp.
#include <hip/hip_runtime_api.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "face.hpp"

// Errors are passed on as numbers, so they must be the same.
#define HIP_ON_CPU_ERROR(name, value, text) static_assert(name == (value));
#include "errors.def"
#undef HIP_ON_CPU_ERROR

extern "C" {
hipError_t on_cpu_hipIpcOpenMemHandle(void** pointer, hipIpcMemHandle_t handle, unsigned flags);
hipError_t on_cpu_hipExtMallocWithFlags(void** pointer, size_t size, unsigned flags);
}

namespace {

using namespace amd_gpu;

constexpr unsigned kLazyOnCpu = 1;  // hipIpcMemLazyEnablePeerAccess there

hipError_t finish(int error) { return static_cast<hipError_t>(remember_error(error)); }

void fill(hipDeviceProp_t& p, const DeviceFacts& facts) {
  p = {};
  std::snprintf(p.name, sizeof p.name, "meshmem emulated %s", facts.architecture);
  std::snprintf(p.gcnArchName, sizeof p.gcnArchName, "%s:sramecc+:xnack-", facts.architecture);
  p.totalGlobalMem = facts.memory;
  p.sharedMemPerBlock = p.maxSharedMemoryPerMultiProcessor = facts.shared_per_block;
  p.warpSize = 64;
  p.maxThreadsPerBlock = facts.most_threads;
  std::copy(std::begin(facts.most_along), std::end(facts.most_along), p.maxThreadsDim);
  std::copy(std::begin(facts.most_blocks), std::end(facts.most_blocks), p.maxGridSize);
  p.maxThreadsPerMultiProcessor = facts.threads_per_processor;
  p.multiProcessorCount = facts.processors;
  p.major = 9;
  p.clockRate = p.clockInstructionRate = facts.clock_kilohertz;
  p.cooperativeLaunch = p.canMapHostMemory = p.concurrentKernels = 1;
  p.pciDomainID = facts.pci_domain;
  p.pciBusID = facts.pci_bus;
  p.pciDeviceID = facts.pci_device;
  p.isLargeBar = facts.has_large_bar;
}

hipError_t attribute_of(const hipDeviceProp_t& p, hipDeviceAttribute_t attribute, int* value) {
  const std::pair<hipDeviceAttribute_t, int> known[] = {
      {hipDeviceAttributeWarpSize, p.warpSize},
      {hipDeviceAttributeMaxThreadsPerBlock, p.maxThreadsPerBlock},
      {hipDeviceAttributeMaxSharedMemoryPerBlock, static_cast<int>(p.sharedMemPerBlock)},
      {hipDeviceAttributeMultiprocessorCount, p.multiProcessorCount},
      {hipDeviceAttributeClockRate, p.clockRate},
      {hipDeviceAttributeCooperativeLaunch, p.cooperativeLaunch},
      {hipDeviceAttributePciDomainID, p.pciDomainID},
      {hipDeviceAttributePciBusId, p.pciBusID},
      {hipDeviceAttributePciDeviceId, p.pciDeviceID},
      {hipDeviceAttributeIsLargeBar, p.isLargeBar},
  };
  for (const auto& [name, found] : known) {
    if (name != attribute) continue;
    *value = found;
    return hipSuccess;
  }
  return hipErrorInvalidValue;
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

hipError_t hipGetDeviceProperties(hipDeviceProp_t* properties, int device) {
  if (properties == nullptr) return finish(hipErrorInvalidValue);
  DeviceFacts facts;
  if (const int error = device_facts(device, facts)) return static_cast<hipError_t>(error);
  fill(*properties, facts);
  return hipSuccess;
}

hipError_t hipDeviceGetAttribute(int* value, hipDeviceAttribute_t attribute, int device) {
  if (value == nullptr) return finish(hipErrorInvalidValue);
  DeviceFacts facts;
  if (const int error = device_facts(device, facts)) return static_cast<hipError_t>(error);
  hipDeviceProp_t properties;
  fill(properties, facts);
  return finish(attribute_of(properties, attribute, value));
}

hipError_t hipPointerGetAttributes(hipPointerAttribute_t* attributes, const void* pointer) {
  if (attributes == nullptr) return finish(hipErrorInvalidValue);
  PointerFacts facts;
  if (const int error = pointer_facts(pointer, facts)) return static_cast<hipError_t>(error);
  *attributes = {};
  const auto type = facts.is_on_device ? hipMemoryTypeDevice : hipMemoryTypeHost;
#if HIP_VERSION_MAJOR >= 6
  attributes->type = type;
#else
  attributes->memoryType = type;
#endif
  attributes->device = facts.device;
  attributes->devicePointer = facts.on_device;
  attributes->hostPointer = facts.on_host;
  attributes->allocationFlags = facts.flags;
  return hipSuccess;
}

hipError_t hipIpcOpenMemHandle(void** pointer, hipIpcMemHandle_t handle, unsigned flags) {
  if (flags != hipIpcMemLazyEnablePeerAccess) return finish(hipErrorInvalidValue);
  return on_cpu_hipIpcOpenMemHandle(pointer, handle, kLazyOnCpu);
}

hipError_t hipExtMallocWithFlags(void** pointer, size_t size, unsigned flags) {
  if (!has_memory_with(flags)) return finish(hipErrorInvalidValue);
  return on_cpu_hipExtMallocWithFlags(pointer, size, flags);
}

// All streams are equal here: a priority changes nothing.
hipError_t hipDeviceGetStreamPriorityRange(int* least, int* greatest) {
  if (least != nullptr) *least = 0;
  if (greatest != nullptr) *greatest = -1;
  return finish(hipSuccess);
}
hipError_t hipStreamCreateWithPriority(hipStream_t* stream, unsigned flags, int) {
  return hipStreamCreateWithFlags(stream, flags);
}

hipError_t hipFuncGetAttributes(hipFuncAttributes* attributes, const void* function) {
  if (attributes == nullptr) return finish(hipErrorInvalidValue);
  KernelFacts facts;
  if (const int error = kernel_facts(function, facts)) return finish(error);
  *attributes = {};
  attributes->localSizeBytes = facts.local;
  attributes->sharedSizeBytes = facts.shared;
  attributes->maxThreadsPerBlock = facts.most_threads;
  attributes->numRegs = facts.registers;
  return hipSuccess;
}

}  // extern "C"
#pragma GCC visibility pop
