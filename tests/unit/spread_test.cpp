// SPDX-License-Identifier: Apache-2.0
//
// Which core each PE gets: with more PEs than cores an even share, else one where no PE is. All
// PEs must compute the same, so each test asks for all of them.
#include "core/spread.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>
#include <vector>

namespace meshmem {
namespace {

using Cores = std::vector<int>;

cpu_set_t set_with(std::initializer_list<int> cores) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int core : cores) CPU_SET(static_cast<std::size_t>(core), &set);
  return set;
}

// PE i runs on core running[i] and may use sets[i]. The last set also holds for all further PEs.
struct Job {
  Job(const Cores& running, const std::vector<cpu_set_t>& sets) : directory(running.size()) {
    for (std::size_t i = 0; i < running.size(); ++i) {
      directory[i].core = running[i];
      directory[i].cpus = sets[std::min(i, sets.size() - 1)];
    }
  }
  int n() const { return static_cast<int>(directory.size()); }
  std::vector<DirectoryEntry> directory;
};

Cores deal(int n_pes, const std::vector<cpu_set_t>& sets, const CoreShare& share = {}) {
  const Job job(Cores(static_cast<std::size_t>(n_pes)), sets);
  Cores dealt;
  for (int me = 0; me < n_pes; ++me)
    dealt.push_back(core_dealt_to(job.directory.data(), me, share));
  return dealt;
}

std::vector<Cores> part(const Cores& running, const std::vector<cpu_set_t>& sets) {
  const Job job(running, sets);
  std::vector<Cores> given(running.size());
  for (int me = 0; me < job.n(); ++me) {
    const cpu_set_t cores = cores_to_leave_for(job.directory.data(), job.n(), me);
    for (int core = 0; core < CPU_SETSIZE; ++core)
      if (CPU_ISSET(static_cast<std::size_t>(core), &cores))
        given[static_cast<std::size_t>(me)].push_back(core);
  }
  return given;
}

TEST(Spread, DealsCoresInTurnToPesThatMayUseTheSame) {
  EXPECT_EQ(deal(5, {set_with({3, 1023})}), (Cores{3, 1023, 3, 1023, 3}));
  const cpu_set_t even = set_with({0, 2}), odd = set_with({1, 3});
  EXPECT_EQ(deal(8, {even, odd, even, odd, even, odd, even, odd}), (Cores{0, 1, 2, 3, 0, 1, 2, 3}));
}

TEST(Spread, DealsAPartOfTheCoresToEachNode) {
  const cpu_set_t eight = set_with({0, 2, 4, 6, 8, 10, 12, 1023});
  EXPECT_EQ(deal(3, {eight}, {.nodes = 3, .index = 0}), (Cores{0, 2, 0}));
  EXPECT_EQ(deal(4, {eight}, {.nodes = 3, .index = 1}), (Cores{4, 6, 8, 4}));
  EXPECT_EQ(deal(4, {eight}, {.nodes = 3, .index = 2}), (Cores{10, 12, 1023, 10}));
}

TEST(Spread, DealsACoreToSeveralNodesWhereThereAreMore) {
  const cpu_set_t two = set_with({1, 5});
  EXPECT_EQ(deal(2, {two}, {.nodes = 3, .index = 0}), (Cores{1, 1}));
  EXPECT_EQ(deal(2, {two}, {.nodes = 3, .index = 1}), (Cores{1, 1}));
  EXPECT_EQ(deal(2, {two}, {.nodes = 3, .index = 2}), (Cores{5, 5}));
}

TEST(Spread, DealsNothingToAPeWithoutCores) { EXPECT_EQ(deal(2, {set_with({})}), (Cores{-1, -1})); }

TEST(Spread, LeavesAloneAPeThatIsAloneOnItsCore) {
  EXPECT_EQ(part({2, 0, 1}, {set_with({0, 1, 2, 3})}), (std::vector<Cores>{{}, {}, {}}));
}

TEST(Spread, PartsPesOnOneCore) {
  EXPECT_EQ(part({1, 1}, {set_with({0, 1})}), (std::vector<Cores>{{}, {0}}));
  EXPECT_EQ(part({5, 5, 5, 2}, {set_with({0, 1, 2, 3, 4, 5, 1023})}),
            (std::vector<Cores>{{}, {0, 3, 1023}, {1, 4}, {}}));
}

TEST(Spread, PartsPesIntoCoresThatEachMayUse) {
  const cpu_set_t low = set_with({0, 1}), high = set_with({4, 5});
  EXPECT_EQ(part({0, 0, 4, 4}, {low, low, high}), (std::vector<Cores>{{}, {1}, {}, {5}}));
  EXPECT_EQ(part({0, 0}, {set_with({0})}), (std::vector<Cores>{{}, {}}));  // nowhere to go
}

TEST(Spread, PartsPesThatTakeTurnsOnTwoSetsOfCores) {
  const cpu_set_t low = set_with({0, 1, 2, 3}), high = set_with({4, 5, 6, 7});
  EXPECT_EQ(part({0, 4, 0, 4, 0, 5, 1, 6}, {low, high, low, high, low, high, low, high}),
            (std::vector<Cores>{{}, {}, {2}, {7}, {3}, {}, {}, {}}));
}

TEST(Spread, PartsPesWhoseCoreIsKnown) {
  EXPECT_EQ(part({-1, -1, 3, 3}, {set_with({0, 3})}), (std::vector<Cores>{{}, {}, {}, {0}}));
}

}  // namespace
}  // namespace meshmem
