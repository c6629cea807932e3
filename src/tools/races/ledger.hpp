// SPDX-License-Identifier: Apache-2.0
//
// This PE's ledger, and the thread that writes it.
// Invariant: as base/hooks/ledger.hpp says. Called by the checker.
#ifndef MESHMEM_TOOLS_RACES_LEDGER_HPP_
#define MESHMEM_TOOLS_RACES_LEDGER_HPP_

#include <atomic>

#include "base/hooks/ledger.hpp"

namespace meshmem::races {

// Lives for ever: a thread may still read it while the process ends.
inline constinit Ledger ledger;
inline constinit thread_local bool writes_ledger = false;  // this thread

// The phase ends, by any thread. The accesses of the thread that writes go another way until it has
// been in the checker.
inline void end_phase() { ledger.numbers.store(Ledger::kClosed, std::memory_order_relaxed); }

// Called by the thread that writes when it has come into the checker, and before it leaves.
struct LedgerDoors {
  void (*close)() = nullptr;
  void (*open)() = nullptr;
};
inline constinit LedgerDoors doors;

}  // namespace meshmem::races

#endif  // MESHMEM_TOOLS_RACES_LEDGER_HPP_
