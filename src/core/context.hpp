// SPDX-License-Identifier: Apache-2.0
//
// Communication contexts. Within a node every put is a store of the calling thread, so a context
// holds no queue: it is a team, whose PE numbers its calls use, and the options it was made with.
// Invariant: a handle is a Context of this process's table, or one of the constants of shmem.h.
// Called by api/.
#ifndef MESHMEM_CORE_CONTEXT_HPP_
#define MESHMEM_CORE_CONTEXT_HPP_

#include <memory>
#include <mutex>
#include <unordered_map>

#include "core/team.hpp"

namespace meshmem {

struct Context {
  Team* team;
  shmem_team_t team_handle;
  long options;
};

inline Context* context_of(shmem_ctx_t handle) { return reinterpret_cast<Context*>(handle); }

class ContextTable {
 public:
  shmem_ctx_t add(Team& team, shmem_team_t team_handle, long options);
  void remove(shmem_ctx_t handle);       // unknown handles are left alone
  void remove_all_of(const Team* team);  // nullptr: of every team

 private:
  std::mutex mutex_;
  std::unordered_map<Context*, std::unique_ptr<Context>> contexts_;
};

}  // namespace meshmem

#endif  // MESHMEM_CORE_CONTEXT_HPP_
