// SPDX-License-Identifier: Apache-2.0
//
// Cells of the shadow of MESHMEM_CHECK=races: what is added at once, and with a look for races.
#include "tools/races/shadow.hpp"

#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <thread>
#include <vector>

#include "tools/races/noted.hpp"

namespace meshmem::races {
namespace {

constexpr int kPes = 3;

// The memory of a PE, and a clock that knows nothing.
struct Memory {
  std::array<Cell, 16> cells{};
  std::array<CellLock, Shadow::kLocks> locks{};
  std::array<std::uint32_t, 32> loads{}, stores{};
  std::array<std::uint16_t, 32> load_sites{}, store_sites{};
  std::array<std::uint8_t, 16> unsettled{};
  Shadow shadow{.cells = cells,
                .locks = locks.data(),
                .pe = 0,
                .loads = {loads.data(), load_sites.data()},
                .stores = {stores.data(), store_sites.data()},
                .unsettled = unsettled.data()};
  std::vector<std::uint32_t> numbers = std::vector<std::uint32_t>(kPes * kOrders);

  std::optional<Access> add(std::size_t offset, std::size_t bytes, const Access& access) {
    return add_access(shadow, offset, bytes, access, Clock(numbers, kPes));
  }
  bool try_add(const Access& access) {
    return try_add_access(shadow, 0, words_of(access), Clock(numbers, kPes));
  }
  // PE 0 knows of calls of another.
  void learn(int pe, std::uint32_t call_number) {
    numbers[place_in_clock(kPes, {pe, 0}, Order::program)] = call_number;
  }
  bool settles(bool stores, unsigned bytes = 255) {
    return settle(shadow, 0, static_cast<std::uint8_t>(bytes), stores, Clock(numbers, kPes), 7);
  }
  std::optional<Access> find_noted(std::size_t offset, std::size_t bytes, const Access& access) {
    return find_in_ledger(shadow, {offset, bytes}, access, Clock(numbers, kPes));
  }
  bool has(const Access& access) const {
    for (const Slot& slot : cells[0].slots)
      if (slot.contains(words_of(access))) return true;
    return false;
  }
  int count() const {
    int n = 0;
    for (const Slot& slot : cells[0].slots) n += slot.load().is_there;
    return n;
  }
};

Access access_of(int pe, std::uint32_t call_number, bool writes, unsigned bytes = 255) {
  Access access{};
  access.call_number = call_number;
  access.version = 1;
  access.pe = static_cast<std::uint16_t>(pe);
  access.site = 7;
  access.bytes = static_cast<std::uint8_t>(bytes);
  access.writes = writes;
  access.is_program = access.is_there = 1;
  return access;
}

TEST(Piece, IsOfOneCellAndHasBytes) {
  EXPECT_TRUE(is_piece(8, 8));
  EXPECT_TRUE(is_piece(15, 1));
  EXPECT_FALSE(is_piece(15, 2));
  EXPECT_FALSE(is_piece(8, 0));
  EXPECT_FALSE(is_piece(13, 0));
  EXPECT_FALSE(is_piece(8, SIZE_MAX));
}

TEST(Words, HaveTheFieldsOfAnAccess) {
  const auto rest = [](auto set) {
    Access access{};
    set(access);
    return words_of(access).rest;
  };
  EXPECT_EQ(Rest::kSite, rest([](Access& access) { access.site = 0xffff; }));
  EXPECT_EQ(Rest::kStrand, rest([](Access& access) { access.row = 1; }));
  EXPECT_EQ(Rest::kByte, rest([](Access& access) { access.bytes = 1; }));
  EXPECT_EQ(Rest::kBytes, rest([](Access& access) { access.bytes = 0xff; }));
  EXPECT_EQ(Rest::kWrites, rest([](Access& access) { access.writes = 1; }));
  EXPECT_EQ(Rest::kIsCrowded, rest([](Access& access) { access.is_crowded = 1; }));
}

TEST(TryAdd, TakesHalvesOfACellAsOne) {
  Memory memory;
  EXPECT_TRUE(memory.try_add(access_of(1, 5, true, 0x0f)));
  EXPECT_FALSE(memory.has(access_of(1, 5, true)));
  EXPECT_TRUE(memory.try_add(access_of(1, 5, true, 0xf0)));
  EXPECT_TRUE(memory.has(access_of(1, 5, true)));
  EXPECT_TRUE(memory.has(access_of(1, 5, false)));
  EXPECT_EQ(memory.count(), 1);
}

TEST(TryAdd, KeepsAWriteWhereThereIsAReadOfAnotherCall) {
  Memory memory;
  EXPECT_TRUE(memory.try_add(access_of(1, 5, true)));
  EXPECT_TRUE(memory.try_add(access_of(1, 6, false)));
  EXPECT_TRUE(memory.has(access_of(1, 5, true)));
  EXPECT_TRUE(memory.has(access_of(1, 6, false)));
  EXPECT_TRUE(memory.try_add(access_of(1, 7, true)));
  EXPECT_EQ(memory.count(), 1);
}

TEST(TryAdd, LeavesUnknownAccessesOfOthersToTheRest) {
  for (const bool writes : {false, true}) {
    Memory memory;
    EXPECT_FALSE(memory.add(0, 8, access_of(2, 5, writes)));
    EXPECT_FALSE(memory.try_add(access_of(1, 9, true)));
    EXPECT_FALSE(memory.has(access_of(1, 9, true)));
    const auto race = memory.add(0, 8, access_of(1, 9, true));
    ASSERT_TRUE(race);
    EXPECT_EQ(race->pe, 2);
  }
}

TEST(TryAdd, TakesAccessesOfOthersThatAreKnown) {
  for (const bool writes : {false, true}) {
    Memory memory;
    EXPECT_FALSE(memory.add(0, 8, access_of(2, 5, true)));
    memory.numbers[place_in_clock(kPes, {2, 0}, Order::program)] = 4;
    EXPECT_FALSE(memory.try_add(access_of(1, 9, writes)));
    memory.numbers[place_in_clock(kPes, {2, 0}, Order::program)] = 5;
    EXPECT_TRUE(memory.try_add(access_of(1, 9, writes)));
    EXPECT_EQ(memory.has(access_of(2, 5, true)), !writes);
    EXPECT_TRUE(memory.has(access_of(1, 9, writes)));
  }
}

TEST(TryAdd, LeavesOtherStrandsAndCallsUnderWayToTheRest) {
  Memory memory;
  Access other = access_of(1, 5, false);
  other.row = 31;
  EXPECT_TRUE(memory.try_add(other));
  EXPECT_FALSE(memory.try_add(access_of(1, 5, false)));
  EXPECT_FALSE(memory.has(access_of(1, 5, false)));

  Memory second;
  Access under_way = access_of(1, 5, true);
  under_way.order = static_cast<std::uint8_t>(Order::pending);
  under_way.is_program = 0;
  EXPECT_FALSE(second.add(0, 8, under_way));
  EXPECT_FALSE(second.try_add(access_of(1, 6, false)));
  EXPECT_TRUE(second.add(0, 8, access_of(1, 6, false)));
}

TEST(TryAdd, FindsNothingOfAnotherPeWithTheSameNumbers) {
  Memory memory;
  EXPECT_TRUE(memory.try_add(access_of(2, UINT32_MAX, true)));
  EXPECT_FALSE(memory.has(access_of(1, UINT32_MAX, true)));
  EXPECT_TRUE(memory.has(access_of(2, UINT32_MAX, true)));
}

TEST(TryAdd, LeavesAFullCellToTheRulesOfForgetting) {
  Memory memory;
  for (std::uint32_t call = 1; call <= 4; ++call)
    EXPECT_TRUE(memory.try_add(access_of(1, call, true, 1u << call)));
  EXPECT_FALSE(memory.try_add(access_of(1, 5, true, 1)));
  EXPECT_FALSE(memory.add(0, 1, access_of(1, 5, true, 1)));
  EXPECT_TRUE(memory.cells[0].slots[0].load().is_crowded);
  // It stays so whatever comes.
  EXPECT_TRUE(memory.try_add(access_of(1, 6, true)));
  EXPECT_TRUE(memory.cells[0].slots[0].load().is_crowded);
  EXPECT_EQ(memory.count(), 1);
  EXPECT_FALSE(see_writes(memory.shadow, 0, 8, {0, 0}, [](const Access&) {}));
}

TEST(Add, CrossesCellsAndLocks) {
  Memory memory;
  EXPECT_FALSE(memory.add(7, 8 * 8 + 2, access_of(1, 1, true)));
  EXPECT_EQ(memory.cells[0].slots[0].load().bytes, 0x80);
  for (std::size_t cell = 1; cell < 9; ++cell)
    EXPECT_EQ(memory.cells[cell].slots[0].load().bytes, 0xff);
  EXPECT_EQ(memory.cells[9].slots[0].load().bytes, 0x01);
  EXPECT_FALSE(memory.cells[10].slots[0].load().is_there);
  for (const CellLock& lock : memory.locks) EXPECT_EQ(lock.load(), 0);
  EXPECT_FALSE(is_in_board);
}

// Another PE's access with this PE's numbers takes the place of an older one: a thread never takes
// half of the one and half of the other for its own.
TEST(Settle, LetsLoadsPassReadsAndNothingPassUnknownWrites) {
  for (const bool writes : {false, true}) {
    Memory memory;
    EXPECT_FALSE(memory.add(0, 8, access_of(1, 5, writes)));
    EXPECT_EQ(memory.unsettled[0], writes ? 3 : 1);
    EXPECT_EQ(memory.settles(false), !writes);
    EXPECT_FALSE(memory.settles(true));
    EXPECT_EQ(memory.unsettled[0], writes ? 3 : 1);
    EXPECT_EQ(memory.unsettled[1], 0);
  }
}

// Else a PE that repeats its access would find it there, and look no further.
TEST(Settle, TakesOutWhatAStoreStandsFor) {
  Memory memory;
  EXPECT_FALSE(memory.add(0, 8, access_of(1, 5, false)));
  memory.learn(1, 5);
  EXPECT_TRUE(memory.settles(false));
  EXPECT_EQ(memory.unsettled[0], kStoresMustLook);
  EXPECT_TRUE(memory.settles(true, 0x0f));
  EXPECT_TRUE(memory.has(access_of(1, 5, false)));
  EXPECT_EQ(memory.unsettled[0], kStoresMustLook);
  EXPECT_TRUE(memory.settles(true));
  EXPECT_FALSE(memory.has(access_of(1, 5, false)));
  EXPECT_EQ(memory.unsettled[0], 0);
}

TEST(Settle, CountsStoresOfThePhaseTogether) {
  for (const std::uint32_t number : {6u, 7u}) {
    Memory memory;
    EXPECT_FALSE(memory.add(0, 8, access_of(1, 5, true)));
    memory.learn(1, 5);
    memory.stores[1] = number;
    EXPECT_TRUE(memory.settles(false, 0x0f));
    EXPECT_TRUE(memory.has(access_of(1, 5, true)));
    EXPECT_TRUE(memory.settles(true, 0x0f));
    EXPECT_EQ(memory.has(access_of(1, 5, true)), number == 6);
    EXPECT_EQ(memory.unsettled[0], number == 6 ? kStoresMustLook : 0);
  }
}

TEST(Settle, LooksAtOwnCallsUnderWay) {
  Memory memory;
  Access own = access_of(0, 5, true);
  own.is_program = 0;
  EXPECT_FALSE(memory.add(0, 8, own));
  EXPECT_EQ(memory.unsettled[0], 0);
  own.order = static_cast<std::uint8_t>(Order::pending);
  EXPECT_FALSE(memory.add(0, 8, own));
  EXPECT_EQ(memory.unsettled[0], 3);
  EXPECT_FALSE(memory.settles(false));
  memory.numbers[place_in_clock(kPes, {0, 0}, Order::pending)] = 5;
  EXPECT_TRUE(memory.settles(false));
  EXPECT_EQ(memory.unsettled[0], 0);
}

TEST(Ledger, HasRacesWithUnknownAccesses) {
  Memory memory;
  memory.loads[3] = 7;  // bytes 12 to 15
  memory.load_sites[3] = 9;
  EXPECT_FALSE(memory.find_noted(0, 12, access_of(1, 5, true)));
  EXPECT_FALSE(memory.find_noted(16, 8, access_of(1, 5, true)));
  EXPECT_FALSE(memory.find_noted(0, 32, access_of(1, 5, false)));
  const auto race = memory.find_noted(15, 1, access_of(1, 5, true));
  ASSERT_TRUE(race);
  EXPECT_EQ(race->site, 9);
  EXPECT_EQ(race->call_number, 7u);
  EXPECT_EQ(race->bytes, 0xf0);
  EXPECT_FALSE(race->writes);
  memory.stores[3] = 7;
  EXPECT_TRUE(memory.find_noted(8, 5, access_of(1, 5, false))->writes);
  memory.learn(0, 7);
  EXPECT_FALSE(memory.find_noted(8, 8, access_of(1, 5, true)));
}

TEST(Ledger, LosesAccessesOfItsPhaseThatAWriteStandsFor) {
  Memory memory;
  const auto take = [&](std::size_t offset, std::size_t bytes, std::uint32_t phase) {
    take_from_ledger(memory.shadow, {offset, bytes}, Clock(memory.numbers, kPes), phase);
  };
  memory.loads = {6, 7, 8};
  memory.stores = {7, 7, 7};
  take(0, 12, 7);  // which knows nothing
  EXPECT_EQ(memory.stores[0], 7u);
  memory.learn(0, 7);
  take(0, 7, 7);
  EXPECT_EQ(memory.stores[0], 0u);
  EXPECT_EQ(memory.loads[0], 6u);
  EXPECT_EQ(memory.stores[1], 7u);
  take(4, 8, 7);
  EXPECT_EQ(memory.loads[1], 0u);
  EXPECT_EQ(memory.stores[2], 0u);
  EXPECT_EQ(memory.loads[2], 8u);
}

TEST(See, FindsStoresOfTheLedger) {
  Memory memory;
  std::vector<Access> seen;
  const auto see = [&](int pe, std::size_t offset, std::size_t bytes) {
    seen.clear();
    return see_writes(memory.shadow, offset, bytes, {pe, 0},
                      [&](const Access& write) { seen.push_back(write); });
  };
  memory.stores[1] = 4;
  EXPECT_FALSE(see(1, 0, 4));
  EXPECT_TRUE(see(0, 0, 8));
  EXPECT_TRUE(seen.empty());
  EXPECT_TRUE(see(1, 7, 1));
  ASSERT_EQ(seen.size(), 1u);
  EXPECT_EQ(seen[0].call_number, 4u);
  EXPECT_EQ(seen[0].version, 0u);
}

// Calls of PE 1 that set a word; those with `repeat` set the value of the call before.
TEST(See, TakesTheOldestUnseenWriteOfAValue) {
  Memory memory;
  const auto set = [&](std::uint32_t call_number, Manner manner) {
    Access write = access_of(1, call_number, true);
    write.is_program = 0;
    write.order = static_cast<std::uint8_t>(Order::signaled);
    write.manner = static_cast<std::uint8_t>(manner);
    memory.add(0, 8, write);
  };
  const auto seen = [&](int pe) {
    std::vector<std::uint32_t> calls;
    see_writes(memory.shadow, 0, 8, {pe, 0},
               [&](const Access& write) { calls.push_back(write.call_number); });
    return calls;
  };
  using Calls = std::vector<std::uint32_t>;
  set(1, Manner::atomic);
  for (const std::uint32_t call_number : {2, 3}) set(call_number, Manner::repeat);
  EXPECT_EQ(seen(1), Calls{}) << "its own writes";
  EXPECT_EQ(seen(0), Calls{1});
  EXPECT_EQ(seen(0), (Calls{1, 3}));
  EXPECT_EQ(seen(2), (Calls{1, 3}));
  set(4, Manner::repeat);
  EXPECT_EQ(seen(0), Calls{4}) << "the write before was seen";
  set(5, Manner::repeat);
  set(6, Manner::repeat);
  set(7, Manner::atomic);
  EXPECT_EQ(seen(0), Calls{7}) << "another value";
  EXPECT_EQ(memory.count(), 1);
  set(8, Manner::atomic);
  Access between = access_of(2, 1, true);
  between.is_program = 0;
  memory.add(0, 8, between);
  set(9, Manner::repeat);
  EXPECT_EQ(seen(1), Calls{1});
  EXPECT_EQ(seen(2), Calls{9}) << "another PE may have changed the value";
}

TEST(Slot, IsReadWhole) {
  const Words mine = words_of(access_of(1, 5, true)), old = words_of(access_of(1, 4, true)),
              others = words_of(access_of(2, 5, true));
  std::vector<Slot> slots(100'000);
  for (Slot& slot : slots) slot.store(old);
  std::atomic<std::size_t> n_stored = 0;
  std::thread writer([&] {
    for (Slot& slot : slots) {
      slot.store(others);
      n_stored.fetch_add(1, std::memory_order_relaxed);
    }
  });
  for (std::size_t at = 0; at < slots.size(); at = n_stored)
    ASSERT_FALSE(slots[at].contains(mine)) << at;
  writer.join();
}

TEST(HeldCells, TakesALockAwayFromADeadPe) {
  CellLock lock = 1;
  { const HeldCells held(lock); }
  EXPECT_EQ(lock.load(), 0);
}

}  // namespace
}  // namespace meshmem::races
