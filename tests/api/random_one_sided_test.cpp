// SPDX-License-Identifier: Apache-2.0
//
// Random puts, gets, strided ones, atomics, signals, fences and quiets of several threads of each
// PE, on several contexts, compared with a model. Among them are messages to another PE, and
// counters that all change. MESHMEM_TEST_SEED repeats a run, MESHMEM_TEST_SECONDS says how long it
// is.
// Invariant: the draws follow from the seed, the PE and the thread.
#include <sched.h>

#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "one_sided_lane.hpp"

namespace meshmem {
namespace {

// One thread of a PE in one run.
class Player {
 public:
  Player(World& world, size_t thread, uint64_t seed)
      : world_(world),
        thread_(thread),
        seed_(seed),
        random_(scramble(seed + index_of(my_pe(), thread) + 1)) {
    if (shmem_ctx_create(SHMEM_CTX_PRIVATE, &own_ctx_) != 0) fail("a context could not be made");
    size_t number = 0;
    for (shmem_ctx_t ctx : {SHMEM_CTX_DEFAULT, own_ctx_, world.shared_ctx})
      lanes_.push_back(std::make_unique<Lane>(world, thread, number++, ctx, random_));
  }

  void play(int n_steps, uint64_t first_round) {
    distance_ = static_cast<int>(scramble(seed_) % static_cast<uint64_t>(n_pes()));
    uint64_t round = first_round;
    for (step_ = 0; step_ < n_steps; ++step_) {
      const std::string wrong = lane().step();
      if (!wrong.empty()) fail(wrong);
      if (step_ % 20 == 0) exchange_mail(++round);
    }
    for (const auto& lane : lanes_) {
      const std::string wrong = lane->check_all();
      if (!wrong.empty()) fail(wrong);
    }
    lanes_.clear();
    shmem_ctx_destroy(own_ctx_);
  }

 private:
  Lane& lane() { return *lanes_[random_.below(lanes_.size())]; }

  void fail(const std::string& what) {
    ADD_FAILURE() << "PE " << my_pe() << ", thread " << thread_ << ", step " << step_ << ": "
                  << what << " is wrong, in a run that MESHMEM_TEST_SEED=" << seed_ << " repeats";
    std::fflush(nullptr);
    shmem_global_exit(1);
  }

  void exchange_mail(uint64_t round) {
    uint64_t* flag = &world_.mail.flag[thread_];
    uint64_t* turn = &world_.mail.turn[thread_];
    send(lane().ctx(), next_pe(distance_), flag, round);
    await(flag, round);
    const uint64_t* words = &world_.mail.words[thread_ * Mailbox::kWords];
    for (size_t i = 0; i < Mailbox::kWords; ++i)
      if (__atomic_load_n(&words[i], __ATOMIC_RELAXED) != scramble(round * 64 + i))
        fail("a message");
    shmem_uint64_atomic_set(turn, round, previous_pe(distance_));
    await(turn, round);
  }
  void send(shmem_ctx_t ctx, int pe, uint64_t* flag, uint64_t round) {
    uint64_t* words = &world_.mail.words[thread_ * Mailbox::kWords];
    uint64_t data[Mailbox::kWords];
    for (size_t i = 0; i < Mailbox::kWords; ++i) data[i] = scramble(round * 64 + i);
    const size_t how = random_.below(6), n = Mailbox::kWords;
    if (how == 0)
      return shmem_ctx_uint64_put_signal(ctx, words, data, n, flag, round, SHMEM_SIGNAL_SET, pe);
    shmem_ctx_uint64_put(ctx, words, data, n, pe);
    how == 1 ? shmem_ctx_quiet(ctx) : shmem_ctx_fence(ctx);
    if (how == 1 || how == 2) shmem_ctx_uint64_p(ctx, flag, round, pe);
    if (how == 3) shmem_ctx_uint64_atomic_set(ctx, flag, round, pe);
    if (how == 4) shmem_ctx_signal_add(ctx, flag, 1, pe);
    if (how == 5) shmem_ctx_uint64_atomic_inc(ctx, flag, pe);
  }
  void await(uint64_t* word, uint64_t round) {
    const size_t how = random_.below(4);
    if (how == 0) shmem_uint64_wait_until(word, SHMEM_CMP_EQ, round);
    if (how == 1) shmem_signal_wait_until(word, SHMEM_CMP_EQ, round);
    if (how == 2) shmem_uint64_wait_until_any(word, 1, nullptr, SHMEM_CMP_GE, round);
    while (how == 3 && !shmem_uint64_test(word, SHMEM_CMP_EQ, round)) sched_yield();
  }

  World& world_;
  const size_t thread_;
  const uint64_t seed_;
  Random random_;
  shmem_ctx_t own_ctx_ = SHMEM_CTX_INVALID;
  std::vector<std::unique_ptr<Lane>> lanes_;
  int distance_ = 0, step_ = 0;
};

// All PEs have completed their additions.
void check_counters(Counters& counters) {
  const auto n = static_cast<size_t>(n_pes());
  SymmetricArray<uint64_t> mine(n), all(n);
  for (size_t kind = 0; kind < Counters::n_kinds; ++kind) {
    for (size_t pe = 0; pe < n; ++pe) mine[pe] = counters.by_me[pe][kind];
    const auto reduce =
        kind == Counters::parity ? shmem_uint64_xor_reduce : shmem_uint64_sum_reduce;
    EXPECT_EQ(reduce(SHMEM_TEAM_WORLD, all, mine, n), 0);
    const uint64_t mask = kind == Counters::small_sum ? 0xffffffffu : ~uint64_t{0};
    EXPECT_EQ(counters.words[kind], all[static_cast<size_t>(my_pe())] & mask) << "counter " << kind;
  }
}

TEST(RandomOneSided, DoAsTheModel) {
  constexpr int kSteps = 300;
  const double seconds = seconds_to_play(0.7);
  const uint64_t first = agreed_seed();
  ASSERT_LE(n_pes(), static_cast<int>(kMostPes));
  if (my_pe() == 0)
    std::printf("seed %llu (MESHMEM_TEST_SEED repeats it)\n",
                static_cast<unsigned long long>(first));
  World world;
  ASSERT_EQ(shmem_ctx_create(0, &world.shared_ctx), 0);
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  uint64_t runs = 0, round = 0;
  for (uint64_t seed = first; agreed(std::chrono::steady_clock::now() < end);
       seed = scramble(seed)) {
    std::memset(static_places, 0, sizeof static_places);
    std::memset(world.heap.data(), 0, world.heap.size());
    shmem_barrier_all();
    std::vector<std::thread> threads;
    for (size_t t = 0; t < kThreads; ++t)
      threads.emplace_back([&, t] { Player(world, t, seed).play(kSteps, round); });
    for (std::thread& thread : threads) thread.join();
    shmem_barrier_all();
    check_counters(world.counters);
    round += (kSteps + 19) / 20;
    ++runs;
  }
  shmem_ctx_destroy(world.shared_ctx);
  EXPECT_GT(runs, 0u);
  if (my_pe() == 0)
    std::printf("%llu runs of %d steps by %zu threads a PE\n",
                static_cast<unsigned long long>(runs), kSteps, kThreads);
}

}  // namespace
}  // namespace meshmem
