// SPDX-License-Identifier: Apache-2.0
//
// fence, quiet and pe_quiet: which operations they order, and for which PEs.
// Invariant: a receiver polls a flag that was written after the ordering call, and then reads the
// data, without any collective between.
#include <functional>
#include <vector>

#include "symmetric_array.hpp"

namespace meshmem {
namespace {

constexpr int kRounds = 200;
constexpr size_t kElems = 50;

// The memory that the test's sender and receiver share.
struct Mailbox {
  SymmetricArray<long> data{kElems};
  SymmetricArray<long> flag{1};
  SymmetricArray<long> answer{1};
  std::vector<long> source = std::vector<long>(kElems);

  Mailbox() {
    for (size_t i = 0; i < kElems; ++i) data[i] = 0;
    flag[0] = answer[0] = 0;
    shmem_barrier_all();
  }
};

// PE 0 sends a round's number kElems times to PE `to` by `send`, then the flag; the receiver checks
// and answers.
void send_rounds(Mailbox& box, int to, const std::function<void(Mailbox&, long round)>& send) {
  for (long round = 1; round <= kRounds; ++round) {
    if (my_pe() == 0) {
      std::fill(box.source.begin(), box.source.end(), round);
      send(box, round);
      shmem_long_atomic_set(box.flag, round, to);
    }
    if (my_pe() == to) {
      shmem_long_wait_until(box.flag, SHMEM_CMP_EQ, round);
      expect_all("what was sent before the flag", box.data.data(), kElems, round);
      shmem_long_atomic_set(box.answer, round, 0);
    }
    if (my_pe() == 0) shmem_long_wait_until(box.answer, SHMEM_CMP_EQ, round);
  }
  shmem_barrier_all();
}

TEST(Fence, S33_OrdersPutsToAPe) {
  Mailbox box;
  const int to = n_pes() - 1;
  send_rounds(box, to, [to](Mailbox& b, long) {
    shmem_long_put(b.data, b.source.data(), kElems, to);
    shmem_fence();
  });
  send_rounds(box, to, [to](Mailbox& b, long) {
    shmem_long_put_nbi(b.data, b.source.data(), kElems, to);
    shmem_fence();
  });
  send_rounds(box, to, [to](Mailbox& b, long round) {
    for (size_t i = 0; i < kElems; ++i) shmem_long_p(&b.data[i], round, to);
    shmem_fence();
  });
  send_rounds(box, to, [to](Mailbox& b, long) {
    for (size_t i = 0; i < kElems; ++i) shmem_long_atomic_inc(&b.data[i], to);
    shmem_fence();
    for (size_t i = 0; i < kElems; ++i) shmem_long_p(&b.data[i], b.source[i], to);
    shmem_fence();
  });
}

TEST(Fence, S33_OrdersMemoryStores) {
  Mailbox box;
  const int to = n_pes() - 1;
  if (is_far_pe_there()) GTEST_SKIP() << "the last PE's memory is not mapped on all nodes";
  auto* mapped = static_cast<long*>(shmem_ptr(box.data, to));
  send_rounds(box, to, [mapped](Mailbox&, long round) {
    for (size_t i = 0; i < kElems; ++i) mapped[i] = round;
    shmem_fence();
  });
}

TEST(Fence, S33_IsOfItsContext) {
  Mailbox box;
  const int to = n_pes() - 1;
  shmem_ctx_t ctx = SHMEM_CTX_INVALID;
  EXPECT_EQ(shmem_ctx_create(0, &ctx), 0);
  for (long round = 1; round <= kRounds; ++round) {
    if (my_pe() == 0) {
      std::fill(box.source.begin(), box.source.end(), round);
      shmem_ctx_long_put_nbi(ctx, box.data, box.source.data(), kElems, to);
      shmem_ctx_fence(ctx);
      shmem_ctx_long_atomic_set(ctx, box.flag, round, to);
      shmem_ctx_quiet(ctx);
    }
    if (my_pe() == to) {
      shmem_long_wait_until(box.flag, SHMEM_CMP_EQ, round);
      expect_all("what was put before the flag", box.data.data(), kElems, round);
    }
    shmem_barrier_all();
  }
  shmem_ctx_destroy(ctx);
}

// PE 0 puts to a middle PE, then tells the last one, which reads from the middle.
void tell_a_third(Mailbox& box, const std::function<void(Mailbox&, int to)>& put_and_quiet) {
  const int to = n_pes() / 2, third = n_pes() - 1;
  for (long round = 1; round <= kRounds; ++round) {
    if (my_pe() == 0) {
      std::fill(box.source.begin(), box.source.end(), round);
      put_and_quiet(box, to);
      shmem_long_atomic_set(box.flag, round, third);
    }
    if (my_pe() == third) {
      shmem_long_wait_until(box.flag, SHMEM_CMP_EQ, round);
      std::vector<long> found(kElems);
      shmem_long_get(found.data(), box.data, kElems, to);
      expect_all("what a third PE reads", found.data(), kElems, round);
      shmem_long_atomic_set(box.answer, round, 0);
    }
    if (my_pe() == 0) shmem_long_wait_until(box.answer, SHMEM_CMP_EQ, round);
  }
  shmem_barrier_all();
}

TEST(Quiet, S34_MakesPutsVisibleToAllPes) {
  Mailbox box;
  tell_a_third(box, [](Mailbox& b, int to) {
    shmem_long_put(b.data, b.source.data(), kElems, to);
    shmem_quiet();
  });
  tell_a_third(box, [](Mailbox& b, int to) {
    shmem_long_put_nbi(b.data, b.source.data(), kElems, to);
    shmem_quiet();
  });
  tell_a_third(box, [](Mailbox& b, int to) {
    for (size_t i = 0; i < kElems; ++i) shmem_long_atomic_set(&b.data[i], b.source[i], to);
    shmem_quiet();
  });
}

TEST(Quiet, S34_CompletesGetsAndFetches) {
  SymmetricArray<long> data(kElems);
  for (size_t i = 0; i < kElems; ++i) data[i] = 1000 * my_pe() + static_cast<long>(i);
  shmem_barrier_all();
  std::vector<long> found(kElems, -1);
  long fetched = -1;
  shmem_long_get_nbi(found.data(), data, kElems, next_pe());
  shmem_long_atomic_fetch_nbi(&fetched, &data[7], next_pe());
  shmem_quiet();
  expect_each("get_nbi", found.data(), kElems,
              [](size_t i) { return 1000 * next_pe() + static_cast<long>(i); });
  EXPECT_EQ(fetched, 1000 * next_pe() + 7);
}

TEST(Quiet, S34_CompletesTheStoresOfItsThread) {
  SymmetricArray<long> data(1);
  SymmetricArray<long> flag(1);
  data[0] = flag[0] = 0;
  shmem_barrier_all();
  for (long round = 1; round <= kRounds; ++round) {
    __atomic_store_n(&data[0], round, __ATOMIC_RELAXED);  // relaxed: the quiet is what orders it
    shmem_quiet();
    shmem_long_p(flag, round, next_pe());
    shmem_long_wait_until(flag, SHMEM_CMP_GE, round);
    EXPECT_GE(shmem_long_g(data, previous_pe()), round);
  }
}

TEST(PeQuiet, S35_CompletesWhatWentToTheListedPes) {
  Mailbox box;
  tell_a_third(box, [](Mailbox& b, int to) {
    shmem_long_put_nbi(b.data, b.source.data(), kElems, to);
    const int list[] = {to, 0, to};
    shmem_pe_quiet(list, 3);
  });
}

TEST(PeQuiet, S35_AnEmptyListDoesNothing) {
  shmem_pe_quiet(nullptr, 0);
  shmem_ctx_pe_quiet(SHMEM_CTX_DEFAULT, nullptr, 0);
  const int nonsense = 12345;
  shmem_pe_quiet(&nonsense, 0);
}

TEST(PeQuiet, S35_CountsInTheTeamsNumbers) {
  shmem_team_t last = SHMEM_TEAM_INVALID;
  EXPECT_EQ(shmem_team_split_strided(SHMEM_TEAM_WORLD, n_pes() - 1, 0, 1, nullptr, 0, &last), 0);
  if (last != SHMEM_TEAM_INVALID) {
    static long word;
    shmem_ctx_t ctx = SHMEM_CTX_INVALID;
    EXPECT_EQ(shmem_team_create_ctx(last, 0, &ctx), 0);
    const long value = 5 + my_pe();
    const int zero = 0;  // the last PE of the world
    shmem_ctx_long_put_nbi(ctx, &word, &value, 1, 0);
    shmem_ctx_pe_quiet(ctx, &zero, 1);
    EXPECT_EQ(word, 5 + my_pe());
    shmem_ctx_destroy(ctx);
  }
  shmem_team_destroy(last);
}

TEST(Malloc, S17_ItsBarrierQuietsTheDefaultContext) {
  Mailbox box;
  for (long round = 1; round <= 50; ++round) {
    std::fill(box.source.begin(), box.source.end(), round);
    shmem_long_put_nbi(box.data, box.source.data(), kElems, next_pe());
    void* block = shmem_malloc(64);
    expect_all("put_nbi", box.data.data(), kElems, round);
    shmem_free(block);
  }
}

}  // namespace
}  // namespace meshmem
