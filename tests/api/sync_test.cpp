// SPDX-License-Identifier: Apache-2.0
//
// barrier_all, sync_all and team_sync: nobody leaves before all have come, with late PEs and over
// many rounds. Invariant: each PE publishes the round that it is in before it enters; a PE that
// leaves finds no PE in an earlier round.
#include <chrono>
#include <thread>
#include <vector>

#include "symmetric_array.hpp"

namespace meshmem {
namespace {

void be_late(int milliseconds) {
  std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
}

// Enters `meet` once a round with all PEs of `pes`, one of them late now and then.
template <typename Meet>
void meet_in_rounds(const Meet& meet, const std::vector<int>& pes, int rounds, int every) {
  static long entered;
  shmem_barrier_all();
  entered = 0;
  shmem_barrier_all();
  int too_early = 0;
  for (long round = 1; round <= rounds; ++round) {
    const auto late = static_cast<size_t>(round / every) % pes.size();
    if (round % every == 0 && my_pe() == pes[late]) be_late(2);
    __atomic_store_n(&entered, round, __ATOMIC_RELAXED);
    meet();
    for (int pe : pes) {
      auto* theirs = static_cast<long*>(shmem_ptr(&entered, pe));
      const long found =
          theirs ? __atomic_load_n(theirs, __ATOMIC_RELAXED) : shmem_long_g(&entered, pe);
      too_early += found < round || found > round + 1;
    }
  }
  EXPECT_EQ(too_early, 0) << "someone left before all had come";
}

std::vector<int> every_nth_pe(int n) {
  std::vector<int> pes;
  for (int pe = 0; pe < n_pes(); pe += n) pes.push_back(pe);
  return pes;
}

TEST(BarrierAll, S36_NobodyLeavesBeforeAllHaveCome) {
  meet_in_rounds(shmem_barrier_all, every_nth_pe(1), 600, 60);
}

TEST(SyncAll, S36_NobodyLeavesBeforeAllHaveCome) {
  meet_in_rounds(shmem_sync_all, every_nth_pe(1), 600, 60);
}

TEST(TeamSync, S36_NobodyLeavesBeforeAllHaveCome) {
  auto meet = [] { EXPECT_EQ(shmem_team_sync(SHMEM_TEAM_WORLD), 0); };
  meet_in_rounds(meet, every_nth_pe(1), 600, 60);
}

TEST(TeamSync, S52_SyncsTheMembersOnly) {
  shmem_team_t team = SHMEM_TEAM_INVALID;
  const std::vector<int> pes = every_nth_pe(2);
  EXPECT_EQ(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 2, static_cast<int>(pes.size()), nullptr,
                                     0, &team),
            0);
  auto meet = [&] {
    if (team != SHMEM_TEAM_INVALID) {
      EXPECT_EQ(shmem_sync(team), 0);
    }
  };
  if (team != SHMEM_TEAM_INVALID) {
    meet_in_rounds(meet, pes, 400, 40);
  } else {
    shmem_barrier_all();  // the two of meet_in_rounds
    shmem_barrier_all();
  }
  shmem_team_destroy(team);
}

// Each PE in turn is so late that the others are asleep when it comes.
TEST(BarrierAll, WaitsForAPeThatIsVeryLate) {
  SymmetricArray<long> word(1);
  for (int late = 0; late < n_pes(); ++late) {
    word[0] = -1;
    shmem_barrier_all();
    if (my_pe() == late) {
      be_late(60);
      for (int pe = 0; pe < n_pes(); ++pe) shmem_long_p(word, late, pe);
    }
    shmem_barrier_all();
    EXPECT_EQ(word[0], late);
    shmem_barrier_all();
  }
}

TEST(BarrierAll, S36_CompletesPutsToEveryPe) {
  const auto size = static_cast<size_t>(n_pes());
  SymmetricArray<int> from(size);
  std::vector<int> source(size);
  for (int round = 0; round < 200; ++round) {
    for (int pe = 0; pe < n_pes(); ++pe) {
      source[static_cast<size_t>(pe)] = 1000 * round + 10 * my_pe() + pe;
      shmem_int_put_nbi(&from[static_cast<size_t>(my_pe())], &source[static_cast<size_t>(pe)], 1,
                        pe);
    }
    shmem_barrier_all();
    expect_each("put", from.data(), size,
                [=](size_t pe) { return 1000 * round + 10 * static_cast<int>(pe) + my_pe(); });
    shmem_barrier_all();
  }
}

TEST(SyncAll, S36_CompletesMemoryStores) {
  SymmetricArray<long> word(1);
  for (long round = 0; round < 300; ++round) {
    word[0] = round * 100 + my_pe();
    shmem_sync_all();
    EXPECT_EQ(shmem_long_g(word, next_pe()), round * 100 + next_pe());
    shmem_sync_all();
  }
}

// The three of them in turn, on two teams: they do not take each other's arrivals for their own.
TEST(Sync, KindsAndTeamsMayAlternate) {
  shmem_team_t reversed = SHMEM_TEAM_INVALID;
  EXPECT_EQ(
      shmem_team_split_strided(SHMEM_TEAM_WORLD, n_pes() - 1, -1, n_pes(), nullptr, 0, &reversed),
      0);
  int turn = 0;
  auto meet = [&] {
    switch (turn++ % 4) {
      case 0:
        return shmem_barrier_all();
      case 1:
        return static_cast<void>(shmem_team_sync(reversed));
      case 2:
        return shmem_sync_all();
      default:
        // Of one machine it is the meeting of all.
        return static_cast<void>(
            shmem_team_sync(is_far_pe_there() ? SHMEM_TEAM_WORLD : SHMEM_TEAM_SHARED));
    }
  };
  meet_in_rounds(meet, every_nth_pe(1), 800, 100);
  shmem_team_destroy(reversed);
}

}  // namespace
}  // namespace meshmem
