// SPDX-License-Identifier: Apache-2.0
//
// Opens and closes the ledger, and compares a phase's accesses with its newcomers.
// Invariant: as phases.hpp says.
#include "tools/races/phases.hpp"

#include <algorithm>
#include <vector>

#include "tools/races/accesses.hpp"
#include "tools/races/ledger.hpp"
#include "tools/races/shadow.hpp"
#include "tools/races/state.hpp"

namespace meshmem::races {

namespace {

constinit std::atomic<bool> has_thread{false};
constinit std::atomic<std::uint32_t> open_phase{0};  // 0: closed

Shadow own_shadow() { return checker.boards.of_node().shadow(checker.job.pe); }

void prepare(LedgerArea& area, const TraceRange& own) {
  area.bytes.store(0, std::memory_order_relaxed);
  if (own.bytes == 0) return;
  const Shadow shadow = own_shadow();
  const std::size_t offset = symmetric(own.base, 1)->offset;
  const std::size_t before = offset % Cell::kBytes;
  const auto from = [first = (offset - before) / kEntry](const LedgerColumn& column) {
    return LedgerColumn{column.numbers + first, column.sites + first};
  };
  area.loads = from(shadow.loads);
  area.stores = from(shadow.stores);
  area.unsettled = shadow.unsettled + offset / Cell::kBytes;
  area.begin.store(own.base - before, std::memory_order_relaxed);
  area.bytes.store(own.bytes + before, std::memory_order_relaxed);
}

// See meet_ledger().
void look_at(const Shadow& shadow, const Newcomer& newcomer, std::uint32_t phase,
             const Clock& known) {
  if (newcomer.phase != phase || known.knows({shadow.pe, 0}, newcomer.access)) return;
  const std::size_t begin = newcomer.range.offset, end = begin + newcomer.range.bytes;
  // A newcomer that knew this phase has taken out the entries that it covers wholly.
  const std::size_t more = newcomer.known < phase ? 0 : kEntry - 1;
  for (std::size_t i = (begin + more) / kEntry; i * kEntry + more < end; ++i)
    for (const bool of_stores : {true, false}) {
      const LedgerColumn& column = of_stores ? shadow.stores : shadow.loads;
      if (column.number(i) != phase || !(of_stores || newcomer.access.writes)) continue;
      return tell_race(newcomer.range, shadow.pe, access_of(shadow, column, i, of_stores),
                       newcomer.access);
    }
}

void look_at_newcomers(PeBoard& mine, std::uint32_t phase) {
  std::vector<Newcomer> newcomers;
  {
    const Held held(mine.mutex);
    const std::size_t n = mine.n_newcomers.exchange(0, std::memory_order_relaxed);
    newcomers.assign(mine.newcomers, mine.newcomers + std::min(n, PeBoard::kNewcomers));
  }
  if (checker.boards.head().orders_unseen) return;
  const Shadow shadow = own_shadow();
  const Clock known = checker.clock_of(checker.strands[0]);
  for (const Newcomer& newcomer : newcomers) look_at(shadow, newcomer, phase, known);
}

// The caller is in the checker. Opens the ledger if the PE's next access will have the number and
// the clock of its last one.
void open_ledger() {
  const std::uint32_t phase = self().call_number;
  const bool may_note = self().next_access.load(std::memory_order_relaxed) != 0;
  if (!may_note || current_strand != 0 || is_parallel() || has_watches || phase == UINT32_MAX)
    return;
  PeBoard& mine = checker.boards.mine();
  mine.phase.store(phase, std::memory_order_relaxed);
  open_phase.store(phase, std::memory_order_relaxed);
  mine.ledger.store(LedgerState::open, std::memory_order_relaxed);
  // Puts the ledger thread's looks at cells after the store of the state: see meet_ledger().
  std::atomic_thread_fence(std::memory_order_seq_cst);
  ledger.numbers.store(Ledger::numbers_of(phase), std::memory_order_relaxed);
}

// Ends the phase, and reports races of its accesses with its newcomers.
void close_ledger() {
  const std::uint32_t phase = open_phase.exchange(0, std::memory_order_relaxed);
  if (phase == 0) return;
  end_phase();
  // Puts the notes of the phase before the look for newcomers: see meet_ledger().
  std::atomic_thread_fence(std::memory_order_seq_cst);
  PeBoard& mine = checker.boards.mine();
  if (mine.n_newcomers.load(std::memory_order_relaxed) != 0) look_at_newcomers(mine, phase);
  mine.ledger.store(LedgerState::closed, std::memory_order_relaxed);
}

}  // namespace

void prepare_ledger(const TraceRange& heap, const TraceRange& statics) {
  doors = {.close = close_ledger, .open = open_ledger};
  if (!has_thread.exchange(true)) writes_ledger = true;
  end_phase();
  open_phase = 0;
  prepare(ledger.areas[0], heap);
  prepare(ledger.areas[1], statics);
  checker.boards.mine().ledger.store(LedgerState::closed, std::memory_order_relaxed);
}

void leave_ledger() {
  end_phase();
  open_phase = 0;
  for (LedgerArea& area : ledger.areas) area.bytes.store(0, std::memory_order_relaxed);
}

bool try_add_to_ledger(const Shadow& own, const Range& piece, bool stores, const void* caller) {
  const std::size_t bytes = piece.bytes;
  if ((bytes != 4 && bytes != 8) || piece.offset % bytes != 0 || must_stay_out() ||
      ledger.numbers.load(std::memory_order_relaxed) == Ledger::kClosed)
    return false;
  const std::size_t first = piece.offset % Cell::kBytes, i = piece.offset / kEntry;
  const std::uint8_t touched = bits_of_bytes(first, first + bytes);
  const auto phase = static_cast<std::uint32_t>(ledger.numbers.load(std::memory_order_relaxed));
  if (!settle(own, piece.offset / Cell::kBytes, touched, stores, my_clock(), phase)) return false;
  if (bytes == 8)
    return stores ? ledger.add<8, true>(own.stores, i, caller)
                  : ledger.add<8, false>(own.loads, i, caller);
  return stores ? ledger.add<4, true>(own.stores, i, caller)
                : ledger.add<4, false>(own.loads, i, caller);
}

}  // namespace meshmem::races
