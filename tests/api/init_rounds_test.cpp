// SPDX-License-Identifier: Apache-2.0
//
// The whole life of the library, several times in one process: before init, between, after the last
// finalize, and again. A program of its own, since the test's main must not be initialized before.
// Invariant: PEs do not skip a step when one fails; each exits with its own verdict.
#include <gtest/gtest.h>
#include <shmemx.h>

#include <chrono>
#include <cstdio>
#include <thread>
#include <vector>

namespace {

long global_word = 41;  // keeps its value from before init, and from round to round

bool is_initialized() {
  int initialized = -1;
  shmem_query_initialized(&initialized);
  return initialized != 0;
}

// The device heap, teams of kernels and streams; all is left as it is.
void use_device(int round) {
  const int me = shmem_my_pe(), n = shmem_n_pes();
  auto* block = static_cast<long*>(shmem_malloc_with_hints(3 * sizeof(long), SHMEMX_MALLOC_DEVICE));
  if (!block) return;  // there is no device
  shmem_team_t team = SHMEM_TEAM_INVALID;
  EXPECT_EQ(shmem_team_split_strided(SHMEM_TEAM_WORLD, n - 1, -1, n, nullptr, 0, &team), 0);
  shmem_long_p(block, 1000 * round + me, (me + 1) % n);
  shmem_long_p(block + 1, me + round, me);
  shmem_barrier_all();
  EXPECT_EQ(shmem_long_g(block, me), 1000 * round + (me + n - 1) % n);
  EXPECT_EQ(shmem_long_sum_reduce(team, block + 2, block + 1, 1), 0);
  EXPECT_EQ(shmem_long_g(block + 2, me), n * (n - 1) / 2 + n * round);
  static long value;  // still there at the quiet of finalize
  value = round;
  shmem_long_put_nbi(block, &value, 1, (me + 1) % n);
}

// PE 0's stream gets these bytes from the last PE's device heap, long after the other PEs have come
// to the end.
constexpr size_t kFetched = 4096;
long fetched[kFetched];

long* make_words_to_fetch(long value) {
  auto* words = static_cast<long*>(shmem_malloc_with_hints(sizeof fetched, SHMEMX_MALLOC_DEVICE));
  if (words)
    shmem_long_put(words, std::vector<long>(kFetched, value).data(), kFetched, shmem_my_pe());
  return words;
}
void leave_a_stream_at_work(const long* words) {
  if (!words || shmem_my_pe() != 0) return;
  for (int i = 0; i < 200; ++i)
    shmemx_long_get_on_stream(fetched, words, kFetched, shmem_n_pes() - 1, nullptr);
}

// A team that is split in a later round finds areas that earlier rounds have used, and still waits.
void use_late_pe(int round) {
  static long flag, sum, mine, sent, received;
  const int me = shmem_my_pe(), n = shmem_n_pes();
  flag = 0;
  shmem_barrier_all();
  shmem_team_t team = SHMEM_TEAM_INVALID;
  EXPECT_EQ(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, n, nullptr, 0, &team), 0);
  const auto come_late = [me] {
    if (me == 0) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  };
  come_late();
  if (me == 0)
    for (int pe = 0; pe < n; ++pe) shmem_long_p(&flag, 1, pe);
  if (me == 0) shmem_quiet();
  shmem_team_sync(team);
  EXPECT_EQ(flag, 1);
  shmem_barrier_all();
  mine = me + 10 * round;
  come_late();
  EXPECT_EQ(shmem_long_sum_reduce(team, &sum, &mine, 1), 0);
  EXPECT_EQ(sum, n * (n - 1) / 2 + 10 * round * n);
  sent = 100 * round + 7;
  come_late();
  EXPECT_EQ(shmem_long_broadcast(team, &received, &sent, 1, 0), 0);
  EXPECT_EQ(received, 100 * round + 7);
  for (int i = 0; i < 40; ++i) shmem_team_sync(team);
  shmem_team_destroy(team);
}

