// SPDX-License-Identifier: Apache-2.0
//
// By the ordered stream, which waits for no other stream and has a timeout; or by the processor,
// where that is the device.
#include "gpu/kernel_memory.hpp"

#include <cstring>

#include "gpu/device_target.hpp"
#include "gpu/device_transfer.hpp"

namespace meshmem {

void write_for_kernels(void* dest, const void* source, std::size_t bytes) {
  if constexpr (kDevicesAreProcessors) {
    std::memcpy(dest, source, bytes);
  } else {
    device_transfer().copy(dest, source, bytes, "the tables of kernels");
  }
}

void clear_for_kernels(void* memory, std::size_t bytes) {
  if constexpr (kDevicesAreProcessors) {
    std::memset(memory, 0, bytes);
  } else {
    device_transfer().clear(memory, bytes, "the tables of kernels");
  }
}

}  // namespace meshmem
