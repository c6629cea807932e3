// SPDX-License-Identifier: Apache-2.0
//
// Opens and closes this PE's ledger with the phases of its thread.
// Invariant: it is open only while the thread that writes it is outside of the checker, and for one
// clock and one number. While the PE has several strands it is closed. Called by program.
#ifndef MESHMEM_TOOLS_RACES_PHASES_HPP_
#define MESHMEM_TOOLS_RACES_PHASES_HPP_

#include "base/hooks/trace_job.hpp"
#include "tools/races/board.hpp"

namespace meshmem::races {

// For a new job, by the thread that initializes. The first of all that do so writes the ledger.
void prepare_ledger(const TraceRange& heap, const TraceRange& statics);
void leave_ledger();  // for good; takes no lock

// Notes a load or store of bytes in one cell of this PE that the hooks have not let pass, if the PE
// knows all accesses there that it could race with. Called by the thread that writes.
bool try_add_to_ledger(const Shadow& own, const Range& piece, bool stores, const void* caller);

}  // namespace meshmem::races

#endif  // MESHMEM_TOOLS_RACES_PHASES_HPP_
