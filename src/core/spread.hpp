// SPDX-License-Identifier: Apache-2.0
//
// Where the PEs of a machine run: how many cores they have, and their even spread at the end of
// start-up. Invariant: no PE is bound; the scheduler may move each on. Called by Runtime.
#ifndef MESHMEM_CORE_SPREAD_HPP_
#define MESHMEM_CORE_SPREAD_HPP_

#include "memory/arena.hpp"

namespace meshmem {

// In the union of what the PEs may use; 0 where there are more than are told apart.
int count_cores(const DirectoryEntry* directory, int n_pes);
// The PEs outnumber the cores, or what a container grants of them.
bool share_cores(const DirectoryEntry* directory, int n_pes);

// Where PEs outnumber the cores: to the core that is dealt to this PE.
void deal_out(const DirectoryEntry* directory, int n_pes, int me);

// With a core for each: to a core where no PE is, unless this PE may stay. Every PE has told its own.
void leave_shared_core(const DirectoryEntry* directory, int n_pes, int me);
int core_of_this_thread();  // -1: not told apart

}  // namespace meshmem

#endif  // MESHMEM_CORE_SPREAD_HPP_
