// SPDX-License-Identifier: Apache-2.0
//
// The bounds of all device segments, which threads read while others change them.
#include "gpu/device_segments.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace meshmem {
namespace {

TEST(DeviceBounds, HaveASegmentThatStaysWhileOthersComeAndGo) {
  constexpr std::uintptr_t kHeap = 0x4000'0000, kBuffer = 0x1000, kBytes = 0x1000;
  const auto segment_at = [](std::uintptr_t base) {
    DeviceSegment segment;
    segment.base = base;
    segment.bytes = kBytes;
    return segment;
  };
  DeviceSegments segments;
  segments.add(segment_at(kHeap));
  std::atomic<bool> is_over{false};
  std::thread other([&] {
    for (int i = 0; i < 1'000'000; ++i) {
      segments.add(segment_at(kBuffer));
      segments.remove(reinterpret_cast<const void*>(kBuffer));
    }
    is_over = true;
  });
  bool all = true;
  while (!is_over) all = may_be_on_device(reinterpret_cast<const void*>(kHeap)) && all;
  other.join();
  EXPECT_TRUE(all);
  segments.clear();
  EXPECT_FALSE(may_be_on_device(reinterpret_cast<const void*>(kHeap)));
}

}  // namespace
}  // namespace meshmem
