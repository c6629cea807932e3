// SPDX-License-Identifier: Apache-2.0
//
// The address map of this process, and the messages about addresses and PEs that are not in it.
// Invariant: only cold code here.
#include "memory/address_map.hpp"

#include <initializer_list>

#include "base/code_place.hpp"
#include "base/error.hpp"
#include "memory/failed_allocation.hpp"

namespace meshmem {

constinit AddressMap address_map;
constinit AddressMap direct_map;

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
  if (is_in(address, map.statics.base, map.statics.bytes)) {
    const std::string name = variable_at(address);
    return name.empty() ? offset_text(address, "static data", map.statics.base)
                        : fmt::format("{} ({})", address, name);
  }
  if (may_be_on_device(address)) {
    for (const DeviceSegment& segment : device_segments().all()) {
      if (is_in(address, segment.base, segment.bytes))
        return offset_text(address, "device memory", segment.base);
    }
  }
  return fmt::format("{}", address);
}

void refuse_pe(const AddressMap& map, int pe, const char* routine) {
  if (map.n_pes == 0)
    fatal("{}: called before shmem_init or after the last shmem_finalize", routine);
  fatal("{}: PE {} is not in 0..{}", routine, pe, map.n_pes - 1);
}

void refuse_address(const AddressMap& map, const void* address, std::size_t bytes,
                    const char* routine, const char* argument) {
  const std::string name = argument ? fmt::format("{}, ", argument) : "";
  const auto number = reinterpret_cast<std::uintptr_t>(address);
  if (const auto as_signed = static_cast<std::ptrdiff_t>(bytes); as_signed < 0)
    fatal("{}: {}{} bytes ({}?) at {}: a count that is negative, or more than any memory has",
          routine, name, bytes, as_signed, address);
  for (const Segment* segment : {&map.heap, &map.statics}) {
    const std::uintptr_t offset = number - segment->base;
    if (offset < segment->bytes) {
      fatal("{}: {}{} bytes at {} reach {} bytes past the end of the {}", routine, name, bytes,
            address, bytes - (segment->bytes - offset),
            segment == &map.heap ? "symmetric heap" : "program's static data");
    }
  }
  if (const auto past = device_segments().bytes_past_end(address, bytes)) {
    fatal("{}: {}{} bytes at {} reach {} bytes past the end of the {}", routine, name, bytes,
          address, *past, "device heap or registered buffer");
  }
  if (const auto earlier = failed_allocation_at(address))
    fatal("{}: {} is not a symmetric address: {}", routine, address, *earlier);
  fatal(
      "{}: {}{} is not a symmetric address: neither in a heap of shmem_malloc nor a global or "
      "static variable of the executable, nor in a buffer of shmemx_buffer_register",
      routine, name, address);
}

DevicePlace translate_on_device(const AddressMap& map, const void* address, std::size_t bytes,
                                int pe, const char* routine) {
  const auto place = device_segments().find(address, bytes, pe);
  if (!place) refuse_address(map, address, bytes, routine);
  if (!place->address) {
    fatal("{}: the device memory of PE {} cannot be reached from the device of PE {}", routine, pe,
          map.my_pe);
  }
  return *place;
}

}  // namespace meshmem
