// SPDX-License-Identifier: Apache-2.0
//
// Opens this PE's ledger at the begin of a phase, and closes it at the end.
// Invariant: the ledger is open only while the ledger thread is outside of the checker. While it is
// open, the PE's clock and call number stay the same. It is closed while the PE has several
// strands. Called by program.
#ifndef MESHMEM_TOOLS_RACES_PHASES_HPP_
#define MESHMEM_TOOLS_RACES_PHASES_HPP_

#include "base/hooks/trace_job.hpp"
#include "tools/races/board.hpp"

namespace meshmem::races {

// Called for a new job, by the thread that initializes the library. The first thread of the process
// that does so becomes the ledger thread.
void prepare_ledger(const TraceRange& heap, const TraceRange& statics);
void leave_ledger();  // for good; takes no lock

// Notes a load or store of bytes in one cell of this PE, if the PE knows all accesses there that it
// could race with. The hooks have not noted this access. Called by the ledger thread.
bool try_add_to_ledger(const Shadow& own, const Range& piece, bool stores, const void* caller);

}  // namespace meshmem::races

#endif  // MESHMEM_TOOLS_RACES_PHASES_HPP_
