// SPDX-License-Identifier: Apache-2.0
//
// Litmus tests of the ends of waits, of data that arrives whole, and of progress without calls.
// They cover all ways to satisfy a wait, words of each width, and sources that are used again. They
// also cover parallel contexts, near and far atomics on one variable, and puts that nobody flushes.
// Invariant: see litmus.hpp.
#include <sched.h>

#include <functional>
#include <thread>
#include <utility>
#include <vector>

#include "litmus.hpp"

namespace meshmem {
namespace {

using Means = std::function<void(long* flag, long round, int pe)>;

// Each stores the number of the round, which is one more than the old value.
std::vector<Means> means_of_all_kinds() {
  const auto as_signal = [](long* flag) { return reinterpret_cast<uint64_t*>(flag); };
  return {
      [](long* flag, long round, int pe) { shmem_long_p(flag, round, pe); },
      [](long* flag, long round, int pe) { shmem_putmem(flag, &round, sizeof round, pe); },
      [](long* flag, long round, int pe) {
        shmem_long_put_nbi(flag, &round, 1, pe);
        shmem_quiet();
      },
      [](long* flag, long round, int pe) { shmem_long_iput(flag, &round, 1, 1, 1, pe); },
      [](long* flag, long round, int pe) { shmem_long_atomic_set(flag, round, pe); },
      [](long* flag, long, int pe) { shmem_long_atomic_add(flag, 1, pe); },
      [](long* flag, long, int pe) { shmem_long_atomic_inc(flag, pe); },
      [](long* flag, long round, int pe) { shmem_long_atomic_swap(flag, round, pe); },
      [](long* flag, long round, int pe) {
        shmem_long_atomic_compare_swap(flag, round - 1, round, pe);
      },
      [=](long* flag, long round, int pe) {
        shmem_signal_set(as_signal(flag), static_cast<uint64_t>(round), pe);
      },
      [=](long* flag, long, int pe) { shmem_signal_add(as_signal(flag), 1, pe); },
      [=](long* flag, long round, int pe) {
        shmem_putmem_signal(flag, nullptr, 0, as_signal(flag), static_cast<uint64_t>(round),
                            SHMEM_SIGNAL_SET, pe);
      },
  };
}

TEST(Litmus, S45_EveryMeansSatisfiesAWait) {
  Mail mail;
  const std::vector<Means> means = means_of_all_kinds();
  const auto send = [&](long round) {
    const Means& raise = means[static_cast<size_t>(round) % means.size()];
    in_order([&] { put_round(mail.data, round, partner()); }, shmem_fence,
             [&] { raise(mail.flag, round, partner()); });
  };
  const auto await = [&](long round) {
    const auto signal = reinterpret_cast<uint64_t*>(mail.flag.data());
    const int how = static_cast<int>(round / static_cast<long>(means.size()) % 5);
    if (how == 0) shmem_long_wait_until(mail.flag, SHMEM_CMP_EQ, round);
    if (how == 1) shmem_signal_wait_until(signal, SHMEM_CMP_EQ, static_cast<uint64_t>(round));
    if (how == 2) shmem_long_wait_until_any(mail.flag, 1, nullptr, SHMEM_CMP_EQ, round);
    if (how == 3) shmem_long_wait_until_all(mail.flag, 1, nullptr, SHMEM_CMP_EQ, round);
    while (how == 4 && !shmem_long_test(mail.flag, SHMEM_CMP_EQ, round)) sched_yield();
  };
  pass_messages(mail, send, await);
}

TEST(Litmus, S45_AStoreOfAThreadOfTheTargetSatisfiesAWait) {
  Mail mail;
  for (long round = 1; round <= 20; ++round) {
    std::thread thread([&] {
      if (!is_weak()) mail.data[0] = round;
      __atomic_store_n(&mail.flag[0], round, __ATOMIC_RELEASE);
    });
    shmem_long_wait_until(mail.flag, SHMEM_CMP_EQ, round);
    const long found = __atomic_load_n(&mail.data[0], __ATOMIC_RELAXED);
    thread.join();
    EXPECT_EQ(found, is_weak() ? 0 : round);
  }
}

// Words of 2, 4 and 8 bytes arrive whole, by p and by a put of that length: all bytes of a value
// are alike. A byte has no halves.
template <typename E>
struct Words {
  SymmetricArray<E> words{2 * 64 / sizeof(E)};  // one for p, one for put, in lines of their own
  Words() { words[0] = words[64 / sizeof(E)] = 0; }

