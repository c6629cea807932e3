// SPDX-License-Identifier: Apache-2.0
//
// Contexts: creation and destruction, and every routine that takes one, on the default context, on
// contexts of the world, and on contexts of a team whose numbering is reversed.
// Invariant: a routine that takes a PE number as the world's, though it is the team's, writes to
// the wrong PE, where the test sees it.
#include <vector>

#include "symmetric_array.hpp"
#include "typed_routines.hpp"

namespace meshmem {
namespace {

constexpr size_t kElems = 24;
constexpr long kOptions[] = {0, SHMEM_CTX_SERIALIZED, SHMEM_CTX_PRIVATE, SHMEM_CTX_NOSTORE,
                             SHMEM_CTX_PRIVATE | SHMEM_CTX_NOSTORE};

// A context and the number that the next PE of the world has in the context's team.
struct Way {
  const char* name;
  shmem_ctx_t ctx;
  int next;
};

// Runs `check` on the default context, a context of the world and one of the world's PEs in
// reversed order.
template <typename Check>
void on_every_way(const Check& check) {
  shmem_team_t reversed = SHMEM_TEAM_INVALID;
  const shmem_team_config_t config = {2};
  EXPECT_EQ(shmem_team_split_strided(SHMEM_TEAM_WORLD, n_pes() - 1, -1, n_pes(), &config,
                                     SHMEM_TEAM_NUM_CONTEXTS, &reversed),
            0);
  shmem_ctx_t world_ctx = SHMEM_CTX_INVALID, team_ctx = SHMEM_CTX_INVALID;
  EXPECT_EQ(shmem_ctx_create(0, &world_ctx), 0);
  EXPECT_EQ(shmem_team_create_ctx(reversed, 0, &team_ctx), 0);
  const Way ways[] = {{"default", SHMEM_CTX_DEFAULT, next_pe()},
                      {"of the world", world_ctx, next_pe()},
                      {"of a team", team_ctx, n_pes() - 1 - next_pe()}};
  for (const Way& way : ways) {
    SCOPED_TRACE(way.name);
    check(way);
  }
  shmem_ctx_destroy(team_ctx);
  shmem_ctx_destroy(world_ctx);
  shmem_team_destroy(reversed);
}

// Fills dest and source, runs `copy` and compares the n elements that came from `from`.
template <typename E, typename Copy>
void check_copy(const char* what, const Way& way, E* dest, E* source, size_t n, int from,
                const Copy& copy) {
  static int round = 0;
  ++round;
  fill(source, kElems, my_pe(), round);
  fill(dest, kElems, my_pe(), round + 100000);
  shmem_barrier_all();
  copy(dest, source, n);
  shmem_ctx_quiet(way.ctx);
  shmem_barrier_all();
  expect_filled(what, dest, n, from, round);
  EXPECT_TRUE(same(dest[n], sample<E>(seed_of(my_pe(), n, round + 100000))));
}

template <typename Row, typename E>
void check_rma(const Row& row, const Way& w, E* heap, E* local) {
  const int from = previous_pe(), to = next_pe();
  check_copy("ctx_put", w, heap, local, 11, from,
             [&](E* d, E* s, size_t n) { row.ctx_put(w.ctx, d, s, n, w.next); });
  check_copy("ctx_put_nbi", w, heap, local, 11, from,
             [&](E* d, E* s, size_t n) { row.ctx_put_nbi(w.ctx, d, s, n, w.next); });
  check_copy("ctx_get", w, local, heap, 11, to,
             [&](E* d, E* s, size_t n) { row.ctx_get(w.ctx, d, s, n, w.next); });
  check_copy("ctx_get_nbi", w, local, heap, 11, to,
             [&](E* d, E* s, size_t n) { row.ctx_get_nbi(w.ctx, d, s, n, w.next); });
}

TEST(Context, S30_PutAndGetUseTheTeamsNumbers) {
  on_every_way([](const Way& way) {
    for_each_rma([&](const auto& row) {
      SCOPED_TRACE(row.type);
      using E = typename std::decay_t<decltype(row)>::Element;
      SymmetricArray<E> heap(kElems);
      std::vector<E> local(kElems);
      check_rma(row, way, heap.data(), local.data());
    });
  });
}

template <typename Row, typename E>
void check_strided(const Row& row, const Way& w, E* heap, E* local) {
  const int from = previous_pe(), to = next_pe();
  check_copy("ctx_iput", w, heap, local, 11, from,
             [&](E* d, E* s, size_t n) { row.ctx_iput(w.ctx, d, s, 1, 1, n, w.next); });
  check_copy("ctx_iget", w, local, heap, 11, to,
             [&](E* d, E* s, size_t n) { row.ctx_iget(w.ctx, d, s, 1, 1, n, w.next); });
  check_copy("ctx_ibput", w, heap, local, 12, from,
             [&](E* d, E* s, size_t n) { row.ctx_ibput(w.ctx, d, s, 3, 3, 3, n / 3, w.next); });
  check_copy("ctx_ibget", w, local, heap, 12, to,
             [&](E* d, E* s, size_t n) { row.ctx_ibget(w.ctx, d, s, 3, 3, 3, n / 3, w.next); });
}

TEST(Context, S30_StridedCopiesUseTheTeamsNumbers) {
  on_every_way([](const Way& way) {
    for_each_strided([&](const auto& row) {
      SCOPED_TRACE(row.type);
      using E = typename std::decay_t<decltype(row)>::Element;
      SymmetricArray<E> heap(kElems);
      std::vector<E> local(kElems);
      check_strided(row, way, heap.data(), local.data());
    });
  });
}

TEST(Context, S30_SingleElementsUseTheTeamsNumbers) {
  on_every_way([](const Way& way) {
    for_each_single([&](const auto& row) {
      SCOPED_TRACE(row.type);
      using E = typename std::decay_t<decltype(row)>::Element;
      SymmetricArray<E> heap(1);
      heap[0] = E(0);
      shmem_barrier_all();
      row.ctx_p(way.ctx, heap, sample<E>(seed_of(my_pe(), 1)), way.next);
      shmem_ctx_quiet(way.ctx);
      EXPECT_EQ(row.ctx_g(way.ctx, heap, way.next), sample<E>(seed_of(my_pe(), 1)));
      shmem_barrier_all();
      EXPECT_EQ(heap[0], sample<E>(seed_of(previous_pe(), 1)));
    });
  });
}

// Sends with a signal and waits for the previous PE's data.
template <typename Row, typename E>
void check_signal(const Row& row, const Way& w, E* heap, uint64_t* signal) {
  for (const auto& put_signal : {row.ctx_put_signal, row.ctx_put_signal_nbi}) {
    std::vector<E> local(kElems);
    fill(local.data(), kElems, my_pe(), 3);
    fill(heap, kElems, my_pe(), 4);
    *signal = 0;
    shmem_barrier_all();
    put_signal(w.ctx, heap, local.data(), 7, signal, 5, SHMEM_SIGNAL_ADD, w.next);
    shmem_signal_wait_until(signal, SHMEM_CMP_EQ, 5);
    expect_filled("ctx_put_signal", heap, 7, previous_pe(), 3);
    EXPECT_TRUE(same(heap[7], sample<E>(seed_of(my_pe(), 7, 4))));
    shmem_ctx_quiet(w.ctx);
    shmem_barrier_all();
  }
}

TEST(Context, S30_SignalsUseTheTeamsNumbers) {
  SymmetricArray<uint64_t> signal(1);
  on_every_way([&](const Way& way) {
    for_each_rma([&](const auto& row) {
      SCOPED_TRACE(row.type);
      using E = typename std::decay_t<decltype(row)>::Element;
      SymmetricArray<E> heap(kElems);
      check_signal(row, way, heap.data(), signal.data());
    });
    signal[0] = 0;
    shmem_barrier_all();
    shmem_ctx_signal_set(way.ctx, signal, 40 + static_cast<uint64_t>(my_pe()), way.next);
    shmem_ctx_fence(way.ctx);
    shmem_ctx_signal_add(way.ctx, signal, 100, way.next);
    const uint64_t expected = 140 + static_cast<uint64_t>(previous_pe());
    EXPECT_EQ(shmem_signal_wait_until(signal, SHMEM_CMP_GE, 140), expected);
    shmem_barrier_all();
  });
}

// Each routine of a family once; the word ends as the previous PE's sample.
template <typename Row, typename E>
void check_atomics_ext(const Row& row, const Way& w, E* word) {
  const E a = sample<E>(seed_of(my_pe(), 1)), b = sample<E>(seed_of(my_pe(), 2));
  E fetched = E(0), swapped = E(0);
  row.ctx_atomic_set(w.ctx, word, a, w.next);
  EXPECT_EQ(row.ctx_atomic_fetch(w.ctx, word, w.next), a);
  EXPECT_EQ(row.ctx_atomic_swap(w.ctx, word, b, w.next), a);
  row.ctx_atomic_fetch_nbi(w.ctx, &fetched, word, w.next);
  shmem_ctx_quiet(w.ctx);
  EXPECT_EQ(fetched, b);
  row.ctx_atomic_swap_nbi(w.ctx, &swapped, word, a, w.next);
  shmem_ctx_quiet(w.ctx);
  EXPECT_EQ(swapped, b);
}

template <typename Row, typename E>
void check_atomics_std(const Row& row, const Way& w, E* word) {
  const E a = sample<E>(seed_of(my_pe(), 1));
  E before[3] = {};
  EXPECT_EQ(row.ctx_atomic_fetch_inc(w.ctx, word, w.next), E(0));
  row.ctx_atomic_inc(w.ctx, word, w.next);
  EXPECT_EQ(row.ctx_atomic_fetch_add(w.ctx, word, E(5), w.next), E(2));
  row.ctx_atomic_add(w.ctx, word, E(5), w.next);
  EXPECT_EQ(row.ctx_atomic_compare_swap(w.ctx, word, E(12), E(20), w.next), E(12));
  row.ctx_atomic_fetch_inc_nbi(w.ctx, &before[0], word, w.next);
  shmem_ctx_quiet(w.ctx);
  row.ctx_atomic_fetch_add_nbi(w.ctx, &before[1], word, E(2), w.next);
  shmem_ctx_quiet(w.ctx);
  row.ctx_atomic_compare_swap_nbi(w.ctx, &before[2], word, E(23), a, w.next);
  shmem_ctx_quiet(w.ctx);
  EXPECT_EQ(before[0], E(20));
  EXPECT_EQ(before[1], E(21));
  EXPECT_EQ(before[2], E(23));
}

template <typename Row, typename E>
void check_atomics_bit(const Row& row, const Way& w, E* word) {
  const E a = sample<E>(seed_of(my_pe(), 1));
  E before[3] = {};
  EXPECT_EQ(row.ctx_atomic_fetch_or(w.ctx, word, E(0xf0), w.next), E(0));
  row.ctx_atomic_or(w.ctx, word, E(0x0f), w.next);
  EXPECT_EQ(row.ctx_atomic_fetch_and(w.ctx, word, E(0x3c), w.next), E(0xff));
  row.ctx_atomic_and(w.ctx, word, E(0x18), w.next);
  EXPECT_EQ(row.ctx_atomic_fetch_xor(w.ctx, word, E(0xff), w.next), E(0x18));
  row.ctx_atomic_xor(w.ctx, word, E(0xe0), w.next);
  row.ctx_atomic_fetch_and_nbi(w.ctx, &before[0], word, E(1), w.next);
  shmem_ctx_quiet(w.ctx);
  row.ctx_atomic_fetch_or_nbi(w.ctx, &before[1], word, E(2), w.next);
  shmem_ctx_quiet(w.ctx);
  row.ctx_atomic_fetch_xor_nbi(w.ctx, &before[2], word, static_cast<E>(a ^ E(3)), w.next);
  shmem_ctx_quiet(w.ctx);
  EXPECT_EQ(before[0], E(0x07));
  EXPECT_EQ(before[1], E(1));
  EXPECT_EQ(before[2], E(3));
}

template <typename E, typename Check>
void on_a_word(const Way& way, const Check& check) {
  SymmetricArray<E> word(1);
  word[0] = E(0);
  shmem_barrier_all();
  check(way, word.data());
  shmem_ctx_quiet(way.ctx);
  shmem_barrier_all();
  EXPECT_EQ(word[0], sample<E>(seed_of(previous_pe(), 1)));
}

TEST(Context, S30_AtomicsUseTheTeamsNumbers) {
  on_every_way([](const Way& way) {
    for_each_atomic_ext([&](const auto& row) {
      SCOPED_TRACE(row.type);
      using E = typename std::decay_t<decltype(row)>::Element;
      on_a_word<E>(way, [&](const Way& w, E* word) { check_atomics_ext(row, w, word); });
    });
    for_each_atomic_std([&](const auto& row) {
      SCOPED_TRACE(row.type);
      using E = typename std::decay_t<decltype(row)>::Element;
      on_a_word<E>(way, [&](const Way& w, E* word) { check_atomics_std(row, w, word); });
    });
    for_each_atomic_bit([&](const auto& row) {
      SCOPED_TRACE(row.type);
      using E = typename std::decay_t<decltype(row)>::Element;
      on_a_word<E>(way, [&](const Way& w, E* word) { check_atomics_bit(row, w, word); });
    });
  });
}

TEST(Context, S30_CreationIsLocalAndTakesEveryOption) {
  SymmetricArray<long> word(1);
  word[0] = 0;
  shmem_barrier_all();
  if (my_pe() == 0) {  // the others do nothing: creation is not collective
    for (long options : kOptions) {
      shmem_ctx_t ctx = SHMEM_CTX_INVALID;
      EXPECT_EQ(shmem_ctx_create(options, &ctx), 0);
      EXPECT_NE(ctx, SHMEM_CTX_INVALID);
      EXPECT_NE(ctx, SHMEM_CTX_DEFAULT);
      shmem_ctx_long_atomic_add(ctx, word, 1, n_pes() - 1);
      shmem_ctx_destroy(ctx);
    }
  }
  shmem_barrier_all();
  EXPECT_EQ(word[0], my_pe() == n_pes() - 1 ? 5 : 0);
}

TEST(Context, S30_FailureLeavesTheLibraryUsable) {
  shmem_ctx_t ctx = SHMEM_CTX_DEFAULT;
  EXPECT_NE(shmem_team_create_ctx(SHMEM_TEAM_INVALID, 0, &ctx), 0);
  EXPECT_EQ(ctx, SHMEM_CTX_INVALID);
  std::vector<shmem_ctx_t> contexts;
  for (int i = 0; i < 300; ++i) {  // as many as there may be; more is not an error
    if (shmem_ctx_create(0, &ctx) != 0) {
      EXPECT_EQ(ctx, SHMEM_CTX_INVALID);
      break;
    }
    contexts.push_back(ctx);
  }
  EXPECT_GE(contexts.size(), 8u);
  SymmetricArray<long> word(1);
  word[0] = 0;
  shmem_barrier_all();
  for (shmem_ctx_t each : contexts) shmem_ctx_long_atomic_inc(each, word, next_pe());
  for (shmem_ctx_t each : contexts) shmem_ctx_destroy(each);
  shmem_barrier_all();
  EXPECT_GE(word[0], 8);
  EXPECT_EQ(shmem_ctx_create(0, &ctx), 0) << "destroyed contexts can be had again";
  shmem_ctx_destroy(ctx);
}

TEST(Context, S31_KnowsItsTeam) {
  shmem_team_t team = SHMEM_TEAM_INVALID;
  EXPECT_EQ(shmem_ctx_get_team(SHMEM_CTX_DEFAULT, &team), 0);
  EXPECT_EQ(team, SHMEM_TEAM_WORLD);
  shmem_ctx_t ctx = SHMEM_CTX_INVALID;
  EXPECT_EQ(shmem_ctx_create(0, &ctx), 0);
  team = SHMEM_TEAM_INVALID;
  EXPECT_EQ(shmem_ctx_get_team(ctx, &team), 0);
  EXPECT_EQ(team, SHMEM_TEAM_WORLD);
  shmem_ctx_destroy(ctx);
  EXPECT_EQ(shmem_team_create_ctx(SHMEM_TEAM_SHARED, 0, &ctx), 0);
  EXPECT_EQ(shmem_ctx_get_team(ctx, &team), 0);
  EXPECT_EQ(team, SHMEM_TEAM_SHARED);
  shmem_ctx_destroy(ctx);
  team = SHMEM_TEAM_WORLD;
  EXPECT_NE(shmem_ctx_get_team(SHMEM_CTX_INVALID, &team), 0);
  EXPECT_EQ(team, SHMEM_TEAM_INVALID);
}

TEST(Context, S31_DestructionCompletesItsPuts) {
  SymmetricArray<uint64_t> dest(500);
  std::vector<uint64_t> source(500);
  fill(source.data(), source.size(), my_pe());
  std::fill(dest.data(), dest.data() + dest.size(), 0);
  shmem_barrier_all();
  shmem_ctx_t ctx = SHMEM_CTX_INVALID;
  EXPECT_EQ(shmem_ctx_create(0, &ctx), 0);
  shmem_ctx_uint64_put_nbi(ctx, dest, source.data(), source.size(), next_pe());
  shmem_ctx_destroy(ctx);
  shmem_sync_all();
  expect_filled("put_nbi", dest.data(), dest.size(), previous_pe());
  shmem_ctx_destroy(SHMEM_CTX_INVALID);
}

// The quiet of a context completes its operations; a sync then tells the others.
TEST(Context, S60_ItsQuietAndASyncCompletePutsForATeam) {
  SymmetricArray<uint64_t> dest(300);
  std::vector<uint64_t> source(300);
  shmem_ctx_t ctx = SHMEM_CTX_INVALID;
  EXPECT_EQ(shmem_team_create_ctx(SHMEM_TEAM_SHARED, 0, &ctx), 0);
  const int n = shmem_team_n_pes(SHMEM_TEAM_SHARED), me = shmem_team_my_pe(SHMEM_TEAM_SHARED);
  const int previous =
      shmem_team_translate_pe(SHMEM_TEAM_SHARED, (me + n - 1) % n, SHMEM_TEAM_WORLD);
  for (int round = 0; round < 50; ++round) {
    fill(source.data(), source.size(), my_pe(), round);
    shmem_ctx_uint64_put_nbi(ctx, dest, source.data(), source.size(), (me + 1) % n);
    shmem_ctx_quiet(ctx);
    EXPECT_EQ(shmem_team_sync(SHMEM_TEAM_SHARED), 0);
    expect_filled("put_nbi", dest.data(), dest.size(), previous, round);
    EXPECT_EQ(shmem_team_sync(SHMEM_TEAM_SHARED), 0);
  }
  shmem_ctx_destroy(ctx);
}

TEST(Context, S32_FenceAndQuietOfAnInvalidOneDoNothing) {
  shmem_ctx_fence(SHMEM_CTX_INVALID);
  shmem_ctx_quiet(SHMEM_CTX_INVALID);
  const int pe = 0;
  shmem_ctx_pe_quiet(SHMEM_CTX_INVALID, &pe, 1);
}

}  // namespace
}  // namespace meshmem
