// SPDX-License-Identifier: Apache-2.0
//
// Litmus tests of the memory model, each many thousand rounds: message passing, put with signal,
// store buffering, and reuse of barriers. A wrong fence shows here, if rarely: the outcomes that
// the model forbids are counted. Invariant: PEs work in pairs (2k, 2k+1); a PE without a partner,
// as with one PE, plays with itself where that makes sense.
#include <sched.h>

#include <vector>

#include "symmetric_array.hpp"

namespace meshmem {
namespace {

constexpr size_t kWords = 9;  // more than a cache line

int rounds() { return n_pes() <= 2 ? 10000 : 10000 / n_pes(); }
int partner() { return (my_pe() ^ 1) < n_pes() ? my_pe() ^ 1 : my_pe(); }
bool sends() { return my_pe() % 2 == 0; }
bool receives() { return my_pe() % 2 == 1 || partner() == my_pe(); }

// The sender writes a round's data by `send`, the receiver checks it after having seen the flag,
// and hands the turn back.
template <typename Send, typename Await>
int pass_messages(long* data, long* turn, const Send& send, const Await& await) {
  int torn = 0;
  for (long round = 1; round <= rounds(); ++round) {
    if (sends()) send(round);
    if (receives()) {
      await(round);
      for (size_t i = 0; i < kWords; ++i)
        torn += __atomic_load_n(&data[i], __ATOMIC_RELAXED) != round;
      shmem_long_atomic_set(turn, round, partner());
    }
    if (sends()) shmem_long_wait_until(turn, SHMEM_CMP_EQ, round);
  }
  return torn;
}

TEST(Litmus, S45_MessagePassingByFence) {
  SymmetricArray<long> data(kWords), flag(16), turn(16);
  flag[0] = turn[0] = 0;
  shmem_barrier_all();
  std::vector<long> source(kWords);
  auto send = [&](long round) {
    std::fill(source.begin(), source.end(), round);
    shmem_long_put(data, source.data(), kWords, partner());
    shmem_fence();
    shmem_long_p(flag, round, partner());
  };
  auto await = [&](long round) { shmem_long_wait_until(flag, SHMEM_CMP_GE, round); };
  EXPECT_EQ(pass_messages(data, turn, send, await), 0);
}

TEST(Litmus, S45_MessagePassingByTest) {
  SymmetricArray<long> data(kWords), flag(16), turn(16);
  flag[0] = turn[0] = 0;
  shmem_barrier_all();
  auto send = [&](long round) {
    for (size_t i = 0; i < kWords; ++i) shmem_long_p(&data[i], round, partner());
    shmem_quiet();
    shmem_long_atomic_set(flag, round, partner());
  };
  auto await = [&](long round) {
    while (!shmem_long_test(flag, SHMEM_CMP_GE, round)) sched_yield();  // PEs may share a core
  };
  EXPECT_EQ(pass_messages(data, turn, send, await), 0);
}

TEST(Litmus, S43_PutThenSignal) {
  SymmetricArray<long> data(kWords), turn(16);
  SymmetricArray<uint64_t> signal(8);
  signal[0] = 0;
  turn[0] = 0;
  shmem_barrier_all();
  std::vector<long> source(kWords);
  auto send = [&](long round) {
    std::fill(source.begin(), source.end(), round);
    shmem_long_put_signal_nbi(data, source.data(), kWords, signal, 1, SHMEM_SIGNAL_ADD, partner());
  };
  auto await = [&](long round) {
    shmem_signal_wait_until(signal, SHMEM_CMP_GE, static_cast<uint64_t>(round));
  };
  EXPECT_EQ(pass_messages(data, turn, send, await), 0);
}

// Each of a pair writes to its partner, quiets, and reads its own word: not both may find the old
// value.
TEST(Litmus, S34_StoreBufferingIsForbiddenByQuiet) {
  SymmetricArray<long> word(16), found(16);
  int both_old = 0;
  word[0] = 0;
  shmem_barrier_all();
  for (long round = 1; round <= rounds() / 4; ++round) {
    shmem_long_p(word, round, partner());
    shmem_quiet();
    found[0] = shmem_long_atomic_fetch(word, my_pe());
    shmem_sync_all();
    both_old += found[0] < round && shmem_long_g(found, partner()) < round;
    shmem_sync_all();
  }
  EXPECT_EQ(both_old, 0);
}

// Words of 1, 2, 4 and 8 bytes arrive whole: all bytes of a value are alike.
TEST(Litmus, S45_AlignedWordsArriveWhole) {
  SymmetricArray<uint64_t> wide(16);
  SymmetricArray<uint16_t> narrow(64);
  wide[0] = narrow[0] = 0;
  shmem_barrier_all();
  int torn = 0;
  for (int round = 1; round <= rounds(); ++round) {
    const auto byte = static_cast<uint64_t>(round & 0xff);
    const uint64_t value = byte * 0x0101010101010101u;
    if (sends()) shmem_uint64_p(wide, value, partner());
    if (sends()) shmem_uint16_p(narrow, static_cast<uint16_t>(value), partner());
    const uint64_t seen = __atomic_load_n(wide.data(), __ATOMIC_RELAXED);
    const uint16_t seen_narrow = __atomic_load_n(narrow.data(), __ATOMIC_RELAXED);
    torn += seen != (seen & 0xff) * 0x0101010101010101u;
    torn += seen_narrow != (seen_narrow & 0xff) * 0x0101;
  }
  EXPECT_EQ(torn, 0);
}

// One word handed round by barriers only: each PE adds one in its turn, with plain loads and
// stores.
TEST(Litmus, S36_BarriersMayBeReused) {
  SymmetricArray<long> token(1);
  token[0] = 0;
  shmem_barrier_all();
  const int turns = 4000 / n_pes();
  for (int turn = 0; turn < turns; ++turn) {
    if (turn % n_pes() == my_pe()) shmem_long_p(token, shmem_long_g(token, 0) + 1, 0);
    shmem_barrier_all();
  }
  EXPECT_EQ(shmem_long_g(token, 0), turns);
  shmem_barrier_all();
}

}  // namespace
}  // namespace meshmem
