// SPDX-License-Identifier: Apache-2.0
//
// OffsetAllocator against a model that is too simple to be wrong: a sorted list of live blocks,
// searched from end to end. The model knows the one right answer of every call, so every answer is
// compared. Costs are counted in key comparisons and tree nodes, never in time.
#include "memory/allocator.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace meshmem {
namespace {

constexpr std::size_t kKiB = 1024;
constexpr std::size_t kMiB = 1024 * kKiB;

std::size_t rounded(std::size_t bytes) { return (bytes + 63) / 64 * 64; }

std::size_t count_live(const OffsetAllocator& allocator) {
  std::size_t n = 0;
  allocator.for_each_live([&n](std::size_t, std::size_t) { ++n; });
  return n;
}

class Model {
 public:
  struct Live {
    std::size_t offset, bytes;
    long hints;
    std::size_t end() const { return offset + rounded(bytes); }
  };

  explicit Model(std::size_t capacity) : capacity_(capacity) {}

  std::optional<std::size_t> allocate(std::size_t bytes, std::size_t alignment, long hints) {
    std::size_t best_usable = std::numeric_limits<std::size_t>::max();
    std::size_t best_place = 0, best_index = 0;
    std::size_t gap = 0;
    for (std::size_t i = 0; i <= live_.size(); ++i) {
      const std::size_t end = i < live_.size() ? live_[i].offset : capacity_;
      const std::size_t place = (gap + alignment - 1) / alignment * alignment;
      if (place < end && end - place >= rounded(bytes) && end - place < best_usable) {
        best_usable = end - place;
        best_place = place;
        best_index = i;
      }
      if (i < live_.size()) gap = live_[i].end();
    }
    if (best_usable == std::numeric_limits<std::size_t>::max()) return std::nullopt;
    live_.insert(live_.begin() + static_cast<std::ptrdiff_t>(best_index),
                 {best_place, bytes, hints});
    return best_place;
  }

  void release(std::size_t index) {
    live_.erase(live_.begin() + static_cast<std::ptrdiff_t>(index));
  }

  bool try_resize(std::size_t index, std::size_t bytes) {
    const std::size_t limit = index + 1 < live_.size() ? live_[index + 1].offset : capacity_;
    if (rounded(bytes) > limit - live_[index].offset) return false;
    live_[index].bytes = bytes;
    return true;
  }

  void expect_same(const OffsetAllocator& allocator) const {
    std::size_t used = 0, largest = 0, gap = 0;
    for (const Live& block : live_) {
      ASSERT_EQ(allocator.size_of(block.offset), block.bytes);
      ASSERT_EQ(allocator.hints_of(block.offset), block.hints);
      largest = std::max(largest, block.offset - gap);
      gap = block.end();
      used += rounded(block.bytes);
    }
    largest = std::max(largest, capacity_ - gap);
    ASSERT_EQ(allocator.free_bytes(), capacity_ - used);
    ASSERT_EQ(allocator.largest_free(), largest);
    ASSERT_EQ(count_live(allocator), live_.size());
  }

  const std::vector<Live>& live() const { return live_; }

