// SPDX-License-Identifier: Apache-2.0
//
// Sessions of contexts, which are hints, and shmem_pcontrol, which is for tools.
// Invariant: whatever the options of a session, puts in it arrive as they would without it.
#include <pshmem.h>

#include <cstdint>
#include <vector>

#include "symmetric_array.hpp"

namespace meshmem {
namespace {

constexpr size_t kElems = 50;

// Small puts, atomics and a signal through `ctx`, in the middle of a session.
void expect_the_same_results(shmem_ctx_t ctx) {
  SymmetricArray<uint64_t> dest(kElems), sums(1), signal(1);
  static int round = 0;
  ++round;
  sums[0] = signal[0] = 0;
  shmem_barrier_all();
  std::vector<uint64_t> source(kElems);
  fill(source.data(), kElems, my_pe(), round);
  for (size_t i = 0; i + 1 < kElems; ++i) {
    shmem_ctx_uint64_put_nbi(ctx, &dest[i], &source[i], 1, next_pe());
    shmem_ctx_uint64_atomic_add(ctx, sums, i, next_pe());
  }
  shmem_ctx_fence(ctx);
  shmem_ctx_uint64_put_signal_nbi(ctx, &dest[kElems - 1], &source[kElems - 1], 1, signal, 1,
                                  SHMEM_SIGNAL_SET, next_pe());
  shmem_ctx_quiet(ctx);
  shmem_signal_wait_until(signal, SHMEM_CMP_EQ, 1);
  expect_filled("put", dest.data(), kElems, previous_pe(), round);
  EXPECT_EQ(sums[0], (kElems - 1) * (kElems - 2) / 2);
}

void check_sessions_of(shmem_ctx_t ctx) {
  const shmem_ctx_session_config_t few = {3}, most = {SIZE_MAX};
  shmem_ctx_session_start(ctx, 0, nullptr, 0);
  expect_the_same_results(ctx);
  shmem_ctx_session_start(ctx, SHMEM_CTX_SESSION_BATCH, &few, SHMEM_CTX_SESSION_TOTAL_OPS);
  expect_the_same_results(ctx);
  shmem_ctx_session_start(ctx, SHMEM_CTX_SESSION_BATCH, &most, 0);
  shmem_ctx_session_start(ctx, -1L, &most, SHMEM_CTX_SESSION_TOTAL_OPS);
  expect_the_same_results(ctx);
  shmem_ctx_session_stop(ctx);
  shmem_ctx_session_stop(ctx);
  expect_the_same_results(ctx);
}

TEST(Session, S40_ChangesNoResult) {
  check_sessions_of(SHMEM_CTX_DEFAULT);
  for (const long options : {0L, SHMEM_CTX_PRIVATE, SHMEM_CTX_SERIALIZED}) {
    shmem_ctx_t ctx = SHMEM_CTX_INVALID;
    ASSERT_EQ(shmem_ctx_create(options, &ctx), 0);
    check_sessions_of(ctx);
    shmem_ctx_destroy(ctx);
  }
}

TEST(Session, S40_IsNothingOnTheInvalidContext) {
  shmem_ctx_session_start(SHMEM_CTX_INVALID, SHMEM_CTX_SESSION_BATCH, nullptr, 0);
  shmem_ctx_session_stop(SHMEM_CTX_INVALID);
}

TEST(Session, S40_IsOfOnePeAlone) {
  if (my_pe() == 0) shmem_ctx_session_start(SHMEM_CTX_DEFAULT, SHMEM_CTX_SESSION_BATCH, nullptr, 0);
  expect_the_same_results(SHMEM_CTX_DEFAULT);
  if (my_pe() == 0) shmem_ctx_session_stop(SHMEM_CTX_DEFAULT);
}

TEST(Pcontrol, TakesAnyArguments) {
  shmem_pcontrol(0);
  shmem_pcontrol(-7);
  shmem_pcontrol(3, "a region", 2.5, my_pe());
  pshmem_pcontrol(1);
}

}  // namespace
}  // namespace meshmem
