// SPDX-License-Identifier: Apache-2.0
// The questions of rocm_face.cpp to the runtime, in words that both HIP's headers and those of
// hip_on_cpu know: one file cannot include both.
// Invariant: errors are HIP's numbers.
#pragma once

#include <cstddef>

namespace amd_gpu {

struct DeviceFacts {
  const char* architecture;  // as in gfx90a
  std::size_t memory, shared_per_block;
  int most_threads, most_along[3], most_blocks[3];
  int threads_per_processor, processors, clock_kilohertz, pci_domain, pci_bus, pci_device;
  bool has_large_bar;
};
int device_facts(int device, DeviceFacts& facts);

struct PointerFacts {
  bool is_on_device;
  int device;
  void *on_device, *on_host;
  unsigned flags;
};
int pointer_facts(const void* pointer, PointerFacts& facts);

// Whether memory of the device may have these flags.
bool has_memory_with(unsigned flags);

struct KernelFacts {
  std::size_t local, shared;
  int most_threads, registers;
};
int kernel_facts(const void* function, KernelFacts& facts);

int remember_error(int error);

}  // namespace amd_gpu
