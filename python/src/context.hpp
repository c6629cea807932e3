// SPDX-License-Identifier: Apache-2.0
//
// Contexts, which order and complete puts, gets and atomics.
// Invariant: a context keeps the buffers of its nonblocking calls alive until quiet. Used by the
// bindings of one-sided operations and of teams.
#pragma once
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "buffer.hpp"

namespace meshmem::python {

// The buffers that nonblocking calls use until quiet. All threads may add to them.
class Pending {
 public:
  void add(Buffer buffer) {
    const std::lock_guard lock(mutex_);
    buffers_.push_back(std::move(buffer));
  }
  std::vector<Buffer> take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(buffers_, {});
  }

 private:
  std::mutex mutex_;
  std::vector<Buffer> buffers_;
};

struct Context {
  Context() = default;
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;
  ~Context();

  bool is_there() const;
  // Raises an exception if it was destroyed.
  void require_usable() const;

  shmem_ctx_t handle = SHMEM_CTX_DEFAULT;
  std::shared_ptr<shmem_team_t> team;  // as in Team; none for the default context
  int n_pes = 0;
  int made_in_init = job.n_inits;
  Pending pending;
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
