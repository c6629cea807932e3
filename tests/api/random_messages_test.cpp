// SPDX-License-Identifier: Apache-2.0
//
// Random messages. Several threads of each PE put rows of words to another PE by random routines,
// order them by a random fence or quiet, and announce them by a random flag. Rows and flags lie in
// static data, the host heap or the device heap. MESHMEM_TEST_SEED repeats a run,
// MESHMEM_TEST_SECONDS says how long it is.
// Invariant: a PE that has seen the flag of a round finds all of its row.
#include <sched.h>

#include <chrono>
#include <cstdio>
#include <thread>
#include <vector>

#include "placed_array.hpp"
#include "random_numbers.hpp"

namespace meshmem {
namespace {

constexpr size_t kThreads = 3, kRounds = 40;
constexpr size_t kMost = 9000;  // words of a row: more than travels at once
constexpr size_t kRows = 2;     // of a thread: one is written while the other is read

uint64_t static_rows[kThreads * kRows * kMost], static_flags[kThreads * 2];

// For each thread two rows, a flag that announces a row, and a flag that says that one has been
// read.
struct Memory {
  PlacedArray<uint64_t> host_rows{Place::host, kThreads* kRows* kMost};
  PlacedArray<uint64_t> device_rows{Place::device, kThreads* kRows* kMost};
  PlacedArray<uint64_t> host_flags{Place::host, kThreads * 2};
  PlacedArray<uint64_t> device_flags{Place::device, kThreads * 2};

  void clear_flags() {
    std::fill_n(static_flags, kThreads * 2, 0);
    for (auto* flags : {&host_flags, &device_flags})
      flags->write(std::vector<uint64_t>(kThreads * 2, 0));
  }
};

// One thread of a PE in one run. All PEs draw the same places and distances.
class Player {
 public:
  Player(Memory& memory, size_t thread, uint64_t seed)
      : thread_(thread), seed_(seed), random_(scramble(seed + thread)) {
    uint64_t* const rows[] = {static_rows, memory.host_rows, memory.device_rows};
    uint64_t* const flags[] = {static_flags, memory.host_flags, memory.device_flags};
    const size_t row_place = random_.below(3), flag_place = random_.below(3);
    rows_ = rows[row_place] + thread * kRows * kMost;
    flag_ = flags[flag_place] + thread * 2;
    are_rows_on_device_ = row_place == 2;
    is_flag_on_device_ = flag_place == 2;
    const int distance = static_cast<int>(random_.below(static_cast<size_t>(n_pes())));
    to_ = next_pe(distance);
    from_ = previous_pe(distance);
    random_ = Random(scramble(seed + thread + 1000 * static_cast<uint64_t>(my_pe() + 1)));
    if (shmem_ctx_create(SHMEM_CTX_PRIVATE, &ctx_) != 0) ctx_ = SHMEM_CTX_DEFAULT;
  }

  void play() {
    uint64_t* const is_read = flag_ + 1;
    for (uint64_t round = 1; round <= kRounds; ++round) {
      if (round > kRows) await(is_read, round - kRows);
      send(round);
      await(flag_, round);
      check(round);
      shmem_ctx_signal_set(ctx_, is_read, round, from_);
    }
    shmem_ctx_quiet(ctx_);
    if (ctx_ != SHMEM_CTX_DEFAULT) shmem_ctx_destroy(ctx_);
  }

 private:
  // The word that PE `pe` sends in a round, which its receiver knows.
  uint64_t word_of(int pe, uint64_t round, size_t i) const {
    return scramble(seed_ + (thread_ << 56) + (static_cast<uint64_t>(pe) << 40) + (round << 20) +
                    i);
  }
  size_t length_of(int pe, uint64_t round) const {
    constexpr size_t kLengths[] = {8, 40, 300, kMost};
    const uint64_t drawn = word_of(pe, round, kMost);
    return 1 + drawn / 16 % kLengths[drawn % 4];
  }
  uint64_t* row_of(uint64_t round) const { return rows_ + round % kRows * kMost; }

