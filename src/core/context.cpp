// SPDX-License-Identifier: Apache-2.0
//
// The table of contexts. Invariant: under its mutex, since threads create contexts at once; a
// number is never given twice.
#include "core/context.hpp"

namespace meshmem {

shmem_ctx_t ContextTable::add(shmem_team_t team, long options) {
  const std::lock_guard lock(mutex_);
  const std::uintptr_t value = (++last_number_ << kContextTeamBits) + number_of(team);
  const auto handle = reinterpret_cast<shmem_ctx_t>(value);
  options_.emplace(handle, options);
  return handle;
}

void ContextTable::remove(shmem_ctx_t handle) {
  const std::lock_guard lock(mutex_);
  options_.erase(handle);
}

void ContextTable::remove_all_of(shmem_team_t team) {
  const std::lock_guard lock(mutex_);
  std::erase_if(options_,
                [team](const auto& entry) { return team_handle_of(entry.first) == team; });
}

void ContextTable::remove_all() {
  const std::lock_guard lock(mutex_);
  options_.clear();
}

}  // namespace meshmem
