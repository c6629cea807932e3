// SPDX-License-Identifier: Apache-2.0
//
// SHMEM_THREAD_MULTIPLE: several threads of each PE put, update, wait, make contexts and run
// collectives of their own teams at the same time. Also what ThreadSanitizer runs on.
// Invariant: threads of one PE share no plain variable without a lock. Only the main thread calls
// collectives of the world.
#include <atomic>
#include <chrono>
#include <functional>
#include <thread>
#include <vector>

#include "symmetric_array.hpp"
#include "team_views.hpp"

namespace meshmem {
namespace {

constexpr size_t kThreads = 8;

// Runs work(thread) on kThreads threads and waits for them.
void in_threads(const std::function<void(size_t thread)>& work) {
  std::vector<std::thread> threads;
  for (size_t t = 0; t < kThreads; ++t) threads.emplace_back(work, t);
  for (std::thread& thread : threads) thread.join();
}

size_t index(int pe, size_t thread) { return static_cast<size_t>(pe) * kThreads + thread; }

TEST(Threads, PutToTheirOwnPlaces) {
  constexpr size_t kElems = 40;
  SymmetricArray<uint64_t> dest(index(n_pes(), 0) * kElems);
  in_threads([&](size_t thread) {
    std::vector<uint64_t> source(kElems);
    fill(source.data(), kElems, my_pe(), static_cast<int>(thread));
    uint64_t* place = &dest[index(my_pe(), thread) * kElems];
    for (int pe = 0; pe < n_pes(); ++pe) {
      if (thread % 2 == 0) shmem_uint64_put(place, source.data(), kElems, pe);
      if (thread % 2 == 1) shmem_uint64_put_nbi(place, source.data(), kElems, pe);
      shmem_quiet();
    }
    std::vector<uint64_t> back(kElems);
    shmem_uint64_get(back.data(), place, kElems, next_pe());
    expect_filled("get", back.data(), kElems, my_pe(), static_cast<int>(thread));
  });
  shmem_barrier_all();
  for (int pe = 0; pe < n_pes(); ++pe) {
    for (size_t t = 0; t < kThreads; ++t) {
      expect_filled("put", &dest[index(pe, t) * kElems], kElems, pe, static_cast<int>(t));
    }
  }
}

TEST(Threads, S41_DrawDistinctTickets) {
  constexpr size_t kRounds = 100;
  const size_t tickets = index(n_pes(), 0) * kRounds;
  SymmetricArray<long> counter(1);
  SymmetricArray<int> drawn(tickets);
  counter[0] = 0;
  std::fill(drawn.data(), drawn.data() + tickets, 0);
  shmem_barrier_all();
  in_threads([&](size_t) {
    for (size_t i = 0; i < kRounds; ++i) {
      const long ticket = shmem_long_atomic_fetch_inc(counter, 0);
      shmem_int_atomic_inc(&drawn[static_cast<size_t>(ticket) % tickets], n_pes() - 1);
    }
  });
  shmem_barrier_all();
  EXPECT_EQ(shmem_long_g(counter, 0), static_cast<long>(tickets));
  if (my_pe() == n_pes() - 1) expect_all("drawn", drawn.data(), tickets, 1);
}

// Every thread waits for its namesake on the previous PE while others of its PE go on.
TEST(Threads, S62_AWaitBlocksOnlyItsCaller) {
  constexpr long kRounds = 30;
  SymmetricArray<long> ball(kThreads);
  std::fill(ball.data(), ball.data() + kThreads, 0);
  shmem_barrier_all();
  in_threads([&](size_t thread) {
    for (long round = 1; round <= kRounds; ++round) {
      if (my_pe() == 0) shmem_long_atomic_set(&ball[thread], round, next_pe());
      shmem_long_wait_until(&ball[thread], SHMEM_CMP_EQ, round);
      if (my_pe() != 0) shmem_long_atomic_set(&ball[thread], round, next_pe());
    }
  });
  expect_all("ball", ball.data(), kThreads, kRounds);
}

TEST(Threads, S62_AWaitEndsByAnAtomicOfItsOwnPe) {
  SymmetricArray<int> flag(1);
  flag[0] = 0;
  std::thread waiting([&] { shmem_int_wait_until(flag, SHMEM_CMP_EQ, 1); });
  shmem_int_atomic_set(flag, 1, my_pe());
  waiting.join();
  EXPECT_EQ(flag[0], 1);
}

TEST(Threads, S45_SignalsCarryTheirData) {
  constexpr size_t kElems = 33;
  SymmetricArray<uint64_t> dest(kThreads * kElems), signal(kThreads), turn(kThreads);
  std::fill(signal.data(), signal.data() + kThreads, 0);
  std::fill(turn.data(), turn.data() + kThreads, 0);
  shmem_barrier_all();
  in_threads([&](size_t thread) {
    std::vector<uint64_t> source(kElems);
    for (uint64_t round = 1; round <= 30; ++round) {
      fill(source.data(), kElems, my_pe(), static_cast<int>(round));
      shmem_uint64_put_signal(&dest[thread * kElems], source.data(), kElems, &signal[thread], round,
                              SHMEM_SIGNAL_SET, next_pe());
      shmem_signal_wait_until(&signal[thread], SHMEM_CMP_EQ, round);
      expect_filled("put_signal", &dest[thread * kElems], kElems, previous_pe(),
                    static_cast<int>(round));
      shmem_signal_set(&turn[thread], round, previous_pe());
      shmem_signal_wait_until(&turn[thread], SHMEM_CMP_EQ, round);
    }
  });
}

TEST(Threads, S31_HaveTheirOwnContexts) {
  constexpr size_t kElems = 25;
  SymmetricArray<uint64_t> dest(kThreads * kElems);
  shmem_barrier_all();
  in_threads([&](size_t thread) {
    for (int round = 0; round < 30; ++round) {
      shmem_ctx_t ctx = SHMEM_CTX_INVALID;
      EXPECT_EQ(shmem_ctx_create(thread % 2 ? SHMEM_CTX_PRIVATE : SHMEM_CTX_SERIALIZED, &ctx), 0);
      if (ctx == SHMEM_CTX_INVALID) return;
      std::vector<uint64_t> source(kElems), back(kElems);
      fill(source.data(), kElems, my_pe(), round);
      shmem_ctx_uint64_put_nbi(ctx, &dest[thread * kElems], source.data(), kElems, next_pe());
      shmem_ctx_quiet(ctx);
      shmem_ctx_uint64_get_nbi(ctx, back.data(), &dest[thread * kElems], kElems, next_pe());
      shmem_ctx_destroy(ctx);
      expect_filled("get_nbi", back.data(), kElems, my_pe(), round);
    }
  });
}

// Each thread runs collectives on a team of its own; all teams have all PEs, in unlike orders.
TEST(Threads, S28_RunCollectivesOfDifferentTeams) {
  const int n = n_pes();
  std::vector<TeamView> views;
  for (size_t t = 0; t < kThreads; ++t)
    views.push_back(t % 2 ? make_view(n - 1, -1, n) : make_view(0, 1, n));
  SymmetricArray<long> sums(kThreads), mine(kThreads), all(index(n, 0)), gift(kThreads);
  in_threads([&](size_t t) {
    const TeamView& view = views[t];
    for (long round = 0; round < 20; ++round) {
      mine[t] = 100 * round + view.me;
      EXPECT_EQ(shmem_long_sum_reduce(view.team, &sums[t], &mine[t], 1), 0);
      EXPECT_EQ(sums[t], 100 * round * n + n * (n - 1) / 2);
      EXPECT_EQ(shmem_long_fcollect(view.team, &all[static_cast<size_t>(n) * t], &mine[t], 1), 0);
      expect_each("fcollect", &all[static_cast<size_t>(n) * t], view.size(),
                  [=](size_t pe) { return 100 * round + static_cast<long>(pe); });
      EXPECT_EQ(shmem_long_broadcast(view.team, &gift[t], &mine[t], 1, static_cast<int>(round) % n),
                0);
      EXPECT_EQ(gift[t], 100 * round + round % n);
      EXPECT_EQ(shmem_team_sync(view.team), 0);
    }
  });
  shmem_barrier_all();
  for (const TeamView& view : views) shmem_team_destroy(view.team);
}

// PE 0 splits two teams at once. The others come to the second one first, and to the first one only
// when they have the second one's child. So they must get it while only PE 0 is in the first split.
TEST(Threads, S28_SplitDifferentTeamsInUnlikeOrders) {
  const int n = n_pes();
  TeamView first = make_view(0, 1, n), second = make_view(n - 1, -1, n);
  const auto split = [n](const TeamView& parent) {
    shmem_team_t child = SHMEM_TEAM_INVALID, row = SHMEM_TEAM_INVALID, column = SHMEM_TEAM_INVALID;
    EXPECT_EQ(shmem_team_split_strided(parent.team, 0, 1, n, nullptr, 0, &child), 0);
    EXPECT_EQ(shmem_team_split_2d(parent.team, n, nullptr, 0, &row, nullptr, 0, &column), 0);
    EXPECT_EQ(shmem_team_my_pe(child), parent.me);
    EXPECT_EQ(shmem_team_n_pes(row), n);
    for (const shmem_team_t team : {child, row, column}) shmem_team_destroy(team);
  };
  if (my_pe() == 0) {
    std::thread waits_for_the_others([&] { split(first); });
    std::this_thread::sleep_for(std::chrono::milliseconds(50));  // so that it does
    split(second);
    waits_for_the_others.join();
  } else {
    split(second);
    split(first);
  }
  shmem_barrier_all();
  for (const TeamView& view : {first, second}) shmem_team_destroy(view.team);
}

// One team, used by all threads for calls that are not collective, while one of them runs its
// collectives.
TEST(Threads, S28_ShareATeamForOtherCalls) {
  const int n = n_pes();
  TeamView view = make_view(n - 1, -1, n);
  SymmetricArray<long> sum(1), mine(1), words(kThreads);
  std::fill(words.data(), words.data() + kThreads, 0);
  mine[0] = 1;
  shmem_barrier_all();
  in_threads([&](size_t thread) {
    for (int round = 0; round < 30; ++round) {
      if (thread == 0) {
        EXPECT_EQ(shmem_long_sum_reduce(view.team, sum, mine, 1), 0);
        EXPECT_EQ(sum[0], n);
        continue;
      }
      EXPECT_EQ(shmem_team_my_pe(view.team), view.me);
      EXPECT_EQ(shmem_team_translate_pe(view.team, 0, SHMEM_TEAM_WORLD), n - 1);
      shmem_ctx_t ctx = SHMEM_CTX_INVALID;
      EXPECT_EQ(shmem_team_create_ctx(view.team, 0, &ctx), 0);
      if (ctx == SHMEM_CTX_INVALID) return;
      shmem_ctx_long_atomic_inc(ctx, &words[thread], 0);
      shmem_ctx_destroy(ctx);
    }
  });
  shmem_barrier_all();
  if (my_pe() == n - 1) expect_all("words", &words[1], kThreads - 1, 30L * n);
  shmem_team_destroy(view.team);
}

// Only one thread uses the heap, in the same order on all PEs; the others put meanwhile.
TEST(Threads, S62_AllocateWhileOthersPut) {
  SymmetricArray<long> words(kThreads);
  std::fill(words.data(), words.data() + kThreads, 0);
  shmem_barrier_all();
  in_threads([&](size_t thread) {
    for (long round = 1; round <= 40; ++round) {
      if (thread == 0) {
        auto* block = static_cast<long*>(shmem_malloc(static_cast<size_t>(8 * round)));
        if (!block) return ADD_FAILURE() << "no memory";
        shmem_long_p(block, round, next_pe());
        shmem_barrier_all();
        EXPECT_EQ(*block, round);
        shmem_free(block);
      } else {
        shmem_long_atomic_add(&words[thread], round, next_pe());
        EXPECT_EQ(shmem_addr_accessible(&words[thread], next_pe()), 1);
      }
    }
  });
  shmem_barrier_all();
  expect_all("words", &words[1], kThreads - 1, 820L);
}

// The memory that the threads of S28_DoUnlikeThingsAtOnce share: a word, or an array, for each
// thread.
struct Shared {
  static constexpr size_t kElems = 70;
  SymmetricArray<uint64_t> data{kThreads * kElems}, signal{kThreads}, turn{kThreads};
  SymmetricArray<long> word{kThreads}, mine{kThreads}, sum{kThreads};
  SymmetricArray<long> lock{kThreads}, guarded{kThreads};
  SymmetricArray<int> drawn{index(n_pes(), 0) * 16};
  std::vector<TeamView> views;  // a team for each thread
};

// Runs its own team's collectives, and those of a team that it splits from it.
void collect_and_split(Shared& shared, size_t t, int round) {
  const TeamView& view = shared.views[t];
  const int n = view.n(), half = (n + 1) / 2;
  shared.mine[t] = round + view.me;
  EXPECT_EQ(shmem_long_sum_reduce(view.team, &shared.sum[t], &shared.mine[t], 1), 0);
  EXPECT_EQ(shared.sum[t], static_cast<long>(round) * n + n * (n - 1) / 2);
  shmem_team_t part = SHMEM_TEAM_WORLD;
  const bool first_half = view.me < half;
  EXPECT_EQ(shmem_team_split_strided(view.team, 0, 1, half, nullptr, 0, &part), 0);
  EXPECT_EQ(part != SHMEM_TEAM_INVALID, first_half);
  if (first_half) {
    EXPECT_EQ(shmem_long_broadcast(part, &shared.sum[t], &shared.mine[t], 1, half - 1), 0);
    EXPECT_EQ(shared.sum[t], round + half - 1);
  }
  shmem_team_destroy(part);
}

// Puts through contexts that live for one round.
void put_through_contexts(Shared& shared, size_t t, int round) {
  const TeamView& view = shared.views[t];
  shmem_ctx_t ctx = SHMEM_CTX_INVALID, other = SHMEM_CTX_INVALID;
  EXPECT_EQ(shmem_team_create_ctx(view.team, round % 2 ? SHMEM_CTX_PRIVATE : 0, &ctx), 0);
  EXPECT_EQ(shmem_ctx_create(SHMEM_CTX_SERIALIZED, &other), 0);
  if (ctx == SHMEM_CTX_INVALID || other == SHMEM_CTX_INVALID) return;
  uint64_t* place = &shared.data[t * Shared::kElems];
  std::vector<uint64_t> source(Shared::kElems), back(Shared::kElems);
  fill(source.data(), source.size(), my_pe(), round);
  const int next = shmem_team_translate_pe(SHMEM_TEAM_WORLD, next_pe(), view.team);
  shmem_ctx_uint64_put_nbi(ctx, place, source.data(), source.size(), next);
  shmem_ctx_quiet(ctx);
  shmem_ctx_uint64_get(other, back.data(), place, back.size(), next_pe());
  expect_filled("get", back.data(), back.size(), my_pe(), round);
  shmem_ctx_destroy(other);
  shmem_ctx_destroy(ctx);
}

// All threads of all PEs with this role draw from one counter. A second counter is for the threads
// with one number and has a lock: no two threads of a PE share it.
void draw_tickets(Shared& shared, size_t t, int) {
  const long ticket = shmem_long_atomic_fetch_inc(&shared.word[0], 0);
  shmem_int_atomic_inc(&shared.drawn[static_cast<size_t>(ticket) % shared.drawn.size()],
                       n_pes() - 1);
  shmem_set_lock(&shared.lock[t]);
  shmem_long_p(&shared.guarded[t], shmem_long_g(&shared.guarded[t], 0) + 1, 0);
  shmem_clear_lock(&shared.lock[t]);
}

void send_and_wait(Shared& shared, size_t t, int round) {
  const auto number = static_cast<uint64_t>(round) + 1;
  std::vector<uint64_t> source(Shared::kElems);
  fill(source.data(), source.size(), my_pe(), round);
  uint64_t* place = &shared.data[t * Shared::kElems];
  shmem_uint64_put_signal_nbi(place, source.data(), source.size(), &shared.signal[t], number,
                              SHMEM_SIGNAL_SET, next_pe());
  EXPECT_EQ(shmem_signal_wait_until(&shared.signal[t], SHMEM_CMP_EQ, number), number);
  expect_filled("put_signal", place, source.size(), previous_pe(), round);
  shmem_signal_set(&shared.turn[t], number, previous_pe());
  shmem_signal_wait_until(&shared.turn[t], SHMEM_CMP_EQ, number);
}

TEST(Threads, S28_DoUnlikeThingsAtOnce) {
  using Role = void (*)(Shared&, size_t thread, int round);
  constexpr Role kRoles[] = {collect_and_split, put_through_contexts, draw_tickets, send_and_wait};
  constexpr size_t kNumRoles = std::size(kRoles);
  const int rounds = 16;
  Shared shared;
  for (size_t t = 0; t < kThreads; ++t) {
    shared.signal[t] = shared.turn[t] = 0;
    shared.word[t] = shared.lock[t] = shared.guarded[t] = 0;
    shared.views.push_back(t % 3 ? make_view(n_pes() - 1, -1, n_pes()) : make_view(0, 1, n_pes()));
  }
  std::fill(shared.drawn.data(), shared.drawn.data() + shared.drawn.size(), 0);
  shmem_barrier_all();
  in_threads([&](size_t thread) {
    for (int round = 0; round < rounds; ++round) kRoles[thread % kNumRoles](shared, thread, round);
  });
  shmem_barrier_all();
  const long drawn = shmem_long_g(&shared.word[0], 0);
  EXPECT_EQ(drawn, static_cast<long>(kThreads / kNumRoles) * rounds * n_pes());
  if (my_pe() == n_pes() - 1)
    expect_all("drawn", shared.drawn.data(), static_cast<size_t>(drawn), 1);
  for (size_t t = 0; t < kThreads; ++t) {
    if (kRoles[t % kNumRoles] != draw_tickets) continue;
    EXPECT_EQ(shmem_long_g(&shared.guarded[t], 0), static_cast<long>(rounds) * n_pes());
  }
  shmem_barrier_all();
  for (const TeamView& view : shared.views) shmem_team_destroy(view.team);
}

// Threads that are gone leave nothing undone: their puts are completed by a quiet of their own.
TEST(Threads, S34_AQuietCompletesItsCallersPuts) {
  SymmetricArray<long> data(kThreads), flag(kThreads);
  std::fill(flag.data(), flag.data() + kThreads, 0);
  std::fill(data.data(), data.data() + kThreads, 0);
  shmem_barrier_all();
  in_threads([&](size_t thread) {
    const long value = 7 + static_cast<long>(thread) + my_pe();
    shmem_long_put_nbi(&data[thread], &value, 1, next_pe());
    shmem_quiet();
    shmem_long_atomic_set(&flag[thread], 1, next_pe());
    shmem_long_wait_until(&flag[thread], SHMEM_CMP_EQ, 1);
    EXPECT_EQ(data[thread], 7 + static_cast<long>(thread) + previous_pe());
  });
}

}  // namespace
}  // namespace meshmem
