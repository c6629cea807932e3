// SPDX-License-Identifier: Apache-2.0
//
// Cells of 8 bytes, each with a few accesses. Invariant: as shadow.hpp says.
#include "tools/races/shadow.hpp"

#include <algorithm>
#include <array>

namespace meshmem::races {
namespace {

bool can_race(const Access& one, const Access& other) {
  const auto of = [](const Access& access) { return static_cast<Manner>(access.manner); };
  if (!one.writes && !other.writes) return false;
  if (of(one) == Manner::sync || of(other) == Manner::sync) return false;
  // ThreadSanitizer finds races between loads and stores of a PE's own threads.
  if (one.is_program && other.is_program && one.pe == other.pe) return false;
  if (of(one) == Manner::plain || of(other) == Manner::plain) return true;
  const auto differ = [](unsigned left, unsigned right) {
    return left != right && left != 0 && right != 0;
  };
  return differ(one.type, other.type) || differ(one.domain, other.domain);
}

// ---- Signals whose values are used again
//
// A PE that waits for a value may see the oldest write of it, whatever else has arrived. So the
// cell keeps the oldest unseen write of a strand beside the newest, if both set the same value.

bool is_manner(const Access& access, Manner manner) {
  return access.is_there && access.writes && static_cast<Manner>(access.manner) == manner;
}

bool are_alike(const Access& now, const Access& old) {
  return old.who() == now.who() && old.bytes == now.bytes && old.type == now.type &&
         old.domain == now.domain;
}

// True if this write repeats the value of the old one, which nobody has seen.
bool repeats(const Access& now, const Access& old) {
  return is_manner(now, Manner::repeat) && is_manner(old, Manner::atomic) && are_alike(now, old) &&
         old.call_number < now.call_number;
}

// True if the cell has such an old write, and no other write that may have changed the value.
bool repeats_unseen(const Access& now, const Cell& cell) {
  bool is_unseen = false;
  for (const Slot& slot : cell.slots) {
    const Access old = slot.load();
    if (old.is_crowded || (old.is_there && old.writes && !(is_atomic(old) && are_alike(now, old))))
      return false;
    is_unseen |= repeats(now, old);
  }
  return is_unseen;
}

// True if each later access that would race with the old access also races with the new one, or if
// the old one is known to be done.
bool replaces(const Access& now, const Access& old, const Clock& known) {
  if (old.bytes & ~now.bytes) return false;
  if (old.writes && !now.writes) return false;
  if (repeats(now, old)) return false;
  const bool has_manner_of_old = old.manner == now.manner || (is_atomic(old) && is_atomic(now));
  if (old.pe == now.pe && old.row == now.row && old.how() == now.how() && has_manner_of_old &&
      old.type == now.type && old.domain == now.domain && old.is_program >= now.is_program)
    return true;
  // A PE that sees the new one then knows of the old one what a fence of its context has ordered.
  if (old.who() == now.who() && old.row != now.row && old.how() == Order::signaled)
    return old.call_number <= known.beside(old, Order::signaled);
  return known.orders(old, now);
}

// True if the two differ in their bytes alone.
bool is_more_of(const Words& now, const Words& old) {
  return now.numbers == old.numbers &&
         !((now.rest ^ old.rest) & ~(Rest::kBytes | Rest::kIsCrowded));
}

// Stores the access in place of those that it replaces, or else in a free slot, or in place of a
// read. False: there is no such slot.
template <typename Replaces>
[[gnu::always_inline]] inline bool try_keep(Cell& cell, Words access, Replaces replaces) {
  for (const Slot& slot : cell.slots)
    if (const Words old = slot.words(); is_more_of(access, old))
      access.rest |= old.rest & Rest::kBytes;
  Slot* place = nullptr;
  Slot* free = nullptr;
  Slot* read = nullptr;
  for (Slot& slot : cell.slots) {
    const Words old = slot.words();
    if (old.numbers == 0) {
      if (!free) free = &slot;
    } else if (replaces(access, old)) {
      if (place) place->clear();
      place = &slot;
    } else if (!(old.rest & Rest::kWrites)) {
      read = &slot;
    }
  }
  if (!place) place = free ? free : read;
  if (place) place->store(access);
  return place != nullptr;
}

void keep(Cell& cell, Access access, const Clock& known) {
  access.is_there = 1;
  const auto replaces_known = [&](const Words& now, const Words& old) {
    return replaces(std::bit_cast<Access>(now), std::bit_cast<Access>(old), known);
  };
  if (is_manner(access, Manner::repeat)) {
    if (repeats_unseen(access, cell) && try_keep(cell, words_of(access), replaces_known)) return;
    access.manner = static_cast<std::uint8_t>(Manner::atomic);
  }
  if (try_keep(cell, words_of(access), replaces_known) || !access.writes) return;
  const auto number = [](const Slot& slot) { return slot.load().call_number; };
  std::ranges::min_element(cell.slots, {}, number)->store(words_of(access));
  cell.slots[0].crowd();
}

// Marks the cell: the ledger thread has to look at this access first. It need not look at accesses
// of its own, except those of calls under way.
void mark(const Shadow& shadow, std::size_t cell, const Access& access) {
  const bool is_of_thread = access.who() == Worker{shadow.pe, 0};
  if (!may_meet_ledger(shadow, access) && !(is_of_thread && access.how() == Order::pending)) return;
  const int bits = access.writes ? kStoresMustLook | kLoadsMustLook : kStoresMustLook;
  std::uint8_t& unsettled = shadow.unsettled[cell];
  const int old = __atomic_load_n(&unsettled, __ATOMIC_RELAXED);
  __atomic_store_n(&unsettled, static_cast<std::uint8_t>(old | bits), __ATOMIC_RELAXED);
}

// Calls use(cell, the bytes of it) for all that the range touches.
template <typename Use>
void each_cell(const Shadow& shadow, std::size_t offset, std::size_t bytes, Use use) {
  constexpr std::size_t kOfLock = Shadow::kCellsOfLock * Cell::kBytes;
  const std::size_t end = std::min(offset + bytes, shadow.cells.size() * Cell::kBytes);
  while (offset < end) {
    const HeldCells held(shadow.lock_of(offset / Cell::kBytes));
    const std::size_t end_of_lock = std::min(end, (offset / kOfLock + 1) * kOfLock);
    while (offset < end_of_lock) {
      const std::size_t first = offset % Cell::kBytes;
      const std::size_t last = std::min(Cell::kBytes, first + end_of_lock - offset);
      use(offset / Cell::kBytes, bits_of_bytes(first, last));
      offset += last - first;
    }
  }
}

// One of the accesses in the cell that race with this one.
std::optional<Access> find_race(const Cell& cell, const Access& access, const Clock& known) {
  for (const Slot& slot : cell.slots)
    if (const Access old = slot.load(); old.is_there && (old.bytes & access.bytes) &&
                                        can_race(old, access) && !known.orders(old, access))
      return old;
  return std::nullopt;
}

}  // namespace

std::optional<Access> add_access(const Shadow& shadow, std::size_t offset, std::size_t bytes,
                                 Access access, const Clock& known) {
  std::optional<Access> race;
  each_cell(shadow, offset, bytes, [&](std::size_t cell, std::uint8_t touched) {
    access.bytes = touched;
    if (!race) race = find_race(shadow.cells[cell], access, known);
    if (static_cast<Manner>(access.manner) != Manner::sync || access.writes) {
      keep(shadow.cells[cell], access, known);
      mark(shadow, cell, access);
    }
  });
  return race;
}

// As add_access(), whose rules all reduce to these where nothing races.
bool try_add_access(const Shadow& shadow, std::size_t cell, Words access, const Clock& known) {
  const auto now = std::bit_cast<Access>(access);
  const HeldCells held(shadow.lock_of(cell));
  for (const Slot& slot : shadow.cells[cell].slots) {
    const Words old = slot.words();
    if (old.numbers != 0 && !known.orders(std::bit_cast<Access>(old), now)) return false;
  }
  mark(shadow, cell, now);
  return try_keep(shadow.cells[cell], access, [](const Words& merged, const Words& old) {
    return !(old.rest & ~merged.rest & (Rest::kBytes | Rest::kWrites));
  });
}

bool settle(const Shadow& shadow, std::size_t cell, std::uint8_t bytes, bool stores,
            const Clock& known, std::uint32_t phase) {
  const Worker owner{shadow.pe, 0};
  for (std::size_t first = 0; stores && first < Cell::kBytes; first += kEntry)
    if (shadow.stores.number((cell * Cell::kBytes + first) / kEntry) == phase)
      bytes |= bits_of_bytes(first, first + kEntry);
  const HeldCells held(shadow.lock_of(cell));
  unsigned unknown = 0, repeated = 0;
  for (Slot& slot : shadow.cells[cell].slots) {
    const Access old = slot.load();
    if (!old.is_there || static_cast<Manner>(old.manner) == Manner::sync) continue;
    if (!known.knows(owner, old))
      unknown |= old.writes ? kStoresMustLook | kLoadsMustLook : kStoresMustLook;
    else if (!old.is_program || old.pe == shadow.pe)
      continue;
    else if (stores && !(old.bytes & ~bytes))
      slot.clear();  // so a PE that repeats its access has to look, and finds the store
    else
      repeated = kStoresMustLook;
  }
  __atomic_store_n(&shadow.unsettled[cell], static_cast<std::uint8_t>(unknown | repeated),
                   __ATOMIC_RELAXED);
  return stores ? unknown == 0 : !(unknown & kLoadsMustLook);
}

Access access_of(const Shadow& shadow, const LedgerColumn& column, std::size_t i, bool writes) {
  Access access{};
  access.call_number = column.number(i);
  access.site = column.site(i);
  access.pe = static_cast<std::uint16_t>(shadow.pe);
  const std::size_t first = i * kEntry % Cell::kBytes;
  access.bytes = bits_of_bytes(first, first + kEntry);
  access.writes = writes;
  access.is_there = access.is_program = 1;
  return access;
}

std::optional<Access> find_in_ledger(const Shadow& shadow, const Range& range, const Access& access,
                                     const Clock& known) {
  const std::size_t end = range.offset + range.bytes;
  const std::uint32_t last = known.of({shadow.pe, 0}, Order::program);
  for (const bool of_stores : {true, false}) {
    if (!of_stores && !access.writes) break;
    const LedgerColumn& column = of_stores ? shadow.stores : shadow.loads;
    for (std::size_t i = range.offset / kEntry; i * kEntry < end; ++i)
      if (column.number(i) > last) return access_of(shadow, column, i, of_stores);
  }
  return std::nullopt;
}

void take_from_ledger(const Shadow& shadow, const Range& range, const Clock& known,
                      std::uint32_t phase) {
  const std::size_t end = range.offset + range.bytes;
  const std::uint32_t last = known.of({shadow.pe, 0}, Order::program);
  if (last < phase) return;
  for (const LedgerColumn& column : {shadow.stores, shadow.loads})
    for (std::size_t i = (range.offset + kEntry - 1) / kEntry; (i + 1) * kEntry <= end; ++i)
      if (std::uint32_t number = column.number(i); number >= phase && number <= last)
        __atomic_compare_exchange_n(&column.numbers[i], &number, 0, false, __ATOMIC_RELAXED,
                                    __ATOMIC_RELAXED);
}

bool see_writes(const Shadow& shadow, std::size_t offset, std::size_t bytes, const Worker& me,
                const std::function<void(const Access&)>& use) {
  bool is_anybody = false, may_lack_some = false;
  const auto see = [&](const Access& write) {
    is_anybody = true;
    if (write.who() != me) use(write);
  };
  each_cell(shadow, offset, bytes, [&](std::size_t at, std::uint8_t touched) {
    Cell& cell = shadow.cells[at];
    if (cell.slots[0].load().is_crowded) may_lack_some = true;
    std::array<Access, Cell::kAccesses> unseen;
    std::ranges::transform(cell.slots, unseen.begin(),
                           [](const Slot& slot) { return slot.load(); });
    for (Slot& slot : cell.slots) {
      Access write = slot.load();
      if (!write.is_there || !write.writes || !(write.bytes & touched)) continue;
      const bool is_own = write.who() == me;
      const auto is_older = [&](const Access& old) { return repeats(write, old); };
      if (!is_own && std::ranges::any_of(unseen, is_older)) {
        write.manner = static_cast<std::uint8_t>(Manner::atomic);
      } else {
        see(write);
        // It has arrived, whatever else its PE has under way.
        if (write.how() == Order::put) {
          write.order = static_cast<std::uint8_t>(Order::program);
          write.row %= kMaxStrands;
        }
        if (!is_own && is_manner(write, Manner::atomic))
          write.manner = static_cast<std::uint8_t>(Manner::repeat);
      }
      if (const Words now = words_of(write); now.rest != slot.words().rest) slot.store(now);
    }
    for (std::size_t i = at * Cell::kBytes / kEntry; i * kEntry < (at + 1) * Cell::kBytes; ++i)
      if (const Access store = access_of(shadow, shadow.stores, i, true);
          store.call_number != 0 && (store.bytes & touched))
        see(store);
  });
  return is_anybody && !may_lack_some;
}

}  // namespace meshmem::races
