// SPDX-License-Identifier: Apache-2.0
//
// Active sets and the list that gives each a slot, asked by PEs that are threads.
#include "core/active_sets.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <thread>
#include <vector>

namespace meshmem {
namespace {

TEST(ActiveSet, IsWithinAJobIfAllItsPesAre) {
  EXPECT_TRUE((ActiveSet{0, 0, 1}.is_within(1)));
  EXPECT_TRUE((ActiveSet{0, 0, 8}.is_within(8)));
  EXPECT_FALSE((ActiveSet{0, 0, 9}.is_within(8)));
  EXPECT_TRUE((ActiveSet{1, 1, 4}.is_within(8)));
  EXPECT_FALSE((ActiveSet{2, 1, 4}.is_within(8)));
  EXPECT_FALSE((ActiveSet{-1, 0, 2}.is_within(8)));
  EXPECT_FALSE((ActiveSet{8, 0, 1}.is_within(8)));
  EXPECT_FALSE((ActiveSet{0, 0, 0}.is_within(8)));
  EXPECT_FALSE((ActiveSet{0, -1, 2}.is_within(8)));
  EXPECT_FALSE((ActiveSet{0, 32, 2}.is_within(8)));
  EXPECT_FALSE((ActiveSet{0, 30, 8}.is_within(8)));
  EXPECT_FALSE((ActiveSet{2147483647, 30, 2147483647}.is_within(2147483647)));
}

TEST(ActiveSet, ContainsThePesThatItLists) {
  for (int log_stride = 0; log_stride < 4; ++log_stride) {
    for (int size = 1; size <= 5; ++size) {
      const ActiveSet set{3, log_stride, size};
      const std::vector<int> pes = set.pes();
      const std::set<int> members(pes.begin(), pes.end());
      EXPECT_EQ(members.size(), static_cast<std::size_t>(size));
      for (int pe = 0; pe < 50; ++pe) EXPECT_EQ(set.contains(pe), members.count(pe) == 1) << pe;
    }
  }
}

// As many sets as there are slots, none of one PE.
std::vector<ActiveSet> full_list() {
  std::vector<ActiveSet> sets;
  for (int i = 0; i < kActiveSetSlots; ++i) sets.push_back({i / 16, i % 4, 2 + i / 4 % 4});
  return sets;
}

TEST(ActiveSetList, GivesEachSetASlotOfItsOwnForGood) {
  auto list = std::make_unique<ActiveSetList>();
  std::set<int> slots;
  for (const ActiveSet& set : full_list()) slots.insert(list->slot_of(set));
  EXPECT_EQ(slots.size(), static_cast<std::size_t>(kActiveSetSlots));
  EXPECT_EQ(*slots.begin(), kFirstActiveSetSlot);
  EXPECT_EQ(*slots.rbegin(), kMaxTeams - 1);
  EXPECT_EQ(list->slot_of({0, 0, 9}), -1) << "all are taken";
  EXPECT_EQ(list->slot_of({0, 0, 9}), -1);
  for (const ActiveSet& set : full_list()) EXPECT_EQ(slots.count(list->slot_of(set)), 1u);
}

TEST(ActiveSetList, TakesAllSetsOfOnePeForOne) {
  auto list = std::make_unique<ActiveSetList>();
  const int slot = list->slot_of({0, 0, 1});
  EXPECT_EQ(list->slot_of({7, 0, 1}), slot);
  EXPECT_EQ(list->slot_of({7, 3, 1}), slot);
  EXPECT_NE(list->slot_of({0, 0, 2}), slot);
}

TEST(ActiveSetList, TakesAllListsOfOnePeForSuchASet) {
  auto list = std::make_unique<ActiveSetList>();
  const int slot = list->slot_of({0, 0, 1});
  EXPECT_EQ(list->slot_of(name_of(std::vector{0})), slot);
  EXPECT_EQ(list->slot_of(name_of(std::vector{7})), slot);
  EXPECT_NE(list->slot_of(name_of(std::vector{0, 7})), slot);
}

TEST(ActiveSetList, TellsAllWhoAskAtOnceTheSame) {
  constexpr std::size_t kPes = 4;
  auto list = std::make_unique<ActiveSetList>();
  std::vector<std::vector<int>> slots(kPes);
  std::vector<std::thread> pes;
  for (std::size_t pe = 0; pe < kPes; ++pe) {
    pes.emplace_back([&list, &mine = slots[pe]] {
      for (const ActiveSet& set : full_list()) mine.push_back(list->slot_of(set));
    });
  }
  for (std::thread& pe : pes) pe.join();
  for (const std::vector<int>& others : slots) EXPECT_EQ(others, slots[0]);
  EXPECT_EQ(std::set<int>(slots[0].begin(), slots[0].end()).size(), slots[0].size());
}

// Each question is a message there and one back.
TEST(ActiveSetList, OfAFarPeIsAskedOnceForEachPlace) {
  auto list = std::make_unique<ActiveSetList>(), known = std::make_unique<ActiveSetList>();
  int asked = 0;
  const EnterName enter = [&](std::size_t place, std::uint64_t name) {
    ++asked;
    std::uint64_t found = 0;
    list->names[place].compare_exchange_strong(found, name);
    return found;
  };
  const std::vector<ActiveSet> sets = full_list();
  for (std::size_t i = 0; i < sets.size(); i += 2) list->slot_of(sets[i]);  // another PE's
  for (const ActiveSet& set : sets) {
    const int slot = slot_of(name_of(set), *known, enter);
    EXPECT_EQ(slot, list->slot_of(set));
    const int before = asked;
    EXPECT_EQ(slot_of(name_of(set), *known, enter), slot);
    EXPECT_EQ(asked, before) << "a second time";
  }
  EXPECT_EQ(asked, kActiveSetSlots);
  EXPECT_EQ(slot_of(name_of(ActiveSet{0, 0, 9}), *known, enter), -1) << "all are taken";
  EXPECT_EQ(asked, kActiveSetSlots);
}

}  // namespace
}  // namespace meshmem
