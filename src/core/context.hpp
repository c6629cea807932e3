// SPDX-License-Identifier: Apache-2.0
//
// Communication contexts. Within a node every put is a store of the calling thread, so a context
// holds no queue. It is a team, whose PE numbers its calls use, and the options it was made with.
// Invariant: a handle is (unique number << 16) + the team's handle, so that a kernel too finds the
// team without asking; SHMEM_CTX_DEFAULT is number 0 of SHMEM_TEAM_WORLD. Called by api/.
#ifndef MESHMEM_CORE_CONTEXT_HPP_
#define MESHMEM_CORE_CONTEXT_HPP_

#include <cstdint>
#include <mutex>
#include <unordered_map>

#include "core/team.hpp"

namespace meshmem {

inline constexpr int kContextTeamBits = 16;
static_assert(kMaxTeams < 1 << kContextTeamBits);

inline shmem_team_t team_handle_of(shmem_ctx_t handle) {
  constexpr std::uintptr_t kMask = (std::uintptr_t{1} << kContextTeamBits) - 1;
  return reinterpret_cast<shmem_team_t>(reinterpret_cast<std::uintptr_t>(handle) & kMask);
}

class ContextTable {
 public:
  shmem_ctx_t add(shmem_team_t team, long options);
  void remove(shmem_ctx_t handle);  // unknown handles are left alone
  void remove_all_of(shmem_team_t team);
  void remove_all();

 private:
  std::mutex mutex_;
  std::uintptr_t last_number_ = 0;
  std::unordered_map<shmem_ctx_t, long> options_;
};

}  // namespace meshmem

#endif  // MESHMEM_CORE_CONTEXT_HPP_