  void send(uint64_t bytes_alike, const std::function<void(E*, E, int)>& p) {
    const E value = static_cast<E>(bytes_alike);
    p(words, value, partner());
    alignas(8) unsigned char unaligned[sizeof(E) + 1];
    std::memcpy(&unaligned[1], &value, sizeof value);
    shmem_putmem(&words[64 / sizeof(E)], &unaligned[1], sizeof value, partner());
  }
  long torn() {
    long n = 0;
    for (E* word : {&words[0], &words[64 / sizeof(E)]}) {
      const E seen = __atomic_load_n(word, __ATOMIC_RELAXED);
      n += seen != static_cast<E>((seen & 0xff) * 0x0101010101010101u);
    }
    return n;
  }
};

// The weak form calls this in place of p.
void put_halves(uint64_t* word, uint64_t value, int pe) {
  auto* halves = reinterpret_cast<uint32_t*>(word);
  for (int half : {0, 1}) {
    shmem_uint32_p(&halves[half], static_cast<uint32_t>(value), pe);
    nap();
  }
}

TEST(Litmus, S45_AlignedWordsArriveWhole) {
  Words<uint64_t> wide;
  Words<uint32_t> middle;
  Words<uint16_t> narrow;
  shmem_barrier_all();
  long torn = 0;
  for (int round = 1; round <= rounds(); ++round) {
    const uint64_t value = static_cast<uint64_t>(round & 0xff) * 0x0101010101010101u;
    if (sends()) {
      wide.send(value, is_weak() ? put_halves : shmem_uint64_p);
      middle.send(value, shmem_uint32_p);
      narrow.send(value, shmem_uint16_p);
    }
    torn += wide.torn() + middle.torn() + narrow.torn();
    if (is_weak()) nap();
  }
  expect_never(torn);
}

// A source is the caller's again when its put returns, whatever the length.
TEST(Litmus, S37_ASourceMayBeUsedAgainAfterItsPut) {
  for (size_t elems : {kWords, size_t{40000}}) {
    SymmetricArray<long> data(elems), flag(16), turn(16);
    flag[0] = turn[0] = 0;
    shmem_barrier_all();
    std::vector<long> source(elems);
    long wrong = 0;
    for (long round = 1; round <= (elems == kWords ? rounds(2) : 10); ++round) {
      std::fill(source.begin(), source.end(), round);
      if (sends()) {
        in_order([&] { shmem_long_put(data, source.data(), elems, partner()); }, [] {},
                 [&] { std::fill(source.begin(), source.end(), -1); });
        shmem_fence();
        shmem_long_p(flag, round, partner());
      }
      if (receives()) {
        shmem_long_wait_until(flag, SHMEM_CMP_EQ, round);
        wrong += std::count_if(data.data(), data.data() + elems,
                               [&](long word) { return word != round; });
        shmem_long_atomic_set(turn, round, partner());
      }
      if (sends()) shmem_long_wait_until(turn, SHMEM_CMP_EQ, round);
    }
    expect_never(wrong);
  }
}

// The puts of two contexts alternate: each context's fence orders its own.
TEST(Litmus, S33_ContextsAreOrdersOfTheirOwn) {
  constexpr size_t kContexts = 2;
  SymmetricArray<long> data(kContexts * kWords), flag(kContexts * 16), turn(kContexts * 16);
  std::fill(data.data(), data.data() + data.size(), 0);
  std::fill(flag.data(), flag.data() + flag.size(), 0);
  std::fill(turn.data(), turn.data() + turn.size(), 0);
  shmem_barrier_all();
  shmem_ctx_t ctxs[kContexts];
  EXPECT_EQ(shmem_ctx_create(SHMEM_CTX_PRIVATE, &ctxs[0]), 0);
  EXPECT_EQ(shmem_ctx_create(0, &ctxs[1]), 0);
  const auto put = [&](size_t c, long round) {
    for (size_t i = 0; i < kWords; ++i)
      shmem_ctx_long_p(ctxs[c], &data[c * kWords + i], round, partner());
  };
  const auto announce = [&](size_t c, long round) {
    if (!is_weak()) shmem_ctx_fence(ctxs[c]);
    shmem_ctx_long_p(ctxs[c], &flag[c * 16], round, partner());
  };
  long older = 0;
  for (long round = 1; round <= rounds(2); ++round) {
    if (sends()) {
      in_order([&] { put(0, round), put(1, round); }, [] {},
               [&] { announce(round % 2, round), announce(1 - round % 2, round); });
    }
    for (size_t c = 0; c < kContexts && receives(); ++c) {
      shmem_long_wait_until(&flag[c * 16], SHMEM_CMP_GE, round);
      older += words_older_than(&data[c * kWords], round);
      shmem_long_atomic_set(&turn[c * 16], round, partner());
    }
    for (size_t c = 0; c < kContexts && sends(); ++c)
      shmem_long_wait_until(&turn[c * 16], SHMEM_CMP_EQ, round);
  }
  expect_never(older);
  for (shmem_ctx_t ctx : ctxs) shmem_ctx_destroy(ctx);
}

// All PEs change the words of the first and of the last PE, which are near to some and far to
// others.
TEST(Litmus, S41_NearAndFarAtomicsOnOneVariableCount) {
  SymmetricArray<long> counter(1);
  SymmetricArray<uint64_t> signal(1);
  SymmetricArray<unsigned> small(1);
  counter[0] = 0, signal[0] = 0, small[0] = 0;
  shmem_barrier_all();
  const int turns = rounds(4);
  const auto add = [&](int turn, int pe) {
    if (is_weak()) {
      const long value = shmem_long_g(counter, pe);
      nap();
      return shmem_long_p(counter, value + 1, pe);
    }
    if (turn % 3 == 0) shmem_long_atomic_inc(counter, pe);
    if (turn % 3 == 1) shmem_long_atomic_fetch_add(counter, 1, pe);
    long seen = turn % 3 == 2 ? shmem_long_atomic_fetch(counter, pe) : 0;
    while (turn % 3 == 2) {
      const long before = shmem_long_atomic_compare_swap(counter, seen, seen + 1, pe);
      if (std::exchange(seen, before) == before) break;
    }
  };
  for (int turn = 0; turn < turns; ++turn) {
    for (int pe : {0, n_pes() - 1}) {
      add(turn, pe);
      shmem_signal_add(signal, 3, pe);
      shmem_uint_atomic_xor(small, 1u << (turn % 31), pe);
    }
  }
  shmem_barrier_all();
  const long words = n_pes() == 1 ? 2 : 1, all = words * turns * n_pes();
  long missing = 0;
  for (int pe : {0, n_pes() - 1}) missing += all - shmem_long_g(counter, pe);
  if (is_weak() && n_pes() == 1) return;
  expect_never(missing);
  for (int pe : {0, n_pes() - 1})
    EXPECT_EQ(shmem_uint64_g(signal, pe), static_cast<uint64_t>(3 * all));
  unsigned parity = 0;
  for (int turn = 0; turn < turns; ++turn) parity ^= 1u << (turn % 31);
  EXPECT_EQ(shmem_uint_g(small, 0), words * n_pes() % 2 == 0 ? 0u : parity);
  shmem_barrier_all();
}

// The sender puts more than leaves at once, and then calls nothing until the answer is in its
// memory. The receiver calls nothing either: after the first word, or after all. The weak form
// would hang without the step that it leaves out.
TEST(Litmus, S39_WhatNobodyFlushesArrives) {
  if (is_weak()) GTEST_SKIP() << "it hangs where a put does not leave";
  constexpr size_t kMany = 50;
  SymmetricArray<long> data(kMany), turn(1);
  std::fill(data.data(), data.data() + kMany, 0);
  turn[0] = 0;
  shmem_barrier_all();
  const auto await_by_loads = [](long* word, long round) {
    while (__atomic_load_n(word, __ATOMIC_ACQUIRE) < round) sched_yield();
  };
  for (long round = 1; round <= short_or_long(20, 1000); ++round) {
    if (sends())
      for (size_t i = 0; i < kMany; ++i) shmem_long_p(&data[i], round, partner());
    if (receives()) {
      shmem_long_wait_until_all(data, round % 2 ? 1 : kMany, nullptr, SHMEM_CMP_GE, round);
      for (size_t i = 0; i < kMany; ++i) await_by_loads(&data[i], round);
      shmem_long_p(turn, round, partner());
    }
    if (sends()) await_by_loads(turn, round);
  }
}

}  // namespace
}  // namespace meshmem