void use_everything(int round) {
  use_late_pe(round);
  use_device(round);
  const int me = shmem_my_pe(), n = shmem_n_pes();
  auto* block = static_cast<long*>(shmem_malloc(100 * sizeof(long)));
  ASSERT_NE(block, nullptr);
  shmem_long_p(block, 1000 * round + me, (me + 1) % n);
  shmem_long_atomic_inc(&global_word, (me + 1) % n);
  shmem_barrier_all();
  EXPECT_EQ(*block, 1000 * round + (me + n - 1) % n);
  block[1] = me + round;
  EXPECT_EQ(shmem_long_sum_reduce(SHMEM_TEAM_WORLD, &block[2], &block[1], 1), 0);
  EXPECT_EQ(block[2], n * (n - 1) / 2 + n * round);
  // An active set's team is made anew in each round.
  static long pWrk[SHMEM_REDUCE_MIN_WRKDATA_SIZE], pSync[SHMEM_REDUCE_SYNC_SIZE];
  const int half = (n + 1) / 2;
  for (int i = 0; i < 5; ++i) {
    if (me % 2 == 1) continue;
    shmem_long_sum_to_all(&block[3], &block[1], 1, 0, 1, half, pWrk, pSync);
    EXPECT_EQ(block[3], half * (half - 1) + half * round);
  }
  // S3: the last finalize takes back a block, a team and a context that are left at the end.
  shmem_team_t team = SHMEM_TEAM_INVALID;
  EXPECT_EQ(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, n, nullptr, 0, &team), 0);
  shmem_ctx_t ctx = SHMEM_CTX_INVALID;
  EXPECT_EQ(shmem_team_create_ctx(SHMEM_TEAM_WORLD, 0, &ctx), 0);
  static long landings[2];
  landings[0] = landings[1] = -1;
  const long* const words = make_words_to_fetch(99 + round);
  shmem_barrier_all();
  const long value = 77 + round;
  shmem_ctx_long_put_nbi(ctx, &landings[0], &value, 1, (me + 1) % n);
  shmem_long_put_nbi(&landings[1], &value, 1, (me + 1) % n);
  leave_a_stream_at_work(words);
  shmem_finalize();
  for (const long landing : landings)
    EXPECT_EQ(landing, 77 + round) << "S3: the last finalize completes what is under way";
  if (!words || me != 0) return;
  EXPECT_EQ(fetched[kFetched - 1], 99 + round) << "what a stream got while others had ended";
}

TEST(Lifetime, S1_S2_S3_S4_EndsWithTheLastFinalizeAndBeginsAgain) {
  EXPECT_FALSE(is_initialized()) << "before init";
  int n = 0;
  for (int round = 0; round < 4; ++round) {
    int provided = -1;
    if (round % 2 == 0) shmem_init();
    EXPECT_EQ(shmem_init_thread(SHMEM_THREAD_FUNNELED, &provided), 0);
    EXPECT_GE(provided, SHMEM_THREAD_FUNNELED);
    EXPECT_TRUE(is_initialized());
    if (round == 0) n = shmem_n_pes();
    EXPECT_EQ(shmem_n_pes(), n) << "the job's size is the same in each round";
    if (round % 2 == 0) shmem_finalize();
    EXPECT_TRUE(is_initialized()) << "one init is not matched yet";
    EXPECT_EQ(global_word, 41 + round) << "static data keep their values";
    use_everything(round);
    EXPECT_FALSE(is_initialized()) << "after the last finalize";
    EXPECT_EQ(global_word, 42 + round) << "static data can be read after finalize";
    bool elsewhere = true;
    std::thread([&] { elsewhere = is_initialized(); }).join();
    EXPECT_FALSE(elsewhere);
  }
}

TEST(Lifetime, S1_ThreadsInitializeAtOnce) {
  constexpr int kThreads = 4;
  for (int round = 0; round < 10; ++round) {
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([] {
        int provided = -1;
        EXPECT_EQ(shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided), 0);
        EXPECT_GT(shmem_n_pes(), shmem_my_pe());
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_NE(shmem_malloc(100), nullptr);
    for (int i = 0; i < kThreads; ++i) {
      EXPECT_TRUE(is_initialized());
      shmem_finalize();
    }
    EXPECT_FALSE(is_initialized());
  }
}

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
