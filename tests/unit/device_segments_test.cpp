// SPDX-License-Identifier: Apache-2.0
//
// The bounds of all device segments, while a thread registers buffers and another one asks.
#include "gpu/device_segments.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace meshmem {
namespace {

constexpr std::uintptr_t kHeap = std::uintptr_t{1} << 40;
constexpr std::size_t kBytes = 4096;

bool may_be_on_device_at(std::uintptr_t address) {
  return may_be_on_device(reinterpret_cast<const void*>(address));
}

DeviceSegment segment_at(std::uintptr_t base) {
  DeviceSegment segment;
  segment.base = base;
  segment.bytes = kBytes;
  return segment;
}

// Each buffer lies below or above all earlier ones.
TEST(DeviceSegments, TheHeapStaysInTheBoundsWhileBuffersComeAndGo) {
  EXPECT_FALSE(may_be_on_device_at(kHeap));
  DeviceSegments segments;
  segments.add(segment_at(kHeap));
  std::atomic<bool> is_over{false};
  std::thread registering([&] {
    for (std::uintptr_t i = 1; i <= 20'000; ++i) {
      const std::uintptr_t base = i % 2 ? kHeap - i * kBytes : kHeap + i * kBytes;
      segments.add(segment_at(base));
      EXPECT_TRUE(may_be_on_device_at(base) && may_be_on_device_at(base + kBytes - 1));
      EXPECT_TRUE(segments.remove(reinterpret_cast<const void*>(base)));
    }
    is_over = true;
  });
  long misses = 0;
  while (!is_over)
    misses += may_be_on_device_at(kHeap) && may_be_on_device_at(kHeap + kBytes - 1) ? 0 : 1;
  registering.join();
  EXPECT_EQ(misses, 0);
  segments.clear();
  EXPECT_FALSE(may_be_on_device_at(kHeap));
}

}  // namespace
}  // namespace meshmem
