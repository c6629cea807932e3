// SPDX-License-Identifier: Apache-2.0
//
// Atomic memory operations: every routine of every type, blocking and nonblocking, in heap and
// static memory, alone and with all PEs at the same word. Invariant: alone, each PE works on the
// next PE's word, and the words beside it stay zero.
#include <limits>
#include <thread>
#include <vector>

#include "symmetric_array.hpp"
#include "typed_routines.hpp"

namespace meshmem {
namespace {

alignas(16) std::byte static_words[3 * sizeof(uint64_t)];

template <typename E>
E value(int which) {
  return sample<E>(seed_of(my_pe(), static_cast<size_t>(which)));
}

// Adds as the machine does, since overflow of signed types is no error here.
template <typename E>
E wrapped_sum(E a, E b) {
  return static_cast<E>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}

// Runs check(word) on three zeroed words in the heap and in static memory. Expects word[1] to end
// as last() of the previous PE and the others as zero.
template <typename E, typename Check>
void on_next_pe(const Check& check) {
  SymmetricArray<E> heap(3);
  for (E* words : {heap.data(), reinterpret_cast<E*>(static_words)}) {
    words[0] = words[1] = words[2] = E(0);
    shmem_barrier_all();
    const E last = check(&words[1], next_pe());
    EXPECT_EQ(shmem_g(&words[1], next_pe()), last);
    shmem_barrier_all();
    EXPECT_EQ(words[0], E(0));
    EXPECT_EQ(words[2], E(0));
    shmem_barrier_all();
  }
}

template <typename Row, typename E>
E check_extended(const Row& row, E* word, int pe) {
  const E a = value<E>(1), b = value<E>(2), c = value<E>(3);
  row.atomic_set(word, a, pe);
  EXPECT_EQ(row.atomic_fetch(word, pe), a);
  EXPECT_EQ(row.atomic_swap(word, b, pe), a);
  EXPECT_EQ(row.atomic_fetch(word, pe), b);
  E fetched = E(0), swapped = E(0);
  row.atomic_fetch_nbi(&fetched, word, pe);
  shmem_quiet();
  EXPECT_EQ(fetched, b);
  row.atomic_swap_nbi(&swapped, word, c, pe);
  shmem_quiet();
  EXPECT_EQ(swapped, b);
  return c;
}

TEST(AtomicExtended, FetchSetAndSwapEveryType) {
  for_each_atomic_ext([](const auto& row) {
    SCOPED_TRACE(row.type);
    using E = typename std::decay_t<decltype(row)>::Element;
    on_next_pe<E>([&](E* word, int pe) { return check_extended(row, word, pe); });
  });
}

TEST(AtomicExtended, KeepsTheBitsOfFloatingPointPatterns) {
  for_each_atomic_ext([](const auto& row) {
    using E = typename std::decay_t<decltype(row)>::Element;
    if constexpr (!std::is_integral_v<E>) {
      SCOPED_TRACE(row.type);
      SymmetricArray<E> words(kPatterns);
      E source[kPatterns], fetched[kPatterns], swapped[kPatterns];
      fill_patterns(source);
      for (size_t i = 0; i < kPatterns; ++i) {
        row.atomic_set(&words[i], source[i], next_pe());
        fetched[i] = row.atomic_fetch(&words[i], next_pe());
        swapped[i] = row.atomic_swap(&words[i], E(1), next_pe());
        row.atomic_swap_nbi(&swapped[i], &words[i], swapped[i], next_pe());
      }
      shmem_quiet();
      expect_patterns("fetch", fetched);
      expect_all("swapped", swapped, kPatterns, E(1));
      shmem_barrier_all();
      expect_patterns("set by a swap", words.data());
    }
  });
}

// Arithmetic from `start`, which may be at either end of the type's range.
template <typename Row, typename E>
E check_standard(const Row& row, E* word, int pe, E start) {
  const E step = value<E>(4);
  shmem_p(word, start, pe);
  shmem_quiet();
  E now = start;
  EXPECT_EQ(row.atomic_fetch_inc(word, pe), now);
  now = wrapped_sum(now, E(1));
  row.atomic_inc(word, pe);
  now = wrapped_sum(now, E(1));
  EXPECT_EQ(row.atomic_fetch_add(word, step, pe), now);
  now = wrapped_sum(now, step);
  row.atomic_add(word, step, pe);
  now = wrapped_sum(now, step);
  E first = E(0), second = E(0);
  row.atomic_fetch_inc_nbi(&first, word, pe);
  shmem_quiet();
  EXPECT_EQ(first, now);
  now = wrapped_sum(now, E(1));
  row.atomic_fetch_add_nbi(&second, word, step, pe);
  shmem_quiet();
  EXPECT_EQ(second, now);
  return wrapped_sum(now, step);
}

template <typename Row, typename E>
E check_compare_swap(const Row& row, E* word, int pe) {
  const E a = value<E>(5), b = value<E>(6), c = value<E>(7);
  shmem_p(word, a, pe);
  shmem_quiet();
  EXPECT_EQ(row.atomic_compare_swap(word, b, c, pe), a) << "a swap that must not happen";
  EXPECT_EQ(row.atomic_compare_swap(word, a, b, pe), a);
  E fetched = E(0);
  row.atomic_compare_swap_nbi(&fetched, word, a, c, pe);
  shmem_quiet();
  EXPECT_EQ(fetched, b) << "a swap that must not happen";
  row.atomic_compare_swap_nbi(&fetched, word, b, c, pe);
  shmem_quiet();
  EXPECT_EQ(fetched, b);
  return c;
}

TEST(AtomicStandard, S42_AddAndIncrementWrapAround) {
  for_each_atomic_std([](const auto& row) {
    SCOPED_TRACE(row.type);
    using E = typename std::decay_t<decltype(row)>::Element;
    constexpr E kMax = std::numeric_limits<E>::max(), kMin = std::numeric_limits<E>::min();
    for (E start : {E(0), kMax, kMin, static_cast<E>(kMax - 1), static_cast<E>(~E(0))}) {
      on_next_pe<E>([&](E* word, int pe) { return check_standard(row, word, pe, start); });
    }
  });
}

TEST(AtomicStandard, S42_CompareSwapReturnsThePriorValue) {
  for_each_atomic_std([](const auto& row) {
    SCOPED_TRACE(row.type);
    using E = typename std::decay_t<decltype(row)>::Element;
    on_next_pe<E>([&](E* word, int pe) { return check_compare_swap(row, word, pe); });
  });
}

// A word that differs from what is expected in one bit, be it the lowest or the highest, is left.
TEST(AtomicStandard, S42_CompareSwapComparesEveryBit) {
  for_each_atomic_std([](const auto& row) {
    SCOPED_TRACE(row.type);
    using E = typename std::decay_t<decltype(row)>::Element;
    on_next_pe<E>([&](E* word, int pe) {
      const E there = value<E>(11);
      shmem_p(word, there, pe);
      shmem_quiet();
      for (size_t bit = 0; bit < 8 * sizeof(E); ++bit) {
        const E other = static_cast<E>(static_cast<uint64_t>(there) ^ uint64_t{1} << bit);
        EXPECT_EQ(row.atomic_compare_swap(word, other, E(0), pe), there) << "bit " << bit;
      }
      return there;
    });
  });
}

TEST(AtomicStandard, S42_CompareSwapNeverFailsSpuriously) {
  for_each_atomic_std([](const auto& row) {
    SCOPED_TRACE(row.type);
    using E = typename std::decay_t<decltype(row)>::Element;
    on_next_pe<E>([&](E* word, int pe) {
      int failures = 0;
      for (E i = 0; i < E(300); ++i) {
        failures += row.atomic_compare_swap(word, i, static_cast<E>(i + 1), pe) != i;
      }
      EXPECT_EQ(failures, 0);
      return E(300);
    });
  });
}

template <typename Row, typename E>
E check_bitwise(const Row& row, E* word, int pe) {
  const E mask = value<E>(8), other = value<E>(9);
  E now = value<E>(10), fetched = E(0);
  shmem_p(word, now, pe);
  shmem_quiet();
  EXPECT_EQ(row.atomic_fetch_and(word, mask, pe), now);
  now &= mask;
  row.atomic_or(word, other, pe);
  now |= other;
  EXPECT_EQ(row.atomic_fetch_xor(word, mask, pe), now);
  now ^= mask;
  row.atomic_and(word, other, pe);
  now &= other;
  EXPECT_EQ(row.atomic_fetch_or(word, mask, pe), now);
  now |= mask;
  row.atomic_xor(word, other, pe);
  now ^= other;
  row.atomic_fetch_or_nbi(&fetched, word, other, pe);
  shmem_quiet();
  EXPECT_EQ(fetched, now);
  now |= other;
  row.atomic_fetch_xor_nbi(&fetched, word, mask, pe);
  shmem_quiet();
  EXPECT_EQ(fetched, now);
  now ^= mask;
  row.atomic_fetch_and_nbi(&fetched, word, other, pe);
  shmem_quiet();
  EXPECT_EQ(fetched, now);
  return now & other;
}

TEST(AtomicBitwise, AndOrXorEveryType) {
  for_each_atomic_bit([](const auto& row) {
    SCOPED_TRACE(row.type);
    using E = typename std::decay_t<decltype(row)>::Element;
    on_next_pe<E>([&](E* word, int pe) { return check_bitwise(row, word, pe); });
  });
}

constexpr int kRounds = 60;

// All PEs draw tickets from one counter: each ticket is drawn once.
TEST(AtomicStandard, S41_AllPesDrawDistinctTickets) {
  for_each_atomic_std([](const auto& row) {
    SCOPED_TRACE(row.type);
    using E = typename std::decay_t<decltype(row)>::Element;
    const int owner = n_pes() - 1;
    const auto tickets = static_cast<size_t>(2 * kRounds * n_pes());
    SymmetricArray<E> counter(1);
    SymmetricArray<int> drawn(tickets + 1);
    counter[0] = E(0);
    std::fill(drawn.data(), drawn.data() + tickets + 1, 0);
    shmem_barrier_all();
    for (int i = 0; i < kRounds; ++i) {
      const auto ticket = static_cast<size_t>(row.atomic_fetch_inc(counter, owner));
      const auto next = static_cast<size_t>(row.atomic_fetch_add(counter, E(1), owner));
      shmem_int_atomic_inc(&drawn[std::min(ticket, tickets)], owner);
      shmem_int_atomic_inc(&drawn[std::min(next, tickets)], owner);
    }
    shmem_barrier_all();
    if (my_pe() != owner) return;
    EXPECT_EQ(counter[0], static_cast<E>(tickets));
    expect_all("drawn", drawn.data(), tickets, 1);
  });
}

TEST(AtomicStandard, S41_NoAdditionIsLost) {
  for_each_atomic_std([](const auto& row) {
    SCOPED_TRACE(row.type);
    using E = typename std::decay_t<decltype(row)>::Element;
    SymmetricArray<E> sum(1);
    sum[0] = E(0);
    shmem_barrier_all();
    for (int i = 0; i < kRounds; ++i) {
      row.atomic_add(sum, E(3), 0);
      row.atomic_inc(sum, 0);
      E seen = row.atomic_fetch_inc(sum, 0);
      for (;;) {  // one more, by compare and swap
        const E found = row.atomic_compare_swap(sum, seen, static_cast<E>(seen + 1), 0);
        if (found == seen) break;
        seen = found;
      }
    }
    shmem_barrier_all();
    EXPECT_EQ(shmem_g(sum.data(), 0), static_cast<E>(6 * kRounds * n_pes()));
    shmem_barrier_all();
  });
}

TEST(AtomicBitwise, S41_EveryPeOwnsABit) {
  for_each_atomic_bit([](const auto& row) {
    SCOPED_TRACE(row.type);
    using E = typename std::decay_t<decltype(row)>::Element;
    SymmetricArray<E> word(1);
    word[0] = E(0);
    shmem_barrier_all();
    const E bit = E(1) << (my_pe() % (8 * static_cast<int>(sizeof(E))));
    for (int i = 0; i < kRounds; ++i) {
      EXPECT_EQ(row.atomic_fetch_or(word, bit, 0) & bit, E(0));
      EXPECT_EQ(row.atomic_fetch_and(word, static_cast<E>(~bit), 0) & bit, bit);
      EXPECT_EQ(row.atomic_fetch_xor(word, bit, 0) & bit, E(0));
      row.atomic_xor(word, bit, 0);
    }
    row.atomic_or(word, bit, 0);
    shmem_barrier_all();
    EXPECT_EQ(shmem_g(word.data(), 0), static_cast<E>((E(1) << n_pes()) - 1));
    shmem_barrier_all();
  });
}

// Tokens are swapped in and out of one word: the tokens that come out, and the one that is left,
// are those that went in.
TEST(AtomicExtended, S41_SwapsLoseNoToken) {
  for_each_atomic_ext([](const auto& row) {
    SCOPED_TRACE(row.type);
    using E = typename std::decay_t<decltype(row)>::Element;
    SymmetricArray<E> word(1);
    SymmetricArray<long> balance(1);
    word[0] = E(0);
    balance[0] = 0;
    shmem_barrier_all();
    long mine = 0;
    for (int i = 0; i < kRounds; ++i) {
      const long token = 1 + my_pe() * kRounds + i;
      mine += token - static_cast<long>(row.atomic_swap(word, static_cast<E>(token), 0));
    }
    shmem_long_atomic_add(balance, mine, 0);
    shmem_barrier_all();
    if (my_pe() == 0) {
      EXPECT_EQ(balance[0], static_cast<long>(word[0]));
    }
  });
}

TEST(AtomicStandard, S41_IsExclusiveWithWaits) {
  for_each_atomic_std([](const auto& row) {
    SCOPED_TRACE(row.type);
    using E = typename std::decay_t<decltype(row)>::Element;
    SymmetricArray<E> arrived(1);
    arrived[0] = E(0);
    shmem_barrier_all();
    for (int pe = 0; pe < n_pes(); ++pe) row.atomic_inc(arrived, pe);
    shmem_wait_until(arrived.data(), SHMEM_CMP_EQ, static_cast<E>(n_pes()));
    EXPECT_EQ(arrived[0], static_cast<E>(n_pes()));
  });
}

// The target spins in plain code, without any call of the library, until a PE tells it that all
// operations on it are done.
TEST(Progress, S39_NeedsNoCallByTheTarget) {
  SymmetricArray<long> words(3);
  words[0] = words[1] = 0;
  words[2] = 42;
  shmem_barrier_all();
  if (my_pe() == 0 && n_pes() > 1) {
    while (__atomic_load_n(&words[1], __ATOMIC_ACQUIRE) != n_pes() - 1) std::this_thread::yield();
    EXPECT_EQ(words[0], n_pes() * (n_pes() - 1) / 2);
  } else if (my_pe() != 0) {
    EXPECT_EQ(shmem_long_g(&words[2], 0), 42);
    shmem_long_atomic_add(&words[0], my_pe(), 0);
    shmem_quiet();
    shmem_long_atomic_inc(&words[1], 0);
  }
  shmem_barrier_all();
}

}  // namespace
}  // namespace meshmem
