// SPDX-License-Identifier: Apache-2.0
// See face.hpp. The runtime's own functions of these names have a prefix in this library
// (CMakeLists.txt), because rocm_face.cpp has those that programs call.
#include "face.hpp"

#include <cstdlib>
#include <string_view>

#include "devices.hpp"
#include "errors.hpp"
#include "hip/on_cpu/for_meshmem.h"
#include "module.hpp"

namespace amd_gpu {

int device_facts(int device, DeviceFacts& facts) {
  hipDeviceProp_t p;
  if (const hipError_t error = hipGetDeviceProperties(&p, device); error != hipSuccess)
    return error;
  facts = {.architecture = architecture().name.data(),
           .memory = p.totalGlobalMem,
           .shared_per_block = p.sharedMemPerBlock,
           .most_threads = p.maxThreadsPerBlock,
           .most_along = {p.maxThreadsDim[0], p.maxThreadsDim[1], p.maxThreadsDim[2]},
           .most_blocks = {p.maxGridSize[0], p.maxGridSize[1], p.maxGridSize[2]},
           .threads_per_processor = p.maxThreadsPerMultiProcessor,
           .processors = p.multiProcessorCount,
           .clock_kilohertz = p.clockRate,
           .pci_domain = p.pciDomainID,
           .pci_bus = p.pciBusID,
           .pci_device = p.pciDeviceID,
           .has_large_bar = hip_on_cpu::has_large_bar()};
  return hipSuccess;
}

int pointer_facts(const void* pointer, PointerFacts& facts) {
  hipPointerAttribute_t found;
  if (const hipError_t error = hipPointerGetAttributes(&found, pointer); error != hipSuccess)
    return error;
  facts = {found.type == hipMemoryTypeDevice, found.device, found.devicePointer, found.hostPointer,
           found.allocationFlags};
  return hipSuccess;
}

// MESHMEM_AMD_UNCACHED=no: no uncached memory, which ROCm before 5.7 and some GPUs do not have.
bool has_memory_with(unsigned flags) {
  const char* const text = std::getenv("MESHMEM_AMD_UNCACHED");
  return flags != hipDeviceMallocUncached || text == nullptr || std::string_view(text) != "no";
}

int kernel_facts(const void* function, KernelFacts& facts) {
  const Kernel* const kernel = find_kernel(function, hip_on_cpu::current_device());
  if (kernel == nullptr) return hipErrorInvalidDeviceFunction;
  facts = {kernel->descriptor.private_size, kernel->descriptor.group_size,
           static_cast<int>(kernel->most_threads), static_cast<int>(kernel->vector_registers)};
  return hipSuccess;
}

int remember_error(int error) { return hip_on_cpu::remember(static_cast<hipError_t>(error)); }

}  // namespace amd_gpu
