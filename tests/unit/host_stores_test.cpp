// SPDX-License-Identifier: Apache-2.0
//
// Stores of the processor into memory that start-up has added: which ones are made, and which count
// as pending until they have arrived. No test without a GPU can see that a store has left the
// processor.
#include "gpu/host_stores.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>
#include <vector>

namespace meshmem {
namespace {

constexpr std::size_t kBytes = 3 * HostStores::kMostBytes;

struct HostStoresTest : testing::Test {
  HostStoresTest() : memory(kBytes), source(kBytes, std::byte{0xa5}) {
    stores.add(memory.data() + kBytes / 2, kBytes / 2, {&marker, &flush});
    stores.add(memory.data() + 16, 64, {&other_marker});
  }
  std::vector<std::byte> memory, source;
  unsigned flush = 0;
  std::uint64_t marker = 0, other_marker = 0;
  HostStores stores;
};

TEST_F(HostStoresTest, TakeWhatLiesWithinOneMemoryAndIsSmall) {
  std::byte* const large = memory.data() + kBytes / 2;
  std::byte* const small = memory.data() + 16;
  EXPECT_TRUE(stores.try_store(large, source.data(), HostStores::kMostBytes));
  EXPECT_EQ(std::memcmp(large, source.data(), HostStores::kMostBytes), 0);
  EXPECT_TRUE(stores.try_store(small + 61, source.data(), 3));
  EXPECT_TRUE(stores.try_store(large + kBytes / 2 - 1, source.data(), 1));

  const std::vector<std::byte> before = memory;
  EXPECT_FALSE(stores.try_store(large, source.data(), HostStores::kMostBytes + 1));
  EXPECT_FALSE(stores.try_store(large, source.data(), 0));
  EXPECT_FALSE(stores.try_store(small + 61, source.data(), 4)) << "beyond the end";
  EXPECT_FALSE(stores.try_store(small - 1, source.data(), 2)) << "before the beginning";
  EXPECT_FALSE(stores.try_store(small + 64, source.data(), 1)) << "between the two";
  EXPECT_FALSE(stores.try_store(large + kBytes / 2, source.data(), 1)) << "behind the last";
  EXPECT_EQ(memory, before);
  EXPECT_TRUE(stores.holds(small, 64));
  EXPECT_FALSE(stores.holds(small, 65));
}

TEST_F(HostStoresTest, AreCountedUntilTheyHaveArrived) {
  const std::uint64_t before = pending_work.issued.load();
  const std::uint64_t value = 0x8000000000000001;
  ASSERT_TRUE(stores.try_store(memory.data() + kBytes / 2, &value, sizeof value));
  EXPECT_EQ(pending_work.issued.load(), before + 1);
  EXPECT_EQ(flush, 1u) << "somebody may wait for it";
  flush = 0;
  EXPECT_EQ(marker, 0u);
  stores.complete();
  EXPECT_EQ(flush, 1u);
  EXPECT_NE(marker, 0u);
  EXPECT_EQ(other_marker, 0u);
  flush = 0;
  stores.complete();
  EXPECT_EQ(flush, 0u) << "nothing has been stored since";
}

TEST_F(HostStoresTest, FlushTheMemoryThatWasStoredTo) {
  ASSERT_TRUE(stores.try_store(memory.data() + 16, source.data(), 4));
  stores.complete();
  EXPECT_EQ(flush, 0u);
}

TEST(HostStores, WithoutMemoryTakeNothing) {
  HostStores stores;
  int there = 0;
  const int value = 1;
  EXPECT_FALSE(stores.try_store(reinterpret_cast<std::byte*>(&there), &value, sizeof value));
  stores.complete();
  EXPECT_EQ(there, 0);
}

TEST(HostStores, KeepTheirOrderWhereTheRuntimeReliesOnIt) {
  for (const char* name : {"gfx90a", "gfx940", "gfx942"}) {
    EXPECT_TRUE(keeps_host_stores_in_order(name, false)) << name;
    EXPECT_TRUE(keeps_host_stores_in_order(name, true)) << name;
  }
  for (const char* name : {"gfx908", "gfx90c", "gfx950", "gfx1030", "gfx1100", "gfx1201"}) {
    EXPECT_FALSE(keeps_host_stores_in_order(name, false)) << name;
    EXPECT_TRUE(keeps_host_stores_in_order(name, true)) << name;
  }
  for (const char* name : {"gfx803", "gfx900", "gfx906", "gfx1010", "gfx1013", "gfx", "gfx9", "",
                           "cpu", "gfx9zz", "sm_90"})
    EXPECT_FALSE(keeps_host_stores_in_order(name, true)) << name;
}

TEST(HostStores, AskForAccessWithoutAFault) {
  constexpr std::size_t kPage = 4096;
  const auto map = [](int protection) {
    return static_cast<std::byte*>(
        mmap(nullptr, kPage, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  };
  std::byte* const open = map(PROT_READ | PROT_WRITE);
  std::byte* const readable = map(PROT_READ);
  std::byte* const closed = map(PROT_NONE);
  open[8] = std::byte{7};
  EXPECT_TRUE(is_accessible(open + 8, 8));
  EXPECT_EQ(open[8], std::byte{7});
  EXPECT_FALSE(is_accessible(readable, 8));
  EXPECT_FALSE(is_accessible(closed, 8));
  for (std::byte* page : {open, readable, closed}) munmap(page, kPage);
}

}  // namespace
}  // namespace meshmem
