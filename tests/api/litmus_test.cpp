// SPDX-License-Identifier: Apache-2.0
//
// Litmus tests of the memory model, each of many thousand rounds. They test message passing with
// everything that orders (fence, quiet, contexts, signals, barriers), store buffering, causality
// over three PEs, and atomics as flags and locks. A wrong fence shows here, if rarely: outcomes
// that the model forbids are counted.
// Invariant: see litmus.hpp.
#include "litmus.hpp"

#include <sched.h>

#include <functional>
#include <vector>

namespace meshmem {
namespace {

TEST(Litmus, S33_MessagePassingByFence) {
  Mail mail;
  auto send = [&](long round) {
    in_order([&] { put_round(mail.data, round, partner()); }, shmem_fence,
             [&] { shmem_long_p(mail.flag, round, partner()); });
  };
  pass_messages(mail, send, [&](long round) { await_flag(mail, round); });
}

TEST(Litmus, S33_MessagePassingByFenceOfAContext) {
  Mail mail;
  shmem_ctx_t ctx = SHMEM_CTX_INVALID;
  EXPECT_EQ(shmem_ctx_create(SHMEM_CTX_PRIVATE, &ctx), 0);
  auto send = [&](long round) {
    in_order(
        [&] {
          for (size_t i = 0; i < kWords; ++i)
            shmem_ctx_long_p(ctx, &mail.data[i], round, partner());
        },
        [&] { shmem_ctx_fence(ctx); },
        [&] { shmem_ctx_long_atomic_add(ctx, mail.flag, 1, partner()); });
  };
  pass_messages(mail, send, [&](long round) { await_flag(mail, round); });
  shmem_ctx_destroy(ctx);
}

TEST(Litmus, S45_MessagePassingByTest) {
  Mail mail;
  auto send = [&](long round) {
    in_order(
        [&] {
          for (size_t i = 0; i < kWords; ++i) shmem_long_p(&mail.data[i], round, partner());
        },
        shmem_quiet, [&] { shmem_long_atomic_set(mail.flag, round, partner()); });
  };
  pass_messages(mail, send, [&](long round) {
    while (!shmem_long_test(mail.flag, SHMEM_CMP_GE, round)) sched_yield();  // may share a core
  });
}

TEST(Litmus, S34_MessagePassingByNonblockingPutsAndQuiet) {
  Mail mail;
  std::vector<long> source(kWords);
  auto send = [&](long round) {
    std::fill(source.begin(), source.end(), round);
    in_order(
        [&] {
          shmem_long_put_nbi(mail.data, source.data(), 4, partner());
          shmem_long_put_nbi(&mail.data[4], &source[4], kWords - 4, partner());
        },
        shmem_quiet, [&] { shmem_long_put_nbi(mail.flag, source.data(), 1, partner()); });
  };
  pass_messages(mail, send, [&](long round) { await_flag(mail, round); });
}

TEST(Litmus, S35_MessagePassingByQuietOfOnePe) {
  Mail mail;
  const int pes[] = {partner()};
  auto send = [&](long round) {
    in_order([&] { put_round(mail.data, round, partner()); }, [&] { shmem_pe_quiet(pes, 1); },
             [&] { shmem_long_atomic_inc(mail.flag, partner()); });
  };
  pass_messages(mail, send, [&](long round) { await_flag(mail, round); });
}

TEST(Litmus, S43_PutThenSignal) {
  Mail mail;
  SymmetricArray<uint64_t> signal(8);
  signal[0] = 0;
  shmem_barrier_all();
  std::vector<long> source(kWords);
  auto send = [&](long round) {
    std::fill(source.begin(), source.end(), round);
    if (is_weak()) {
      shmem_signal_add(signal, 1, partner());
      nap();
      shmem_long_put(mail.data, source.data(), kWords, partner());
    } else {
      shmem_long_put_signal_nbi(mail.data, source.data(), kWords, signal, 1, SHMEM_SIGNAL_ADD,
                                partner());
    }
  };
  pass_messages(mail, send, [&](long round) {
    shmem_signal_wait_until(signal, SHMEM_CMP_GE, static_cast<uint64_t>(round));
  });
}

// The data stays with its sender, who stores it and raises the flag; the receiver fetches it.
TEST(Litmus, S34_GetsAfterAFlagFindWhatWasStoredBeforeIt) {
  Mail mail;
  SymmetricArray<long> stored(kWords);
  std::fill(stored.data(), stored.data() + kWords, 0);
  shmem_barrier_all();
  auto send = [&](long round) {
    in_order(
        [&] {
          for (size_t i = 0; i < kWords; ++i) __atomic_store_n(&stored[i], round, __ATOMIC_RELAXED);
        },
        shmem_fence, [&] { shmem_long_p(mail.flag, round, partner()); });
  };
  pass_messages(mail, send, [&](long round) {
    await_flag(mail, round);
    shmem_long_get_nbi(mail.data, stored, kWords, partner());
    shmem_quiet();
  });
}

// One fence for puts to two PEs: each finds its data once it sees its own flag.
TEST(Litmus, S33_AFenceOrdersForEachPe) {
  SymmetricArray<long> data(2 * kWords), flags(16);
  std::fill(data.data(), data.data() + data.size(), 0);
  flags[0] = flags[8] = 0;
  shmem_barrier_all();
  long older = 0;
  for (long round = 1; round <= rounds(); ++round) {
    in_order(
        [&] {
          put_round(data, round, next_pe(1));
          put_round(&data[kWords], round, next_pe(2));
        },
        shmem_fence,
        [&] {
          shmem_long_p(flags, round, next_pe(1));
          shmem_long_p(&flags[8], round, next_pe(2));
        });
    for (size_t from = 0; from < 2; ++from) {
      shmem_long_wait_until(&flags[8 * from], SHMEM_CMP_GE, round);
      older += words_older_than(&data[kWords * from], round);
    }
  }
  expect_never(older);
}

// PE A puts to C, quiets and tells B; B tells C; C finds A's data.
TEST(Litmus, S34_QuietIsForAllPes) {
  if (is_weak() && n_pes() < 3) GTEST_SKIP() << "C must not be A";
  SymmetricArray<long> data(kWords), heard(16), passed_on(16);
  std::fill(data.data(), data.data() + kWords, 0);
  heard[0] = passed_on[0] = 0;
  shmem_barrier_all();
  long older = 0;
  for (long round = 1; round <= rounds(); ++round) {
    in_order([&] { put_round(data, round, next_pe(2)); }, shmem_quiet,
             [&] { shmem_long_atomic_set(heard, round, next_pe()); });
    shmem_long_wait_until(heard, SHMEM_CMP_GE, round);
    shmem_long_atomic_set(passed_on, round, next_pe());
    shmem_long_wait_until(passed_on, SHMEM_CMP_GE, round);
    older += words_older_than(data, round);
  }
  expect_never(older);
}

// Each of a pair writes to its partner, quiets, and reads its own word: at least one of them must
// find the new value. The weak form only leaves out the quiet: processors then break the rule,
// unless other programs keep both PEs from running at the same time.
void buffer_stores(const std::function<void()>& quiet) {
  SymmetricArray<long> word(16), found(16);
  long both_old = 0;
  word[0] = 0;
  shmem_barrier_all();
  const int most = is_weak() ? 20000 : rounds(4);
  for (long round = 1; round <= most; ++round) {
    shmem_long_p(word, round, partner());
    if (!is_weak()) quiet();
    found[0] = __atomic_load_n(word.data(), __ATOMIC_RELAXED);
    shmem_sync_all();
    both_old += found[0] < round && shmem_long_g(found, partner()) < round;
    shmem_sync_all();
    if (is_weak() && round % 1000 == 0 && sum_of_all(both_old) > 0) break;
  }
  if (is_weak() && sum_of_all(both_old) == 0)
    GTEST_SKIP() << "no store was late in " << most << " rounds";
  expect_never(both_old);
}

TEST(Litmus, S34_StoreBufferingIsForbiddenByQuiet) { buffer_stores(shmem_quiet); }

TEST(Litmus, S35_StoreBufferingIsForbiddenByQuietOfOnePe) {
  const int pe = partner();
  buffer_stores([&] { shmem_pe_quiet(&pe, 1); });
}

TEST(Litmus, S34_StoreBufferingIsForbiddenByQuietOfTheDefaultContext) {
  buffer_stores([&] { shmem_ctx_quiet(SHMEM_CTX_DEFAULT); });
}

// Puts before a barrier are there after it, barrier after barrier. Words alternate: a PE may be one
// barrier ahead.
TEST(Litmus, S36_BarriersOrderPuts) {
  SymmetricArray<long> data(2 * kWords);
  std::fill(data.data(), data.data() + data.size(), 0);
  shmem_barrier_all();
  long older = 0;
  for (long round = 1; round <= rounds(2); ++round) {
    long* now = &data[kWords * static_cast<size_t>(round % 2)];
    put_round(now, round, next_pe());
    if (!is_weak()) shmem_barrier_all();
    older += words_older_than(now, round);
  }
  expect_never(older);
}

// One word handed round by barriers only: each PE adds one in its turn, with plain loads and
// stores.
TEST(Litmus, S36_BarriersMayBeReused) {
  SymmetricArray<long> token(1);
  token[0] = 0;
  shmem_barrier_all();
  const int turns = rounds(2);
  for (int turn = 0; turn < turns; ++turn) {
    if (turn % n_pes() == my_pe()) {
      const long value = shmem_long_g(token, 0);
      if (is_weak()) nap();
      shmem_long_p(token, value + 1, 0);
    }
    if (!is_weak()) shmem_barrier_all();
  }
  shmem_barrier_all();
  expect_never(turns - shmem_long_g(token, 0));
}

// A lock made of compare-and-swap: the next holder finds the data that one holder has put.
TEST(Litmus, S42_AtomicsMakeLocks) {
  SymmetricArray<long> lock(16), counter(kWords);
  lock[0] = 0;
  std::fill(counter.data(), counter.data() + kWords, 0);
  shmem_barrier_all();
  const int turns = rounds(4);
  for (int turn = 0; turn < turns; ++turn) {
    while (!is_weak() && shmem_long_atomic_compare_swap(lock, 0, 1, 0) != 0) sched_yield();
    const long value = shmem_long_g(&counter[kWords - 1], 0);
    if (is_weak()) nap();
    put_round(counter, value + 1, 0);
    shmem_quiet();
    if (!is_weak()) shmem_long_atomic_set(lock, 0, 0);
  }
  shmem_barrier_all();
  expect_never(static_cast<long>(turns) * n_pes() - shmem_long_g(counter, 0));
}

}  // namespace
}  // namespace meshmem
