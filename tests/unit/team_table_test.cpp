// SPDX-License-Identifier: Apache-2.0
//
// The table of a PE's teams: who may offer slots, which are free, and where sequence numbers go on.
// Then come whole agreements as shmem_team_split_* makes them, by PEs that are threads, two splits
// at a time in each.
#include "core/team_table.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>
#include <thread>
#include <vector>

#include "collectives/combine.hpp"
#include "collectives/reduction.hpp"
#include "collectives/sync.hpp"
#include "pe_threads.hpp"

namespace meshmem {
namespace {

using Pe = PeThreads::Pe;

class Table : public testing::Test {
 protected:
  Table() { map_.my_pe = 3; }
  AddressMap map_;
  TeamTable table_{map_,
                   [](int, int) -> TeamArea* { return nullptr; },
                   [](int world_pe) { return world_pe / 4; },
                   false,
                   1,
                   0};
};

TEST_F(Table, OffersTheLowestFreeSlotFirst) {
  EXPECT_EQ(TeamTable::first_free(table_.offer(0)), 0);
  table_.end_offer(0, true);
  table_.add({3}, 0, 0, {});
  table_.add({3}, 1, 0, {});
  table_.add({3}, 64, 0, {});
  EXPECT_EQ(TeamTable::first_free(table_.offer(0)), 2);
  table_.end_offer(0, true);
}

TEST_F(Table, NumbersTheTeamAndStartsItsSequence) {
  const Team& team = table_.add({5, 3, 1}, 7, 90, {.num_contexts = 4});
  EXPECT_EQ(team.me, 1);
  EXPECT_EQ(team.n, 3);
  EXPECT_EQ(team.slot, 7);
  EXPECT_EQ(team.node.sequence, 90u);
  EXPECT_EQ(team.node.known_started, 90u);
  EXPECT_EQ(team.far_sequence, 90u);
  EXPECT_EQ(team.config.num_contexts, 4);
  EXPECT_EQ(team.find_world_pe(5), 0);
  EXPECT_EQ(team.find_world_pe(1), 2);
  EXPECT_EQ(team.find_world_pe(2), -1);
}

TEST_F(Table, TellsTheNodesOfATeamApart) {
  const Team& team = table_.add({9, 3, 5, 1, 4}, 7, 0, {});  // nodes 2, 0, 1, 0, 1
  ASSERT_EQ(team.nodes.size(), 3u);
  EXPECT_EQ(team.nodes[0].members, (std::vector<int>{0}));
  EXPECT_EQ(team.nodes[1].members, (std::vector<int>{1, 3}));
  EXPECT_EQ(team.nodes[2].members, (std::vector<int>{2, 4}));
  EXPECT_EQ(team.my_node, 1);
  EXPECT_EQ(team.node.pes, (std::vector<int>{3, 1}));
  EXPECT_EQ(team.node.me, 0);
  EXPECT_TRUE(team.is_leader());
  EXPECT_TRUE(table_.add({0, 3}, 8, 0, {}).is_on_one_node());
}

TEST_F(Table, LetsOneSplitOfferAtATime) {
  EXPECT_FALSE(table_.offer(4).busy);
  EXPECT_TRUE(table_.offer(6).busy);
  table_.end_offer(6, false);  // the loser does not take the winner's right away
  EXPECT_TRUE(table_.offer(6).busy);
  table_.end_offer(4, true);
  EXPECT_FALSE(table_.offer(6).busy);
}

TEST_F(Table, GivesPrecedenceToTheLowestParent) {
  EXPECT_FALSE(table_.offer(6).busy);
  EXPECT_TRUE(table_.offer(4).busy);
  table_.end_offer(6, false);
  table_.end_offer(4, false);
  EXPECT_TRUE(table_.offer(6).busy);  // 4 is waiting
  EXPECT_FALSE(table_.offer(4).busy);
  table_.end_offer(4, true);
  EXPECT_FALSE(table_.offer(6).busy);
}

TEST_F(Table, UsesSlotsAgainWithHigherSequences) {
  Team& team = table_.add({3}, 0, 10, {});
  team.node.sequence = 500;
  EXPECT_EQ(table_.highest_sequence(), 500u);
  table_.remove(team);
  EXPECT_EQ(table_.highest_sequence(), 500u);
  const TeamTable::Offer offer = table_.offer(1);
  EXPECT_EQ(TeamTable::first_free(offer), 0);
  EXPECT_EQ(offer.highest_sequence, 500u);
  table_.end_offer(1, true);
  table_.remove(table_.add({3}, 0, 20, {}));  // a lower one does not set it back
  EXPECT_EQ(table_.offer(1).highest_sequence, 500u);
}

// Operations between nodes number themselves, and those of the twin too.
TEST_F(Table, GoesOnAboveTheOperationsBetweenNodes) {
  Team& team = table_.add({3, 5}, 0, 10, {});
  team.node.sequence = 20;
  team.far_sequence = 500;
  EXPECT_EQ(table_.highest_sequence(), 500u);
  team.twin_for_kernels->far_sequence = 600;
  table_.remove(team);
  EXPECT_EQ(table_.offer(1).highest_sequence, 600u);
}

TEST_F(Table, FindsALivingPublishedTeamByItsHandle) {
  Team& team = table_.add({3}, 1, 0, {});
  EXPECT_EQ(table_.find(SHMEM_TEAM_SHARED), nullptr);
  table_.publish(team);
  EXPECT_EQ(handle_of(team.slot), SHMEM_TEAM_SHARED);
  EXPECT_EQ(table_.find(SHMEM_TEAM_SHARED), &team);
  EXPECT_EQ(table_.find(SHMEM_TEAM_WORLD), nullptr);
  EXPECT_EQ(table_.find(SHMEM_TEAM_INVALID), nullptr);
  EXPECT_EQ(table_.find(handle_of(kMaxTeams)), nullptr);
  table_.remove(team);
  EXPECT_EQ(table_.find(SHMEM_TEAM_SHARED), nullptr);
}

// Slots of active sets are never offered.
TEST_F(Table, HasNoFreeSlotWhenAllAreTaken) {
  for (int slot = 0; slot < kFirstActiveSetSlot; ++slot) table_.add({3}, slot, 0, {});
  EXPECT_EQ(TeamTable::first_free(table_.offer(0)), -1);
}

TEST(Offers, AgreeOnWhatIsFreeEverywhereAndOnTheHighest) {
  TeamTable::Offer one, other, agreed;
  one.free_slots.fill(~std::uint64_t{0});
  one.free_slots[0] = 0b0111;
  other.free_slots[0] = 0b1100;
  other.free_slots[31] = 1;
  one.highest_sequence = std::uint64_t{1} << 63;
  other.highest_sequence = 5;
  other.invalid = 1;
  TeamTable::combine_offers(&agreed, &one, &other, 1);
  EXPECT_EQ(TeamTable::first_free(agreed), 2);
  EXPECT_EQ(agreed.free_slots[31], 1u);
  EXPECT_EQ(agreed.highest_sequence, std::uint64_t{1} << 63);
  EXPECT_EQ(agreed.invalid, 1u);
  EXPECT_EQ(agreed.busy, 0u);
  TeamTable::combine_offers(&one, &one, &other, 1);  // in place
  EXPECT_EQ(TeamTable::first_free(one), 2);
}

// Splits the team of `pes` off `parent`, as the API does. Returns nullptr if this PE is no member.
Team* split(TeamTable& table, Team& parent, const std::vector<int>& pes, int my_pe) {
  for (;;) {
    TeamTable::Offer offer = table.offer(parent.slot);
    TeamTable::Offer agreed = offer;
    if (parent.n > 1)
      reduce_one_shot(parent.node, {&TeamTable::combine_offers, sizeof offer}, &agreed, &offer, 1);
    if (agreed.busy) {
      table.end_offer(parent.slot, false);
      std::this_thread::yield();
      continue;
    }
    Team* made = nullptr;
    const int slot = TeamTable::first_free(agreed);
    EXPECT_GE(slot, 0);
    if (std::find(pes.begin(), pes.end(), my_pe) != pes.end())
      made = &table.add(pes, slot, agreed.highest_sequence, {});
    table.end_offer(parent.slot, true);
    return made;
  }
}

void destroy(TeamTable& table, Team& team) {
  sync(team);
  table.remove(team);
}

constexpr int kSlots = 16;

// The sum of members' numbers through a source in this PE's heap, at a place of the thread's own.
void expect_sum(const Pe& pe, Team& team, std::size_t at, std::uint64_t salt) {
  auto* words = reinterpret_cast<std::uint64_t*>(pe.heap + at);
  std::uint64_t expected = 0;
  for (const int member : team.pes) expected += mixed(static_cast<std::uint64_t>(member), salt);
  words[0] = mixed(static_cast<std::uint64_t>(pe.number), salt);
  reduce_two_shot(team.node, reduction<Sum, std::uint64_t>(), words + 8, words, 1);
  EXPECT_EQ(words[8], expected);
}

// Splits `parent` again and again, works in what comes out, and destroys it.
void split_often(const Pe& pe, TeamTable& table, Team& parent, std::size_t at, std::uint64_t seed) {
  std::mt19937_64 random(seed);  // the same in all members of the parent
  for (int round = 0; round < 60; ++round) {
    std::vector<int> pes(parent.pes.begin(), parent.pes.end());
    std::shuffle(pes.begin(), pes.end(), random);
    pes.resize(2 + random() % (pes.size() - 1));
    const std::uint64_t salt = random();
    const auto operations = random() % 30;
    Team* team = split(table, parent, pes, pe.number);
    if (!team) continue;
    team->begin_call("a team of a split");
    for (std::uint64_t i = 0; i < operations; ++i) expect_sum(pe, *team, at, salt + i);
    destroy(table, *team);
  }
}

TEST(Splits, OfTwoThreadsOfEachPeAtOnceEndAndKeepTheirTeamsApart) {
  constexpr int kPes = 5;
  const std::uint64_t seed = test_seed();
  PeThreads job(kPes, 4096, kSlots);
  job.run([&](Pe& pe) {
    TeamTable table(
        pe.map,
        [&](int world_pe, int slot) {
          EXPECT_LT(slot, kSlots);  // few teams live at once, so low slots do
          return job.area(world_pe, slot);
        },
        [](int) { return 0; }, true, 1, 0);
    Team& world = table.add({0, 1, 2, 3, 4}, 0, 0, {});
    world.begin_call("world");
    // Parents that share PEs, of which each is split by a thread of its own.
    const std::vector<int> one{0, 1, 2, 3}, other{4, 2, 3};
    Team* first = split(table, world, one, pe.number);
    Team* second = split(table, world, other, pe.number);
    std::vector<std::thread> threads;
    if (first) threads.emplace_back([&] { split_often(pe, table, *first, 0, seed); });
    if (second) threads.emplace_back([&] { split_often(pe, table, *second, 1024, seed + 1); });
    for (std::thread& thread : threads) thread.join();
    if (first) destroy(table, *first);
    if (second) destroy(table, *second);
    sync(world);
    const TeamTable::Offer left = table.offer(0);
    EXPECT_EQ(left.free_slots[0], ~std::uint64_t{1}) << "only the world is left";
    table.end_offer(0, true);
  });
}

}  // namespace
}  // namespace meshmem
