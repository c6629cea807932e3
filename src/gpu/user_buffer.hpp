// SPDX-License-Identifier: Apache-2.0
//
// Lets the PEs of a node share device memory that the program itself has allocated.
// Invariant: if a driver refuses to share, that is an answer and not an error. All PEs then take
// the same decision. Called by the registration of buffers.
#ifndef MESHMEM_GPU_USER_BUFFER_HPP_
#define MESHMEM_GPU_USER_BUFFER_HPP_

#include <cstddef>
#include <vector>

#include "gpu/device_memory.hpp"

namespace meshmem {

// Whether the address is in memory of a device, allocated in any way, which the processor cannot
// read. False where devices are processors. Asks the driver.
bool is_device_memory(const void* address);

// Whether other processes can map a buffer. unknown: it does not belong to this device, or sharing
// has failed. impossible: the driver does not share it.
enum class Sharing { unknown, possible, impossible };
Sharing share_user_buffer(const DeviceMemory& memory, void* address, std::size_t bytes,
                          SharedRange* out);

// Maps the buffers of the PEs that share the arena, one range each by their index. The result has
// nullptr in `mapped` for those that cannot be mapped. DeviceMemory::unmap() undoes it.
DeviceSegment map_user_buffers(DeviceMemory& memory, void* address, std::size_t bytes,
                               const std::vector<SharedRange>& ranges);

}  // namespace meshmem

#endif  // MESHMEM_GPU_USER_BUFFER_HPP_
