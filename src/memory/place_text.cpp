// SPDX-License-Identifier: Apache-2.0
//
// Looks for the segment that an address is in.
// Invariant: only reads. Called by waits that have lasted.
#include "memory/place_text.hpp"

#include <fmt/format.h>

namespace meshmem {
namespace {

std::string offset_text(const void* address, const char* name, std::uintptr_t base) {
  return fmt::format("{} ({} + 0x{:x})", address, name,
                     reinterpret_cast<std::uintptr_t>(address) - base);
}

bool is_in(const void* address, std::uintptr_t base, std::size_t bytes) {
  return reinterpret_cast<std::uintptr_t>(address) - base < bytes;
}

}  // namespace

std::string place_text(const AddressMap& map, const void* address) {
  if (is_in(address, map.heap.base, map.heap.bytes))
    return offset_text(address, "heap", map.heap.base);
  if (is_in(address, map.statics.base, map.statics.bytes))
    return offset_text(address, "static data", map.statics.base);
  if (may_be_on_device(address)) {
    for (const DeviceSegment& segment : device_segments().all()) {
      if (is_in(address, segment.base, segment.bytes))
        return offset_text(address, "device memory", segment.base);
    }
  }
  return fmt::format("{}", address);
}

}  // namespace meshmem
