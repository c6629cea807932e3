// SPDX-License-Identifier: Apache-2.0
//
// The list of device segments, and the bounds of all of them, which hot paths ask for. Invariant:
// the bounds change only when a segment comes or goes.
#include "gpu/device_segments.hpp"

#include <algorithm>

namespace meshmem {

constinit DeviceBounds device_bounds;

DeviceSegments& device_segments() {
  static DeviceSegments& instance = *new DeviceSegments;
  return instance;
}

const DeviceSegment* DeviceSegments::containing(const void* address) const {
  for (const DeviceSegment& segment : segments_)
    if (segment.offset_of(address) < segment.bytes) return &segment;
  return nullptr;
}

const DeviceSegment* DeviceSegments::containing(const void* address, std::size_t bytes) const {
  const DeviceSegment* segment = containing(address);
  return segment && bytes <= segment->bytes - segment->offset_of(address) ? segment : nullptr;
}

bool DeviceSegments::holds(const void* address) {
  const std::lock_guard lock(mutex_);
  return containing(address) != nullptr;
}

std::optional<DevicePlace> DeviceSegments::find(const void* address, std::size_t bytes, int pe) {
  const std::lock_guard lock(mutex_);
  const DeviceSegment* segment = containing(address, bytes);
  if (!segment) return std::nullopt;
  std::byte* copy = segment->copies[static_cast<std::size_t>(pe)];
  const DeviceRoute& route = segment->route_of[pe];
  return DevicePlace{copy ? copy + segment->offset_of(address) : nullptr, route.device,
                     route.for_kernels};
}

std::optional<DeviceOffset> DeviceSegments::find_offset(const void* address, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  const DeviceSegment* segment = containing(address, bytes);
  if (!segment) return std::nullopt;
  return DeviceOffset{segment->number, segment->offset_of(address)};
}

// Bounds are compared without adding, so that no offset wraps.
std::byte* DeviceSegments::find_mapped(int index, const DeviceOffset& place, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(segments_.begin(), segments_.end(), [&](const auto& segment) {
    return segment.number == place.number;
  });
  if (found == segments_.end()) return nullptr;
  const std::vector<std::byte*>& mapped = found->mapped.empty() ? found->copies : found->mapped;
  if (index < 0 || static_cast<std::size_t>(index) >= mapped.size()) return nullptr;
  if (bytes > found->bytes || place.offset > found->bytes - bytes) return nullptr;
  std::byte* const base = mapped[static_cast<std::size_t>(index)];
  return base ? base + place.offset : nullptr;
}

std::optional<std::size_t> DeviceSegments::bytes_past_end(const void* address, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  const DeviceSegment* segment = containing(address);
  if (!segment) return std::nullopt;
  const std::size_t left = segment->bytes - segment->offset_of(address);
  return bytes > left ? std::optional(bytes - left) : std::nullopt;
}

bool DeviceSegments::all_for_kernels(const void* address, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  const DeviceSegment* segment = containing(address, bytes);
  return segment && segment->all_for_kernels;
}

void DeviceSegments::add(DeviceSegment segment) {
  const std::lock_guard lock(mutex_);
  const auto is_taken = [this](int number) {
    return std::any_of(segments_.begin(), segments_.end(),
                       [number](const DeviceSegment& other) { return other.number == number; });
  };
  segment.number = 0;
  while (is_taken(segment.number)) ++segment.number;
  segments_.push_back(std::move(segment));
  publish_bounds();
}

std::optional<DeviceSegment> DeviceSegments::remove(const void* base) {
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(segments_.begin(), segments_.end(), [&](const auto& segment) {
    return segment.base == reinterpret_cast<std::uintptr_t>(base);
  });
  if (found == segments_.end()) return std::nullopt;
  DeviceSegment removed = std::move(*found);
  segments_.erase(found);
  publish_bounds();
  return removed;
}

std::vector<DeviceSegment> DeviceSegments::all() {
  const std::lock_guard lock(mutex_);
  return segments_;
}

void DeviceSegments::clear() {
  const std::lock_guard lock(mutex_);
  segments_.clear();
  publish_bounds();
}

void DeviceSegments::publish_bounds() {
  std::uintptr_t begin = UINTPTR_MAX, end = 0;
  for (const DeviceSegment& segment : segments_) {
    begin = std::min(begin, segment.base);
    end = std::max(end, segment.base + segment.bytes);
  }
  device_bounds.begin.store(begin, std::memory_order_relaxed);
  device_bounds.end.store(end, std::memory_order_relaxed);
}

}  // namespace meshmem
