// SPDX-License-Identifier: Apache-2.0
//
// A context whose PE numbers are not those of the world: of the team of all PEs in reversed order.
// Invariant: made and dropped by all PEs. Used by the tests of routines that take a context.
#ifndef MESHMEM_TESTS_DEVICE_REVERSED_CONTEXT_HPP
#define MESHMEM_TESTS_DEVICE_REVERSED_CONTEXT_HPP

#include "forms.hpp"

namespace meshmem {

class ReversedContext {
 public:
  ReversedContext() {
    EXPECT_EQ(
        shmem_team_split_strided(SHMEM_TEAM_WORLD, n_pes() - 1, -1, n_pes(), nullptr, 0, &team_),
        0);
    EXPECT_EQ(shmem_team_create_ctx(team_, 0, &ctx_), 0);
  }
  ~ReversedContext() {
    shmem_ctx_destroy(ctx_);
    shmem_team_destroy(team_);
  }
  ReversedContext(const ReversedContext&) = delete;
  ReversedContext& operator=(const ReversedContext&) = delete;

  Call call(Form form) const { return {form, ctx_}; }
  // The number of a PE of the world in a call of that form.
  int pe(Form form, int world_pe) const {
    return has_context(form) ? n_pes() - 1 - world_pe : world_pe;
  }

 private:
  shmem_team_t team_ = SHMEM_TEAM_INVALID;
  shmem_ctx_t ctx_ = SHMEM_CTX_INVALID;
};

}  // namespace meshmem

#endif