  void send(uint64_t round) {
    std::vector<uint64_t> row(length_of(my_pe(), round));
    for (size_t i = 0; i < row.size(); ++i) row[i] = word_of(my_pe(), round, i);
    uint64_t* const dest = row_of(round);
    const size_t n = row.size();
    const bool is_short = n <= 40;
    switch (random_.below(is_short ? 7 : 5)) {
      case 0:
        shmem_ctx_uint64_put_signal(ctx_, dest, row.data(), n, flag_, round, SHMEM_SIGNAL_SET, to_);
        return;
      case 1:
        shmem_ctx_uint64_put_signal_nbi(ctx_, dest, row.data(), n, flag_, 1, SHMEM_SIGNAL_ADD, to_);
        return shmem_ctx_quiet(ctx_);  // the row ends here
      case 2:
        shmem_ctx_uint64_put(ctx_, dest, row.data(), n, to_);
        break;
      case 3:
        shmem_ctx_uint64_put_nbi(ctx_, dest, row.data(), n, to_);
        break;
      case 4:
        shmem_ctx_uint64_put(ctx_, dest, row.data(), n / 2, to_);
        shmem_ctx_uint64_put_nbi(ctx_, dest + n / 2, row.data() + n / 2, n - n / 2, to_);
        break;
      case 5:
        shmem_ctx_uint64_iput(ctx_, dest, row.data(), 1, 1, n, to_);
        break;
      default:
        for (size_t i = 0; i < n; ++i) shmem_ctx_uint64_p(ctx_, dest + i, row[i], to_);
    }
    order();
    announce(round);
    shmem_ctx_quiet(ctx_);
  }
  void order() {
    const size_t how = random_.below(4);
    if (how == 0) return shmem_ctx_quiet(ctx_);
    if (how == 1) return shmem_ctx_pe_quiet(ctx_, &to_, 1);
    shmem_ctx_fence(ctx_);
  }
  void announce(uint64_t round) {
    switch (random_.below(5)) {
      case 0:
        return shmem_ctx_uint64_p(ctx_, flag_, round, to_);
      case 1:
        return shmem_ctx_uint64_atomic_set(ctx_, flag_, round, to_);
      case 2:
        return shmem_ctx_signal_set(ctx_, flag_, round, to_);
      case 3:
        return shmem_ctx_signal_add(ctx_, flag_, 1, to_);
      default:
        return shmem_ctx_uint64_atomic_inc(ctx_, flag_, to_);
    }
  }

  // The last way polls by loads of its own, during which nobody makes progress.
  void await(uint64_t* word, uint64_t round) {
    switch (random_.below(is_flag_on_device_ ? 3 : 5)) {
      case 0:
        return shmem_uint64_wait_until(word, SHMEM_CMP_GE, round);
      case 1:
        shmem_signal_wait_until(word, SHMEM_CMP_GE, round);
        return;
      case 2:
        while (!shmem_uint64_test(word, SHMEM_CMP_GE, round)) continue;
        return;
      default:
        while (__atomic_load_n(word, __ATOMIC_ACQUIRE) < round) sched_yield();
    }
  }

  void check(uint64_t round) {
    const uint64_t* row = row_of(round);
    std::vector<uint64_t> copy(length_of(from_, round));
    if (are_rows_on_device_ && random_.one_in(2)) {
      expect_success(hipMemcpy(copy.data(), row, copy.size() * sizeof *row, hipMemcpyDefault));
    } else if (are_rows_on_device_) {
      shmem_uint64_get(copy.data(), row, copy.size(), my_pe());
    } else {
      std::copy_n(row, copy.size(), copy.data());
    }
    for (size_t i = 0; i < copy.size(); ++i) {
      if (copy[i] == word_of(from_, round, i)) continue;
      ADD_FAILURE() << "thread " << thread_ << ", round " << round << ", word " << i << " of "
                    << copy.size() << ", in a run that MESHMEM_TEST_SEED=" << seed_ << " repeats";
      return;
    }
  }

  const size_t thread_;
  const uint64_t seed_;
  Random random_;
  uint64_t *rows_ = nullptr, *flag_ = nullptr;
  bool are_rows_on_device_ = false, is_flag_on_device_ = false;
  int to_ = 0, from_ = 0;
  shmem_ctx_t ctx_ = SHMEM_CTX_INVALID;
};

TEST(RandomMessages, AreThereWhenTheirFlagsAre) {
  const uint64_t first = agreed_seed();
  if (my_pe() == 0)
    std::printf("seed %llu (MESHMEM_TEST_SEED repeats it)\n",
                static_cast<unsigned long long>(first));
  Memory memory;
  const auto end =
      std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds_to_play(0.7));
  int runs = 0;
  for (uint64_t seed = first; agreed(std::chrono::steady_clock::now() < end);
       seed = scramble(seed)) {
    memory.clear_flags();
    shmem_barrier_all();
    std::vector<std::thread> threads;
    for (size_t t = 0; t < kThreads; ++t)
      threads.emplace_back([&memory, t, seed] { Player(memory, t, seed).play(); });
    for (std::thread& thread : threads) thread.join();
    shmem_barrier_all();
    ++runs;
  }
  EXPECT_GT(runs, 0);
  if (my_pe() == 0) std::printf("%d runs by %zu threads a PE\n", runs, kThreads);
}

}  // namespace
}  // namespace meshmem
