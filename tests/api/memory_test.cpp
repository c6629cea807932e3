// SPDX-License-Identifier: Apache-2.0
//
// The symmetric heap: malloc, free, realloc, align, calloc, malloc_with_hints, empty and full.
// Invariant: all PEs make the same calls; one PE alone makes calls that are not collective (size 0,
// NULL), so that a hidden barrier hangs the test.
#include <cstdint>
#include <cstring>
#include <vector>

#include "symmetric_array.hpp"

namespace meshmem {
namespace {

bool is_aligned(const void* p, size_t alignment) {
  return reinterpret_cast<uintptr_t>(p) % alignment == 0;
}

// Every PE writes its number into the next PE's block and finds the previous one's in its own.
void expect_usable(void* block, size_t bytes) {
  ASSERT_NE(block, nullptr);
  auto* chars = static_cast<char*>(block);
  chars[0] = chars[bytes - 1] = -1;
  shmem_barrier_all();
  const char me = static_cast<char>(my_pe());
  shmem_putmem(chars, &me, 1, next_pe());
  shmem_fence();  // both may be one byte
  shmem_putmem(chars + bytes - 1, &me, 1, next_pe());
  shmem_barrier_all();
  EXPECT_EQ(chars[0], previous_pe());
  EXPECT_EQ(chars[bytes - 1], previous_pe());
}

TEST(Malloc, S10_GivesMemoryForPlainLoadsAndStores) {
  auto* block = static_cast<unsigned char*>(shmem_malloc(5000));
  ASSERT_NE(block, nullptr);
  std::memset(block, 0x5a, 5000);
  EXPECT_EQ(block[4999], 0x5a);
  expect_usable(block, 5000);
  shmem_free(block);
}

TEST(Malloc, S11_IsAlignedForEveryType) {
  std::vector<void*> blocks;
  for (size_t bytes = 1; bytes <= 200; bytes += 13) {
    blocks.push_back(shmem_malloc(bytes));
    EXPECT_TRUE(is_aligned(blocks.back(), alignof(std::max_align_t)));
    expect_usable(blocks.back(), bytes);
  }
  for (void* block : blocks) shmem_free(block);
}

TEST(Malloc, S11_SizeZeroDoesNothingAndReturnsNull) {
  if (my_pe() == n_pes() - 1) {  // the others make no call: none may be waited for
    EXPECT_EQ(shmem_malloc(0), nullptr);
    EXPECT_EQ(shmem_calloc(0, 8), nullptr);
    EXPECT_EQ(shmem_calloc(8, 0), nullptr);
    EXPECT_EQ(shmem_align(64, 0), nullptr);
    EXPECT_EQ(shmem_malloc_with_hints(0, 0), nullptr);
    EXPECT_EQ(shmem_realloc(nullptr, 0), nullptr);
  }
}

// The block can be written by a peer as soon as that peer's malloc has returned.
TEST(Malloc, S11_IsABarrierOnExit) {
  for (int round = 0; round < 100; ++round) {
    static long ready;
    ready = round;
    void* block = shmem_malloc(32);
    EXPECT_GE(shmem_long_g(&ready, next_pe()), round);
    EXPECT_GE(shmem_long_g(&ready, previous_pe()), round);
    shmem_free(block);
  }
}

TEST(Free, S12_NullDoesNothing) {
  if (my_pe() == 0) shmem_free(nullptr);
}

// No PE's block goes away while another still writes to it.
TEST(Free, S12_IsABarrierOnEntry) {
  for (long round = 0; round < 100; ++round) {
    static long arrived;
    arrived = -1;
    void* block = shmem_malloc(64);
    shmem_long_put_nbi(&arrived, &round, 1, next_pe());
    shmem_free(block);
    EXPECT_EQ(arrived, round);
    shmem_barrier_all();
  }
}

TEST(Realloc, S13_KeepsTheContents) {
  size_t kept = 100;
  auto* block = static_cast<uint64_t*>(shmem_malloc(kept * sizeof(uint64_t)));
  fill(block, kept, my_pe());
  for (size_t n :
       {size_t{101}, size_t{5000}, size_t{200000}, size_t{50}, size_t{49}, size_t{3000}}) {
    block = static_cast<uint64_t*>(shmem_realloc(block, n * sizeof(uint64_t)));
    ASSERT_NE(block, nullptr);
    kept = std::min(kept, n);
    expect_filled("realloc", block, kept, my_pe());
    EXPECT_EQ(shmem_uint64_g(&block[kept - 1], next_pe()),
              sample<uint64_t>(seed_of(next_pe(), kept - 1)));
    shmem_barrier_all();
  }
  expect_usable(block, 3000 * sizeof(uint64_t));
  shmem_free(block);
}

TEST(Realloc, S13_OfNullIsMalloc) {
  void* block = shmem_realloc(nullptr, 300);
  expect_usable(block, 300);
  EXPECT_EQ(shmem_realloc(block, 0), nullptr) << "size 0 frees";
}

TEST(Realloc, S13_FailureReturnsNullAndKeepsTheBlock) {
  auto* block = static_cast<uint64_t*>(shmem_malloc(1000 * sizeof(uint64_t)));
  ASSERT_NE(block, nullptr);
  fill(block, 1000, my_pe());
  EXPECT_EQ(shmem_realloc(block, SIZE_MAX / 2), nullptr);
  EXPECT_EQ(shmem_realloc(block, SIZE_MAX), nullptr);
  expect_filled("the old block", block, 1000, my_pe());
  expect_usable(block, 1000 * sizeof(uint64_t));
  shmem_free(block);
}

TEST(Align, S14_BlocksBeginAtMultiplesOfUpTo64KiB) {
  std::vector<void*> blocks;
  for (size_t alignment = sizeof(void*); alignment <= 65536; alignment *= 2) {
    void* block = shmem_align(alignment, 24 + alignment / 3);
    EXPECT_TRUE(is_aligned(block, alignment)) << block << " for " << alignment;
    EXPECT_TRUE(is_aligned(shmem_ptr(block, next_pe()), std::min(alignment, size_t{4096})));
    expect_usable(block, 24 + alignment / 3);
    blocks.push_back(block);
  }
  for (void* block : blocks) shmem_free(block);
}

// Every PE's block is at the same offset. The heap of this test has 16 MiB.
TEST(Align, S14_BlocksBeginAtTheSameOffsetForMultiplesOfMiB) {
  auto* offset = static_cast<long*>(shmem_malloc(sizeof(long)));
  for (size_t alignment = size_t{1} << 20; alignment <= size_t{8} << 20; alignment *= 2) {
    auto* block = static_cast<char*>(shmem_align(alignment, 100));
    ASSERT_NE(block, nullptr) << alignment;
    EXPECT_TRUE(is_aligned(block, alignment)) << static_cast<void*>(block) << " for " << alignment;
    *offset = block - reinterpret_cast<char*>(offset);
    shmem_barrier_all();
    EXPECT_EQ(shmem_long_g(offset, next_pe()), *offset);
    expect_usable(block, 100);
    shmem_free(block);
  }
  shmem_free(offset);
}

TEST(Calloc, S15_ZeroesMemoryThatWasUsedBefore) {
  for (int round = 0; round < 3; ++round) {
    auto* dirty = static_cast<char*>(shmem_malloc(9999));
    ASSERT_NE(dirty, nullptr);
    std::memset(dirty, 0xff, 9999);
    shmem_free(dirty);
    auto* block = static_cast<char*>(shmem_calloc(1111, 9));
    ASSERT_NE(block, nullptr);
    expect_all("calloc", block, 9999, '\0');
    char there = 1;
    shmem_getmem(&there, block + 5000, 1, next_pe());
    EXPECT_EQ(there, 0);
    shmem_free(block);
  }
}

TEST(Calloc, S15_OverflowFails) {
  EXPECT_EQ(shmem_calloc(SIZE_MAX / 2 + 2, 2), nullptr);
  EXPECT_EQ(shmem_calloc(SIZE_MAX, SIZE_MAX), nullptr);
  EXPECT_EQ(shmem_calloc(size_t{1} << 33, size_t{1} << 33), nullptr);
}

TEST(MallocWithHints, S16_IgnoresWhatItDoesNotKnow) {
  for (long hints : {0L, SHMEM_MALLOC_ATOMICS_REMOTE, SHMEM_MALLOC_SIGNAL_REMOTE,
                     SHMEM_MALLOC_ATOMICS_REMOTE | SHMEM_MALLOC_SIGNAL_REMOTE, 1L << 20, -1L}) {
    auto* block = static_cast<char*>(shmem_malloc_with_hints(777, hints));
    expect_usable(block, 777);
    block = static_cast<char*>(shmem_realloc(block, 1500));
    expect_usable(block, 1500);
    shmem_free(block);
  }
}

// The symmetry: an address of one PE means the same object on all others.
TEST(Malloc, S9_TheSameCallsGiveTheSameObjects) {
  std::vector<long*> blocks;
  uint64_t random = 99;
  for (int step = 0; step < 300; ++step) {
    random = scramble(random);
    if (blocks.size() > 20 || (random % 3 == 0 && !blocks.empty())) {
      const size_t victim = (random >> 8) % blocks.size();
      shmem_free(blocks[victim]);
      blocks.erase(blocks.begin() + static_cast<ptrdiff_t>(victim));
    } else {
      blocks.push_back(static_cast<long*>(shmem_malloc(8 + (random >> 20) % 100000)));
    }
  }
  for (size_t i = 0; i < blocks.size(); ++i) {
    ASSERT_NE(blocks[i], nullptr);
    *blocks[i] = static_cast<long>(1000 * i) + my_pe();
  }
  shmem_barrier_all();
  for (size_t i = 0; i < blocks.size(); ++i) {
    EXPECT_EQ(shmem_long_g(blocks[i], next_pe()), static_cast<long>(1000 * i) + next_pe());
  }
  for (long* block : blocks) shmem_free(block);
}

TEST(Malloc, TooMuchReturnsNullOnAllPes) {
  EXPECT_EQ(shmem_malloc(SIZE_MAX), nullptr);
  EXPECT_EQ(shmem_malloc(SIZE_MAX / 2), nullptr);
  EXPECT_EQ(shmem_malloc(SIZE_MAX - 63), nullptr);
  EXPECT_EQ(shmem_align(4096, SIZE_MAX - 100), nullptr);
  for (const size_t no_power_of_two : {0, 3, 24, 4095})
    EXPECT_EQ(shmem_align(no_power_of_two, 64), nullptr);
  EXPECT_EQ(shmem_align(size_t{1} << 62, 64), nullptr);
  expect_usable(shmem_malloc(64), 64);
}

// This program runs with a heap of 16 MiB (CMakeLists.txt). Fills it, finds it full, and has all of
// it again.
TEST(Malloc, S11_AFullHeapReturnsNullAndWorksAfterwards) {
  constexpr size_t kBlock = 1 << 20;
  for (int round = 0; round < 3; ++round) {
    std::vector<void*> blocks;
    while (void* block = shmem_malloc(kBlock)) {
      blocks.push_back(block);
      ASSERT_LE(blocks.size(), 16u) << "more than SHMEM_SYMMETRIC_SIZE";
    }
    EXPECT_GE(blocks.size(), 14u);
    EXPECT_EQ(shmem_calloc(2, kBlock), nullptr);
    EXPECT_EQ(shmem_realloc(blocks[0], 2 * kBlock), nullptr);
    expect_usable(blocks.back(), kBlock);
    for (size_t i = 0; i < blocks.size(); i += 2) shmem_free(blocks[i]);
    EXPECT_EQ(shmem_malloc(4 * kBlock), nullptr) << "there are only holes of one block";
    for (size_t i = 1; i < blocks.size(); i += 2) shmem_free(blocks[i]);
    void* large = shmem_malloc(12 * kBlock);
    EXPECT_NE(large, nullptr) << "free blocks are merged";
    shmem_free(large);
  }
}

}  // namespace
}  // namespace meshmem
