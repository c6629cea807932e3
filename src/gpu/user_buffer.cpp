// SPDX-License-Identifier: Apache-2.0
//
// Buffers of the program's own, given to other PEs and taken from them.
// Invariant: the device that the program has made current stays current.
#include "gpu/user_buffer.hpp"

#include "gpu/hip_error.hpp"

namespace meshmem {
namespace {

bool is_of(int device, const void* address) {
  hipPointerAttribute_t attributes{};
  return succeeds(hipPointerGetAttributes(&attributes, address)) && attributes.device == device;
}

// The copy of PE `pe`, mapped here; nullptr where that cannot be.
std::byte* try_map(DeviceMemory& memory, const SharedRange& range, int pe) {
  std::byte* copy = nullptr;
  const hipError_t error = memory.map(range, pe, &copy);
  if (error == hipSuccess) return copy;
  debug("the buffer of PE {} cannot be mapped here: {}", pe, hipGetErrorString(error));
  return nullptr;
}

}  // namespace

Sharing share_user_buffer(const DeviceMemory& memory, void* address, std::size_t bytes,
                          SharedRange* out) {
  const OnDevice current(memory.device());
  if (!is_of(memory.device(), address)) return Sharing::unknown;
  const hipError_t error = share(address, bytes, out);
  if (succeeds(error)) return Sharing::possible;
  return error == hipErrorNotSupported ? Sharing::impossible : Sharing::unknown;
}

DeviceSegment map_user_buffers(DeviceMemory& memory, int me, void* address, std::size_t bytes,
                               const std::vector<SharedRange>& ranges) {
  DeviceSegment segment{.base = reinterpret_cast<std::uintptr_t>(address),
                        .bytes = bytes,
                        .copies = {},
                        .route_of = memory.route_of(),
                        .ranges = ranges,
                        .all_for_kernels = false};
  for (int pe = 0; pe < static_cast<int>(ranges.size()); ++pe) {
    segment.copies.push_back(pe == me ? static_cast<std::byte*>(address)
                                      : try_map(memory, ranges[static_cast<std::size_t>(pe)], pe));
  }
  return segment;
}

}  // namespace meshmem