 private:
  std::size_t capacity_;
  std::vector<Live> live_;  // by offset
};

std::uint64_t seed() {
  const char* given = std::getenv("ALLOCATOR_TEST_SEED");
  const std::uint64_t value = given ? std::strtoull(given, nullptr, 10) : std::random_device{}();
  std::printf("seed %llu (ALLOCATOR_TEST_SEED repeats it)\n",
              static_cast<unsigned long long>(value));
  return value;
}

// Mostly small, sometimes huge: every power of two up to `limit` is as likely as any other.
std::size_t random_bytes(std::mt19937_64& random, std::size_t limit) {
  const std::size_t top = std::size_t{1} << random() % std::bit_width(limit);
  return 1 + random() % std::min(top, limit);
}

TEST(Blocks, AreFoundByAnyOffsetWithin) {
  OffsetAllocator allocator(1024);
  const std::size_t first = *allocator.allocate(100), second = *allocator.allocate(64);
  for (const std::size_t within : {0, 1, 99, 127})
    EXPECT_EQ(allocator.start_of_block_at(first + within), first) << within;
  EXPECT_EQ(allocator.start_of_block_at(second + 63), second);
  EXPECT_EQ(allocator.start_of_block_at(second + 64), std::nullopt);
  EXPECT_EQ(allocator.start_of_block_at(1024), std::nullopt);
  EXPECT_EQ(allocator.start_of_block_at(SIZE_MAX), std::nullopt);
  allocator.release(first);
  EXPECT_EQ(allocator.start_of_block_at(first), std::nullopt);
  EXPECT_EQ(allocator.start_of_block_at(second), second);
}

TEST(Allocator, AnswersAMillionCallsLikeTheModel) {
  constexpr std::size_t kCapacity = 24 * kMiB;
  constexpr std::size_t kMaxLive = 120;
  std::mt19937_64 random(seed());
  OffsetAllocator allocator(kCapacity);
  Model model(kCapacity);
  std::size_t failed_allocations = 0, resized = 0;

  for (int call = 0; call < 1'000'000; ++call) {
    const std::size_t live = model.live().size();
    const std::size_t at = live ? random() % live : 0;
    const unsigned kind = random() % 8;
    if (live == 0 || (kind < 4 && live < kMaxLive)) {
      const std::size_t bytes = random_bytes(random, 4 * kMiB);
      const std::size_t alignment = random() % 2 ? kMinAlignment : std::size_t{64} << random() % 16;
      const long hints = static_cast<long>(random() & 0x7fffffff);
      const auto expected = model.allocate(bytes, alignment, hints);
      ASSERT_EQ(allocator.allocate(bytes, alignment, hints), expected) << "call " << call;
      failed_allocations += !expected;
    } else if (kind == 4) {
      const std::size_t bytes = random_bytes(random, 4 * kMiB);
      const std::size_t offset = model.live()[at].offset;
      const bool expected = model.try_resize(at, bytes);
      ASSERT_EQ(allocator.try_resize(offset, bytes), expected) << "call " << call;
      resized += expected;
    } else {
      ASSERT_TRUE(allocator.release(model.live()[at].offset)) << "call " << call;
      model.release(at);
    }
    if (call % 256 == 0) {
      ASSERT_NO_FATAL_FAILURE(model.expect_same(allocator)) << "call " << call;
    }
  }
  EXPECT_GT(failed_allocations, 1000u) << "the heap was never full: the test is too tame";
  EXPECT_GT(resized, 1000u);

  while (!model.live().empty()) {
    const std::size_t at = random() % model.live().size();
    ASSERT_TRUE(allocator.release(model.live()[at].offset));
    model.release(at);
  }
  EXPECT_EQ(allocator.largest_free(), kCapacity);
  EXPECT_EQ(count_live(allocator), 0u);
}

TEST(Allocator, MergesWithTheBlockBeforeTheBlockBehindAndBoth) {
  OffsetAllocator allocator(5 * 64);
  for (std::size_t i = 0; i < 5; ++i) ASSERT_EQ(allocator.allocate(64), i * 64);
  ASSERT_TRUE(allocator.release(64));
  EXPECT_EQ(allocator.largest_free(), 64u);
  ASSERT_TRUE(allocator.release(128));  // a free block before it
  EXPECT_EQ(allocator.largest_free(), 128u);
  ASSERT_TRUE(allocator.release(0));  // a free block after it
  EXPECT_EQ(allocator.largest_free(), 192u);
  ASSERT_TRUE(allocator.release(256));
  EXPECT_EQ(allocator.largest_free(), 192u);
  ASSERT_TRUE(allocator.release(192));  // both
  EXPECT_EQ(allocator.largest_free(), 320u);
}

TEST(Allocator, TakesTheTightestBlock) {
  OffsetAllocator allocator(kMiB);
  const auto large = allocator.allocate(1024);
  ASSERT_TRUE(allocator.allocate(64));
  const auto small = allocator.allocate(256);
  ASSERT_TRUE(allocator.allocate(64));
  allocator.release(*large);
  allocator.release(*small);
  EXPECT_EQ(allocator.allocate(200), small);
  EXPECT_EQ(allocator.allocate(1000), large);
}

// Hundreds of free blocks are larger than the request, but only one has an aligned place with room.
TEST(Allocator, FindsTheOneBlockThatFitsOnceAlignedWithoutAScan) {
  constexpr std::size_t kPage = 4096;
  constexpr std::size_t kCount = 512;
  OffsetAllocator allocator(kCount * 2 * kPage);
  // Of every two pages the bytes from 64 to 2 * kPage - 64 are free. They are more than a page, but
  // from the aligned offset kPage on 64 bytes are missing.
  std::vector<std::size_t> holes;
  for (std::size_t i = 0; i < kCount; ++i) {
    const auto edge = allocator.allocate(64);
    holes.push_back(*allocator.allocate(2 * kPage - 128));
    const auto other_edge = allocator.allocate(64);
    ASSERT_EQ(*edge + 64, holes.back());
    ASSERT_EQ(*other_edge + 64, (i + 1) * 2 * kPage);
  }
  for (std::size_t i = 0; i < kCount; ++i) {
    if (i != 300) {
      ASSERT_TRUE(allocator.release(holes[i]));
    }
  }
  EXPECT_EQ(allocator.allocate(kPage, kPage), std::nullopt);
  ASSERT_TRUE(allocator.release(holes[300]));
  ASSERT_TRUE(allocator.release(holes[300] + 2 * kPage - 128));  // now the page at the end is whole

  const std::uint64_t before = allocator.comparisons();
  EXPECT_EQ(allocator.allocate(kPage, kPage), 300 * 2 * kPage + kPage);
  EXPECT_LT(allocator.comparisons() - before, 150u);
}

TEST(Allocator, KeepsEveryAlignmentUpToTwoMiB) {
  OffsetAllocator allocator(64 * kMiB);
  for (std::size_t alignment = 1; alignment <= 2 * kMiB; alignment *= 2) {
    ASSERT_TRUE(allocator.allocate(1));  // so that the next one is not aligned by luck
    const auto offset = allocator.allocate(100, alignment);
    ASSERT_TRUE(offset) << alignment;
    EXPECT_EQ(*offset % std::max(alignment, kMinAlignment), 0u) << alignment;
  }
}

TEST(Allocator, RefusesWhatCannotBe) {
  constexpr std::size_t kHuge = std::numeric_limits<std::size_t>::max();
  OffsetAllocator allocator(kMiB);
  EXPECT_EQ(allocator.allocate(0), std::nullopt);
  EXPECT_EQ(allocator.allocate(64, 0), std::nullopt);
  EXPECT_EQ(allocator.allocate(64, 96), std::nullopt);
  for (const std::size_t bytes : {kMiB + 1, kHuge / 2, kHuge - 62, kHuge}) {
    EXPECT_EQ(allocator.allocate(bytes), std::nullopt) << bytes;
    EXPECT_EQ(allocator.allocate(bytes, std::size_t{1} << 63), std::nullopt) << bytes;
  }
  const auto block = allocator.allocate(64);
  for (const std::size_t bytes : {std::size_t{0}, kMiB + 1, kHuge - 62, kHuge}) {
    EXPECT_FALSE(allocator.try_resize(*block, bytes)) << bytes;
  }
  EXPECT_FALSE(allocator.release(*block + 1));
  EXPECT_FALSE(allocator.release(*block + 64));  // free
  EXPECT_FALSE(allocator.release(kMiB));
  EXPECT_FALSE(allocator.try_resize(*block + 64, 64));
  EXPECT_EQ(allocator.size_of(*block + 64), std::nullopt);
  EXPECT_EQ(allocator.hints_of(*block + 64), std::nullopt);
  EXPECT_TRUE(allocator.release(*block));
  EXPECT_FALSE(allocator.release(*block));
  EXPECT_EQ(allocator.allocate(64, std::size_t{1} << 63), 0u);
}

TEST(Allocator, WorksWithNothingAndWithOddCapacities) {
  OffsetAllocator nothing(63);
  EXPECT_EQ(nothing.capacity(), 0u);
  EXPECT_EQ(nothing.largest_free(), 0u);
  EXPECT_EQ(nothing.allocate(1), std::nullopt);
  OffsetAllocator one(127);
  EXPECT_EQ(one.capacity(), 64u);
  EXPECT_EQ(one.allocate(64), 0u);
  OffsetAllocator everything(std::numeric_limits<std::size_t>::max());
  EXPECT_EQ(everything.allocate(everything.capacity()), 0u);
  EXPECT_EQ(everything.free_bytes(), 0u);
}

TEST(Allocator, RecoversFromExhaustionToOneFreeBlock) {
  OffsetAllocator allocator(kMiB);
  std::vector<std::size_t> offsets;
  while (const auto offset = allocator.allocate(192)) offsets.push_back(*offset);
  EXPECT_EQ(offsets.size(), kMiB / 192);
  std::shuffle(offsets.begin(), offsets.end(), std::mt19937_64(seed()));
  for (const std::size_t offset : offsets) ASSERT_TRUE(allocator.release(offset));
  EXPECT_EQ(allocator.free_bytes(), kMiB);
  EXPECT_EQ(allocator.largest_free(), kMiB);
  EXPECT_EQ(allocator.nodes(), 2u);  // the one free block, once by offset and once by size
  EXPECT_EQ(allocator.allocate(kMiB), 0u);
}

TEST(Allocator, ResizesInPlaceAndKeepsHints) {
  OffsetAllocator allocator(1024);
  const auto first = allocator.allocate(100, kMinAlignment, 7);
  const auto second = allocator.allocate(100);
  EXPECT_TRUE(allocator.try_resize(*first, 128));   // within the rounding
  EXPECT_FALSE(allocator.try_resize(*first, 129));  // the next block is live
  EXPECT_EQ(allocator.size_of(*first), 128u);
  EXPECT_TRUE(allocator.try_resize(*first, 64));
  EXPECT_EQ(allocator.free_bytes(), 1024u - 64 - 128);
  EXPECT_TRUE(allocator.try_resize(*second, 896));  // all of the free block after it
  EXPECT_EQ(allocator.free_bytes(), 64u);
  EXPECT_FALSE(allocator.try_resize(*second, 897));
  EXPECT_EQ(allocator.size_of(*second), 896u);
  EXPECT_EQ(allocator.hints_of(*first), 7);
  EXPECT_EQ(allocator.hints_of(*second), 0);
}

TEST(Allocator, GivesMultiplesOfItsUnit) {
  constexpr std::size_t kUnit = 256;
  OffsetAllocator allocator(4 * kUnit + 255, 0, kUnit);
  EXPECT_EQ(allocator.capacity(), 4 * kUnit);
  EXPECT_EQ(allocator.allocate(1), 0u);
  EXPECT_EQ(allocator.allocate(257, 64), kUnit);
  EXPECT_EQ(allocator.largest_free(), kUnit);
  EXPECT_EQ(allocator.allocate(kUnit), 3 * kUnit);
  EXPECT_EQ(allocator.free_bytes(), 0u);
}

TEST(Allocator, LeavesAGapBehindEveryBlock) {
  constexpr std::size_t kGap = 16;
  OffsetAllocator allocator(kMiB, kGap);
  std::size_t before = 0;
  for (const std::size_t bytes : {1, 48, 49, 64, 112, 4096}) {
    const std::size_t offset = *allocator.allocate(bytes);
    EXPECT_EQ(offset, before);
    EXPECT_EQ(*allocator.size_of(offset), bytes);
    before = offset + rounded(bytes + kGap);
  }
  const std::size_t last = *allocator.allocate(64);
  ASSERT_TRUE(allocator.try_resize(last, 128));
  EXPECT_EQ(*allocator.allocate(64), last + 192);
  ASSERT_TRUE(allocator.try_resize(last, 100));
  EXPECT_EQ(*allocator.allocate(48), last + 128);
}

TEST(Allocator, GivesUpTheGapBeforeItGivesUp) {
  OffsetAllocator allocator(4 * kKiB, 16);
  const std::optional<std::size_t> whole = allocator.allocate(4 * kKiB);
  ASSERT_TRUE(whole);
  EXPECT_EQ(allocator.free_bytes(), 0u);
  EXPECT_TRUE(allocator.try_resize(*whole, 4 * kKiB - 1));
  EXPECT_TRUE(allocator.try_resize(*whole, 4 * kKiB));
  EXPECT_TRUE(allocator.release(*whole));
  EXPECT_EQ(allocator.free_bytes(), 4 * kKiB);
}

// Fills an allocator with `live` blocks and as many holes among them, then measures one more call
// of each kind.
struct Cost {
  std::uint64_t most_comparisons = 0;
  std::size_t most_nodes = 0;
};
Cost cost_with(std::size_t live, std::mt19937_64& random) {
  OffsetAllocator allocator(std::size_t{1} << 40);
  for (const std::size_t alignment : {std::size_t{64}, 4 * kKiB, 2 * kMiB}) {
    allocator.release(*allocator.allocate(64, alignment));
  }
  std::vector<std::size_t> offsets;
  for (std::size_t i = 0; i < 2 * live; ++i) {
    offsets.push_back(*allocator.allocate(1 + random() % (64 * kKiB)));
  }
  std::shuffle(offsets.begin(), offsets.end(), random);
  for (std::size_t i = 0; i < live; ++i) {
    allocator.release(offsets.back());
    offsets.pop_back();
  }
  Cost cost;
  const auto measure = [&](auto call) {
    const std::uint64_t before = allocator.comparisons();
    call();
    cost.most_comparisons = std::max(cost.most_comparisons, allocator.comparisons() - before);
    cost.most_nodes = std::max(cost.most_nodes, allocator.nodes());
  };
  for (int i = 0; i < 20'000; ++i) {
    std::size_t& victim = offsets[random() % offsets.size()];
    const std::size_t bytes = 1 + random() % (64 * kKiB);
    measure([&] { allocator.try_resize(victim, bytes); });
    measure([&] { allocator.release(victim); });
    measure([&] { victim = *allocator.allocate(bytes, i % 3 ? 64 : 4 * kKiB); });
  }
  EXPECT_EQ(count_live(allocator), live);
  return cost;
}

TEST(Allocator, CostsGrowWithTheLogarithmAndMemoryWithTheLiveBlocks) {
  std::mt19937_64 random(seed());
  for (const std::size_t live : {100u, 1'000u, 10'000u, 100'000u}) {
    const Cost cost = cost_with(live, random);
    // A dozen descents through trees that a doubling of the blocks makes one level deeper: 13 a
    // level were measured. A scan would cost thousands.
    EXPECT_LE(cost.most_comparisons, 24u * std::bit_width(live)) << live << " blocks";
    // Two blocks, one live and one free, and the free one in each index.
    EXPECT_LE(cost.most_nodes, 5 * (live + 1)) << live << " blocks";
    std::printf("%7zu live blocks: at most %4llu comparisons a call, %7zu nodes\n", live,
                static_cast<unsigned long long>(cost.most_comparisons), cost.most_nodes);
  }
}

}  // namespace
}  // namespace meshmem
