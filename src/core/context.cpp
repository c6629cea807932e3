// SPDX-License-Identifier: Apache-2.0
//
// The table of contexts. Invariant: under its mutex, since threads create contexts at once.
#include "core/context.hpp"

namespace meshmem {

shmem_ctx_t ContextTable::add(Team& team, shmem_team_t team_handle, long options) {
  auto context = std::make_unique<Context>(Context{&team, team_handle, options});
  Context* key = context.get();
  const std::lock_guard lock(mutex_);
  contexts_.emplace(key, std::move(context));
  return reinterpret_cast<shmem_ctx_t>(key);
}

void ContextTable::remove(shmem_ctx_t handle) {
  const std::lock_guard lock(mutex_);
  contexts_.erase(context_of(handle));
}

void ContextTable::remove_all_of(const Team* team) {
  const std::lock_guard lock(mutex_);
  std::erase_if(contexts_,
                [team](const auto& entry) { return !team || entry.second->team == team; });
}

}  // namespace meshmem
