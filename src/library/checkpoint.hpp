// SPDX-License-Identifier: Apache-2.0
//
// Saves the symmetric memory of a team's PEs to files, and brings it back (shmemx_heap_save,
// shmemx_heap_restore).
// Invariant: all PEs come to the same answer. Until all have checked their files, no PE changes its
// memory; until all have written theirs, the save before is the one that counts. Called by
// api/memory.cpp.
#ifndef MESHMEM_LIBRARY_CHECKPOINT_HPP_
#define MESHMEM_LIBRARY_CHECKPOINT_HPP_

#include <string>

#include "core/team.hpp"

namespace meshmem {

// Collectives of the team. Both return 0, or 1 after one line of one PE that says why.
int save_memory(Team& team, const std::string& folder);
int restore_memory(Team& team, const std::string& folder);

}  // namespace meshmem

#endif  // MESHMEM_LIBRARY_CHECKPOINT_HPP_
