// SPDX-License-Identifier: Apache-2.0
//
// Contexts, which order and complete puts, gets and atomics.
// Invariant: what a nonblocking call uses is held by its context until quiet.
// Used by the bindings of one-sided operations and of teams.
#pragma once
#include <memory>
#include <vector>

#include "buffer.hpp"

namespace meshmem::python {

struct Context {
  Context() = default;
  Context(Context&&) = default;  // only: nanobind asks whether it can copy one
  ~Context();

  bool is_there() const;
  // Raises an exception if it was destroyed.
  void require_usable() const;

  shmem_ctx_t handle = SHMEM_CTX_DEFAULT;
  std::shared_ptr<shmem_team_t> team;  // as in Team; none for the default context
  int n_pes = 0;
  int made_in_init = job.n_inits;
  std::vector<Buffer> pending;  // what nonblocking calls use until quiet
};
inline Context& default_context = *new Context;  // without a destructor at the end of the process
void quiet(Context& context);

// The context to use, after checks of it and of pe.
Context& checked_context(Context* context, int pe);
// Whether an operation of this size on PE `pe` may wait, so that other threads should run.
inline bool may_wait(const Context& context, int pe, std::size_t bytes) {
  constexpr std::size_t kAtOnce = 4096;
  return context.handle != SHMEM_CTX_DEFAULT || bytes > kAtOnce || !job.is_near[pe];
}

}  // namespace meshmem::python
