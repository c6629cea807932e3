// SPDX-License-Identifier: Apache-2.0
//
// This PE's ledger: where the PE notes its own loads and stores of symmetric memory. Also says
// which thread writes it, and has the functions that open and close it.
// Invariant: as base/hooks/ledger.hpp says. Used by the checker.
#ifndef MESHMEM_TOOLS_RACES_LEDGER_HPP_
#define MESHMEM_TOOLS_RACES_LEDGER_HPP_

#include <atomic>

#include "base/hooks/ledger.hpp"

namespace meshmem::races {

// Lives for ever: a thread may still read it while the process ends.
inline constinit Ledger ledger;
inline constinit thread_local bool writes_ledger = false;  // this is the ledger thread

// Ends the phase; any thread may call this. Until the ledger thread has next been in the checker,
// its accesses go to the shadow and not to the ledger.
inline void end_phase() { ledger.numbers.store(Ledger::kClosed, std::memory_order_relaxed); }

// Called by the ledger thread: close() when it has entered the checker, open() before it leaves.
struct LedgerDoors {
  void (*close)() = nullptr;
  void (*open)() = nullptr;
};
inline constinit LedgerDoors doors;

}  // namespace meshmem::races

#endif  // MESHMEM_TOOLS_RACES_LEDGER_HPP_
