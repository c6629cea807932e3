// SPDX-License-Identifier: Apache-2.0
//
// The symmetric device memory of this PE: the device heap, and buffers that the program has
// registered.
// Invariant: a segment's number stays as long as it lives; everything is under a mutex, which costs
// little beside what a copy to or from a device does. Asked if an address is in no host segment.
#ifndef MESHMEM_GPU_DEVICE_SEGMENTS_HPP_
#define MESHMEM_GPU_DEVICE_SEGMENTS_HPP_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "gpu/shared_range.hpp"

namespace meshmem {

// How the device memory of a PE is reached, all of it in one way.
struct DeviceRoute {
  DeviceRoute() = default;
  DeviceRoute(int number, bool reached)
      : device(static_cast<std::int16_t>(number)), for_kernels(reached) {}

  // The device, numbered as in this process, whose kernels and copies may use the addresses. It is
  // not this PE's own if the two devices cannot reach each other. A short type, since there is a
  // route to each PE.
  std::int16_t device = 0;
  bool for_kernels = false;  // whether kernels of this PE's own device reach the memory
};

// A place in a PE's memory, as this PE reaches it.
struct DevicePlace {
  std::byte* address = nullptr;
  int device = 0;  // both as in DeviceRoute
  bool for_kernels = false;
};

struct DeviceSegment {
  std::uintptr_t base = 0;
  std::size_t bytes = 0;
  std::vector<std::byte*> copies;         // by world PE; null: far, or not mapped
  const DeviceRoute* route_of = nullptr;  // by world PE; they outlive the segment
  // By index among the PEs that share the arena. Empty where the index is the world PE.
  std::vector<std::byte*> mapped;
  std::vector<SharedRange> ranges;  // the same, of registered buffers: what was mapped
  // Whether the kernels of every PE reach the copies of all PEs of the node, so that they can run a
  // collective on the segment.
  bool all_for_kernels = false;
  int number = 0;  // the same on all PEs; the heap has 0

  // Not less than `bytes` for an address that is not in the segment.
  std::size_t offset_of(const void* address) const {
    return reinterpret_cast<std::uintptr_t>(address) - base;
  }
};

// Memory of device segments as the transport names it: by a segment's number and an offset in it.
struct DeviceOffset {
  int number;
  std::size_t offset;
};

class DeviceSegments {
 public:
  bool holds(const void* address);
  // nullopt: not within one segment.
  std::optional<DevicePlace> find(const void* address, std::size_t bytes, int pe);
  // nullopt: not within one segment.
  std::optional<DeviceOffset> find_offset(const void* address, std::size_t bytes);
  // Returns this PE's address for memory of the PE with this index. `place` may have any numbers;
  // nullptr if it is not within a segment.
  std::byte* find_mapped(int index, const DeviceOffset& place, std::size_t bytes);
  // Returns how many of the bytes lie past the end of the segment that they begin in; nullopt if
  // all lie inside, or if they begin in no segment.
  std::optional<std::size_t> bytes_past_end(const void* address, std::size_t bytes);
  // Whether the bytes lie within one segment that is all_for_kernels.
  bool all_for_kernels(const void* address, std::size_t bytes);

  // Adds a segment, and gives it the first number that is free.
  void add(DeviceSegment segment);
  std::optional<DeviceSegment> remove(const void* base);  // nullopt: none begins there
  std::vector<DeviceSegment> all();
  void clear();

 private:
  const DeviceSegment* containing(const void* address) const;
  const DeviceSegment* containing(const void* address, std::size_t bytes) const;
  void publish_bounds();

  std::mutex mutex_;
  std::vector<DeviceSegment> segments_;
};

// A range of addresses that has all symmetric device memory, and perhaps other memory. It is empty
// if there is no device memory, so that hot paths make one comparison, which is false for every
// address.
struct DeviceBounds {
  std::atomic<std::uintptr_t> begin{0}, end{0};
};
extern constinit DeviceBounds device_bounds;

[[gnu::always_inline]] inline bool may_be_on_device(const void* address) {
  // Another thread may change the bounds. Any mix of old and new ones has the segments that stay.
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  return at < device_bounds.end.load(std::memory_order_relaxed) &&
         at >= device_bounds.begin.load(std::memory_order_relaxed);
}

// Lives for ever, as the address map does.
DeviceSegments& device_segments();

}  // namespace meshmem

#endif  // MESHMEM_GPU_DEVICE_SEGMENTS_HPP_
