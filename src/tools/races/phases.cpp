// SPDX-License-Identifier: Apache-2.0
//
// Phases, and the accesses of others that have come in one. Invariant: as phases.hpp says.
#include "tools/races/phases.hpp"

#include <algorithm>
#include <vector>

#include "tools/races/accesses.hpp"
#include "tools/races/ledger.hpp"
#include "tools/races/shadow.hpp"
#include "tools/races/state.hpp"

namespace meshmem::races {

namespace {

constexpr std::size_t kEntry = LedgerColumn::kBytes;
constinit std::atomic<bool> has_thread{false};
constinit std::atomic<std::uint32_t> open_phase{0};  // 0: closed

Shadow own_shadow() { return checker.boards.of_node().shadow(checker.job.pe); }

void prepare(LedgerArea& area, const TraceRange& own) {
  area.bytes.store(0, std::memory_order_relaxed);
  if (own.bytes == 0) return;
  const Shadow shadow = own_shadow();
  const std::size_t offset = symmetric(own.base, 1)->offset;
  const auto from = [offset](const LedgerColumn& column) {
    return LedgerColumn{column.numbers + offset / kEntry, column.sites + offset / kEntry};
  };
  // Nobody uses the bytes before in the first cell.
  const std::size_t before = offset % Cell::kBytes;
  area.loads = from(shadow.loads);
  area.stores = from(shadow.stores);
  area.unsettled = shadow.unsettled + offset / Cell::kBytes;
  area.begin.store(own.base - before, std::memory_order_relaxed);
  area.bytes.store(own.bytes + before, std::memory_order_relaxed);
}

// The access of the phase in this entry of the ledger. None is not there.
Access find_noted_in(const Shadow& shadow, std::size_t i, std::uint32_t phase, bool of_stores) {
  const LedgerColumn& column = of_stores ? shadow.stores : shadow.loads;
  return column.number(i) == phase ? access_of(shadow, column, i, of_stores) : Access{};
}

template <typename Use>
void each_noted(const Shadow& shadow, const Range& range, std::uint32_t phase, Use use) {
  for (std::size_t i = range.offset / kEntry; i * kEntry < range.offset + range.bytes; ++i)
    for (const bool of_stores : {true, false})
      if (const Access noted = find_noted_in(shadow, i, phase, of_stores); noted.is_there)
        if (use(noted, Range{i * kEntry, kEntry})) return;
}

void look_at(const Shadow& shadow, const Newcomer& newcomer, std::uint32_t phase,
             const Clock& known) {
  if (known.knows({shadow.pe, 0}, newcomer.access)) return;
  each_noted(shadow, newcomer.range, phase, [&](const Access& noted, const Range&) {
    const bool races = noted.writes || newcomer.access.writes;
    if (races) tell_race(newcomer.range, shadow.pe, noted, newcomer.access);
    return races;
  });
}

// Of accesses that nobody has written down, in their cells.
void look_at_cells(const Shadow& shadow, const Range& range, std::uint32_t phase,
                   const Clock& known) {
  each_noted(shadow, range, phase, [&](const Access& noted, const Range& here) {
    const auto race = find_race(shadow.cells[here.offset / Cell::kBytes], noted, known);
    if (race) tell_race(here, shadow.pe, noted, *race);
    return false;
  });
}

void look_at_newcomers(PeBoard& mine, std::uint32_t phase) {
  std::vector<Newcomer> newcomers;
  Range rest{};
  {
    const Held held(mine.mutex);
    const std::size_t n = mine.n_newcomers.exchange(0, std::memory_order_relaxed);
    newcomers.assign(mine.newcomers, mine.newcomers + std::min(n, PeBoard::kNewcomers));
    if (n > PeBoard::kNewcomers) rest = {mine.begin_of_rest, mine.end_of_rest - mine.begin_of_rest};
  }
  const Shadow shadow = own_shadow();
  const Clock known = checker.clock_of(checker.strands[0]);
  for (const Newcomer& newcomer : newcomers) look_at(shadow, newcomer, phase, known);
  look_at_cells(shadow, rest, phase, known);
}

// The caller is in the checker. Opens it where the next access needs no other number than the last.
void open_ledger() {
  const std::uint32_t phase = self().call_number;
  const bool may_note = self().next_access.load(std::memory_order_relaxed) != 0;
  if (!may_note || current_strand != 0 || is_parallel() || has_watches || phase == UINT32_MAX)
    return;
  PeBoard& mine = checker.boards.mine();
  mine.phase.store(phase, std::memory_order_relaxed);
  open_phase.store(phase, std::memory_order_relaxed);
  mine.ledger.store(LedgerState::open, std::memory_order_relaxed);
  // The looks at cells come behind this: see meet_ledger().
  std::atomic_thread_fence(std::memory_order_seq_cst);
  ledger.numbers.store(Ledger::numbers_of(phase), std::memory_order_relaxed);
}

// Tells of races of the phase that ends with accesses that have come meanwhile.
void close_ledger() {
  const std::uint32_t phase = open_phase.exchange(0, std::memory_order_relaxed);
  if (phase == 0) return;
  end_phase();
  // The notes of the phase come before this: see meet_ledger().
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
  if (!settle(own, piece.offset / Cell::kBytes, touched, stores, my_clock())) return false;
  if (bytes == 8)
    return stores ? ledger.add<8, true>(own.stores, i, caller)
                  : ledger.add<8, false>(own.loads, i, caller);
  return stores ? ledger.add<4, true>(own.stores, i, caller)
                : ledger.add<4, false>(own.loads, i, caller);
}

}  // namespace meshmem::races
