// SPDX-License-Identifier: Apache-2.0
//
// The teams of active sets: whichever thread comes first makes a team, and the others find it when
// its members have met.
#include "core/active_set_teams.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <chrono>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

namespace meshmem {
namespace {

class ActiveSetTeam : public testing::Test {
 protected:
  static constexpr int kMe = 3;

  ActiveSetTeam() {
    map_.my_pe = kMe;
    open_round();
  }

  // As the library does between two initializations; PE 0's list stays.
  void open_round() {
    table_ = std::make_unique<TeamTable>(
        map_, [](int, int) -> TeamArea* { return nullptr; }, [](int) { return 0; }, false, 1, 0);
    teams_.open(list_.get(), *table_, [this](std::vector<int> pes, int slot) -> Team& {
      std::this_thread::sleep_for(std::chrono::microseconds(100));  // so that others come meanwhile
      ++n_made_;
      return table_->add(std::move(pes), slot, 0, {});
    });
  }

  Team* find(const ActiveSet& set) {
    return teams_.team_of(set, [](Team&) {});
  }
  bool makes(const ActiveSet& set) {
    bool is_new = false;
    teams_.team_of(set, [&](Team&) { is_new = true; });
    return is_new;
  }

  AddressMap map_;
  std::unique_ptr<ActiveSetList> list_ = std::make_unique<ActiveSetList>();
  std::unique_ptr<TeamTable> table_;
  ActiveSetTeams teams_;
  std::atomic<int> n_made_{0};
};

TEST_F(ActiveSetTeam, HasThePesOfTheSetAndItsSlot) {
  const ActiveSet set{1, 1, 3};
  const Team* team = find(set);
  ASSERT_NE(team, nullptr);
  EXPECT_EQ(team->n, 3);
  EXPECT_EQ(team->me, 1);
  EXPECT_EQ(team->find_world_pe(5), 2);
  EXPECT_EQ(team->slot, list_->slot_of(set));
}

TEST_F(ActiveSetTeam, IsMadeByTheFirstUseAlone) {
  const ActiveSet set{0, 0, 8};
  EXPECT_TRUE(makes(set));
  EXPECT_FALSE(makes(set));
  EXPECT_EQ(find(set), find(set));
  EXPECT_NE(find(set), find({3, 0, 2}));
  EXPECT_EQ(n_made_, 2);
}

TEST_F(ActiveSetTeam, IsMadeOnceByThreadsThatComeAtOnce) {
  constexpr int kThreads = 8, kSets = 64;
  std::vector<std::vector<Team*>> found(kThreads);
  std::atomic<int> n_new{0};
  std::barrier together(kThreads);
  {
    std::vector<std::jthread> threads;
    for (std::vector<Team*>& mine : found)
      threads.emplace_back([&] {
        for (int size = 4; size < 4 + kSets; ++size) {
          together.arrive_and_wait();
          mine.push_back(teams_.team_of({0, 0, size}, [&](Team&) { ++n_new; }));
        }
      });
  }
  EXPECT_EQ(n_made_, kSets);
  EXPECT_EQ(n_new, kSets);
  for (const std::vector<Team*>& mine : found) EXPECT_EQ(mine, found[0]);
}

TEST_F(ActiveSetTeam, IsFoundByOtherThreadsOnlyAfterItsMembersHaveMet) {
  const ActiveSet set{0, 0, 8};
  std::atomic<bool> have_met{false}, had_met{false};
  Team* found = nullptr;
  std::jthread other;
  Team* const made = teams_.team_of(set, [&](Team&) {
    other = std::jthread([&] {
      found = find(set);
      had_met = have_met.load();
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(20));  // the other one waits meanwhile
    have_met = true;
  });
  other.join();
  EXPECT_EQ(found, made);
  EXPECT_TRUE(had_met);
}

// Threads of two PEs may come to the same two sets in opposite orders.
TEST_F(ActiveSetTeam, OfAnotherSetIsMadeWhileMembersMeet) {
  Team* inner = nullptr;
  Team* const outer = teams_.team_of({0, 0, 8}, [&](Team&) {
    std::jthread([&] { inner = find({3, 0, 2}); });
  });
  EXPECT_NE(inner, nullptr);
  EXPECT_NE(inner, outer);
}

TEST_F(ActiveSetTeam, IsMadeAgainInTheNextRoundInTheSameSlot) {
  const ActiveSet set{3, 0, 2};
  const int slot = find(set)->slot;
  open_round();
  EXPECT_TRUE(makes(set));
  EXPECT_EQ(find(set)->slot, slot);
}

TEST_F(ActiveSetTeam, DoesNotExistWhenAllSlotsAreTaken) {
  for (int size = 2; size < 2 + kActiveSetSlots; ++size) list_->slot_of({0, 0, size});
  EXPECT_FALSE(makes({3, 0, 2}));
  EXPECT_EQ(find({3, 0, 2}), nullptr);
  EXPECT_EQ(n_made_, 0);
}

}  // namespace
}  // namespace meshmem
