// SPDX-License-Identifier: Apache-2.0
//
// A collective of the API on a team's handle, with its types dropped: one instance for each kind.
// Invariant: returns 0, as the standard's collectives do. Used by the files of api/.
#ifndef MESHMEM_API_TEAM_COLLECTIVE_HPP_
#define MESHMEM_API_TEAM_COLLECTIVE_HPP_

#include "api/entry.hpp"
#include "collectives/dispatch.hpp"

namespace meshmem {

template <CollectiveKind kind>
[[gnu::noinline]] int move(const char* routine, shmem_team_t handle, void* dest, const void* source,
                           std::size_t bytes, int root = 0) {
  Team& team = collective_team(handle, routine);
  if constexpr (kind == CollectiveKind::broadcast) check_root(team, root);
  run(team, [&] { return moving(kind, dest, source, bytes, root); });
  return 0;
}

template <CollectiveKind kind>
[[gnu::noinline]] int combine(const char* routine, shmem_team_t handle, const Reduction& op,
                              void* dest, const void* source, std::size_t count) {
  run(collective_team(handle, routine), [&] { return combining(kind, op, dest, source, count); });
  return 0;
}

}  // namespace meshmem

#endif  // MESHMEM_API_TEAM_COLLECTIVE_HPP_
