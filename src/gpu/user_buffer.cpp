// SPDX-License-Identifier: Apache-2.0
//
// Shares the program's own buffers with other PEs, and maps those of other PEs.
// Invariant: the device that the program has made current stays current.
#include "gpu/user_buffer.hpp"

#include "gpu/device_target.hpp"
#include "gpu/hip_error.hpp"

namespace meshmem {
namespace {

bool is_of(int device, const void* address) {
  hipPointerAttribute_t attributes{};
  return succeeds(hipPointerGetAttributes(&attributes, address)) && attributes.device == device;
}

// Maps the buffer of the PE with this index. Returns nullptr if it cannot be mapped.
std::byte* try_map(DeviceMemory& memory, const SharedRange& range, int index) {
  std::byte* copy = nullptr;
  const hipError_t error = memory.map(range, index, &copy);
  if (error == hipSuccess) return copy;
  debug("the buffer of PE {} cannot be mapped here: {}", memory.world_pe_of(index),
        hipGetErrorString(error));
  return nullptr;
}

}  // namespace

// Pinned host memory has a hostPointer. For memory of no device the query fails or gives a negative
// device. (devicePointer is for the device that is current in this thread, which may be another.)
bool is_device_memory(const void* address) {
  if constexpr (kDevicesAreProcessors) return false;
  hipPointerAttribute_t attributes{};
  const RelaxedCapture allowed;
  return succeeds(hipPointerGetAttributes(&attributes, address)) && attributes.device >= 0 &&
         !attributes.hostPointer;
}

Sharing share_user_buffer(const DeviceMemory& memory, void* address, std::size_t bytes,
                          SharedRange* out) {
  const OnDevice current(memory.device());
  if (!is_of(memory.device(), address)) return Sharing::unknown;
  const hipError_t error = share(address, bytes, out);
  if (succeeds(error)) return Sharing::possible;
  return error == hipErrorNotSupported ? Sharing::impossible : Sharing::unknown;
}

DeviceSegment map_user_buffers(DeviceMemory& memory, void* address, std::size_t bytes,
                               const std::vector<SharedRange>& ranges) {
  DeviceSegment segment;
  segment.base = reinterpret_cast<std::uintptr_t>(address);
  segment.bytes = bytes;
  segment.ranges = ranges;
  for (int index = 0; index < static_cast<int>(ranges.size()); ++index) {
    segment.mapped.push_back(index == memory.my_index()
                                 ? static_cast<std::byte*>(address)
                                 : try_map(memory, ranges[static_cast<std::size_t>(index)], index));
  }
  return segment;
}

}  // namespace meshmem
