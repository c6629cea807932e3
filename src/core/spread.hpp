// SPDX-License-Identifier: Apache-2.0
//
// Where the PEs of a machine run: how many cores they have, and their even spread at the end of
// start-up. Invariant: no PE is bound; the scheduler may move each on. Called by Runtime.
#ifndef MESHMEM_CORE_SPREAD_HPP_
#define MESHMEM_CORE_SPREAD_HPP_

#include <functional>

#include "memory/arena.hpp"

namespace meshmem {

// The PEs of this machine outnumber the cores of those in the directory, or what a container grants
// of them.
bool share_cores(const DirectoryEntry* directory, int n_pes, int pes_of_machine);

// Collective, and the last thing that start-up does: who naps later may wake up elsewhere. Where
// PEs outnumber the cores, to the core that is dealt to this PE; with a core for each, away from
// one where another PE is, unless this PE may stay. `is_wanted`: by this PE; the others may differ.
void spread_over_cores(DirectoryEntry* directory, int n_pes, int me, bool is_wanted,
                       const std::function<void()>& meet);

}  // namespace meshmem

#endif  // MESHMEM_CORE_SPREAD_HPP_
