// SPDX-License-Identifier: Apache-2.0
//
// A memory checker hears which bytes of a symmetric heap belong to blocks. Where no sanitizer is
// linked, this file has the functions of one, so that the library believes in it, and checks their
// arguments.
#include "memory/heap_watch.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

#include "memory/symmetric_heap.hpp"

namespace {

constexpr std::size_t kHeap = std::size_t{64} << 20;
constexpr std::size_t kBelow = 64;
alignas(64) std::byte memory[kBelow + kHeap];
std::byte* const heap_base = memory + kBelow;

}  // namespace

#if defined(__SANITIZE_ADDRESS__)
extern "C" int __asan_address_is_poisoned(const volatile void* address);
#else
namespace {
std::vector<bool> poisoned(sizeof memory);
std::map<const void*, std::size_t> roots;

void mark(const volatile void* start, std::size_t bytes, bool value) {
  const auto offset = static_cast<const volatile std::byte*>(start) - memory;
  std::fill_n(poisoned.begin() + offset, bytes, value);
}
}  // namespace

extern "C" {
void __asan_poison_memory_region(const volatile void* start, std::size_t bytes) {
  mark(start, bytes, true);
}
void __asan_unpoison_memory_region(const volatile void* start, std::size_t bytes) {
  mark(start, bytes, false);
}
int __asan_address_is_poisoned(const volatile void* address) {
  return poisoned[static_cast<std::size_t>(static_cast<const volatile std::byte*>(address) -
                                           memory)];
}
void __lsan_register_root_region(const void* start, std::size_t bytes) { roots[start] = bytes; }
void __lsan_unregister_root_region(const void* start, std::size_t bytes) {
  EXPECT_EQ(roots[start], bytes);
  roots.erase(start);
}
}
#endif

namespace meshmem {
namespace {

bool may_touch(const void* block, std::ptrdiff_t index) {
  return !__asan_address_is_poisoned(static_cast<const std::byte*>(block) + index);
}

class HeapWatchTest : public testing::Test {
 protected:
  HeapWatchTest() { heap_.open(heap_base, kHeap, 4096, kRedZone, kBelow); }
  ~HeapWatchTest() override {
    heap_.close();
    EXPECT_FALSE(may_touch(heap_base, 0));
#if !defined(__SANITIZE_ADDRESS__)
    EXPECT_TRUE(roots.empty());
#endif
  }
  void* allocate(std::size_t bytes, std::size_t alignment = 64) {
    return heap_.allocate(bytes, alignment, 0, "test");
  }
  static void expect_exactly(const void* block, std::ptrdiff_t bytes) {
    EXPECT_FALSE(may_touch(block, -1));
    EXPECT_TRUE(may_touch(block, 0));
    EXPECT_TRUE(may_touch(block, bytes - 1));
    EXPECT_FALSE(may_touch(block, bytes));
    EXPECT_FALSE(may_touch(block, bytes + static_cast<std::ptrdiff_t>(kRedZone) - 1));
  }
  SymmetricHeap heap_{"heap", "TEST", kMinAlignment};
};

TEST_F(HeapWatchTest, LetsTheProgramTouchItsBlocksOnly) {
  EXPECT_FALSE(may_touch(heap_base, 0));
  const void* first = allocate(64);
  const void* second = allocate(100);
  const void* aligned = allocate(1000, 4096);
  expect_exactly(first, 64);
  expect_exactly(second, 100);
  expect_exactly(aligned, 1000);
}

TEST_F(HeapWatchTest, ForbidsFreedBlocks) {
  void* block = allocate(1000);
  heap_.release(block, "test");
  EXPECT_FALSE(may_touch(block, 0));
  EXPECT_FALSE(may_touch(block, 999));
  expect_exactly(allocate(500), 500);
}

TEST_F(HeapWatchTest, FollowsBlocksThatGrowAndShrinkInPlace) {
  void* block = allocate(1000);
  for (const std::size_t bytes : {5000, 200, 201, 64}) {
    ASSERT_TRUE(heap_.try_resize(block, bytes, "test"));
    expect_exactly(block, static_cast<std::ptrdiff_t>(bytes));
  }
}

// If all of a large heap were described, the checker's own tables would take an eighth of that.
TEST_F(HeapWatchTest, SpeaksOfWhatIsNearTheBlocks) {
  EXPECT_TRUE(may_touch(heap_base, kHeap - 1));
  const void* large = allocate(kHeap - 4096);
  expect_exactly(large, kHeap - 4096);
  EXPECT_FALSE(may_touch(heap_base, kHeap - 1));
}

TEST_F(HeapWatchTest, BeginsAnewAfterTheHeapWasClosed) {
  void* block = allocate(1000);
  heap_.close();
  EXPECT_FALSE(may_touch(block, 0));
  heap_.open(heap_base, kHeap, 4096, kRedZone, kBelow);
  EXPECT_FALSE(may_touch(block, 0));
  expect_exactly(allocate(100), 100);
}

}  // namespace
}  // namespace meshmem
