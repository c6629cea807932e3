// SPDX-License-Identifier: Apache-2.0
// How many devices a process has, and which one a thread uses now.
// Invariant: the index alone identifies a device, so device i is the same one in all processes.
// Used by every API function that needs a device.
#pragma once

#include <cstddef>
#include <cstdint>

#include "hip/hip_runtime_api.h"

namespace hip_on_cpu {

inline constexpr int kMaxDevices = 64;
inline constexpr int kMaxThreadsPerBlock = 1024;
inline constexpr int kMaxThreadsDim[3] = {1024, 1024, 1024};
inline constexpr int kMaxGridSize[3] = {INT32_MAX, UINT16_MAX, UINT16_MAX};  // HIP's limits
inline constexpr std::size_t kSharedMemoryPerBlock = 64 * 1024;

int device_count();  // 0 if MESHMEM_CPU_DEVICES is invalid, which the first call reports
int current_device();
inline bool is_device(int device) { return device >= 0 && device < device_count(); }

// In bytes: a device's share of the machine's memory, and of the memory that is available now.
std::size_t device_memory_bytes();
std::size_t free_memory_of_device();

}  // namespace hip_on_cpu
