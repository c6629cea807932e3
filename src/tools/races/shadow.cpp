// SPDX-License-Identifier: Apache-2.0
//
// Cells of 8 bytes, each with a few accesses. Invariant: as shadow.hpp says.
#include "tools/races/shadow.hpp"

#include <algorithm>

namespace meshmem::races {
namespace {

bool can_race(const Access& one, const Access& other) {
  const auto of = [](const Access& access) { return static_cast<Manner>(access.manner); };
  if (!one.writes && !other.writes) return false;
  if (of(one) == Manner::sync || of(other) == Manner::sync) return false;
  // Threads that race by their own loads and stores are ThreadSanitizer's.
  if (one.is_program && other.is_program && one.pe == other.pe) return false;
  if (of(one) == Manner::plain || of(other) == Manner::plain) return true;
  const auto differ = [](unsigned left, unsigned right) {
    return left != right && left != 0 && right != 0;
  };
  return differ(one.type, other.type) || differ(one.domain, other.domain);
}

// Whether all that would race with the old one does so with the new one, or is known to be done.
bool replaces(const Access& now, const Access& old, const Clock& known) {
  if (old.bytes & ~now.bytes) return false;
  if (old.writes && !now.writes) return false;
  if (old.who() == now.who() && old.how() == now.how() && old.manner == now.manner &&
      old.type == now.type && old.domain == now.domain && old.is_program >= now.is_program)
    return true;
  return known.orders(old, now);
}

// Whether the two differ in their bytes alone.
bool is_more_of(const Words& now, const Words& old) {
  return now.numbers == old.numbers &&
         !((now.rest ^ old.rest) & ~(Rest::kBytes | Rest::kIsCrowded));
}

// Puts the access in place of all that it replaces, or of nothing, or of a read. False: there is no
// such place.
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
  if (try_keep(cell, words_of(access), replaces_known) || !access.writes) return;
  const auto number = [](const Slot& slot) { return slot.load().call_number; };
  std::ranges::min_element(cell.slots, {}, number)->store(words_of(access));
  cell.slots[0].crowd();
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
      use(shadow.cells[offset / Cell::kBytes], bits_of_bytes(first, last));
      offset += last - first;
    }
  }
}

}  // namespace

std::optional<Access> add_access(const Shadow& shadow, std::size_t offset, std::size_t bytes,
                                 Access access, const Clock& known) {
  std::optional<Access> race;
  each_cell(shadow, offset, bytes, [&](Cell& cell, std::uint8_t touched) {
    for (const Slot& slot : cell.slots)
      if (const Access old = slot.load(); old.is_there && (old.bytes & touched) &&
                                          can_race(old, access) && !race &&
                                          !known.orders(old, access))
        race = old;
    access.bytes = touched;
    if (static_cast<Manner>(access.manner) != Manner::sync || access.writes)
      keep(cell, access, known);
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
  return try_keep(shadow.cells[cell], access, [](const Words& merged, const Words& old) {
    return !(old.rest & ~merged.rest & (Rest::kBytes | Rest::kWrites));
  });
}

bool see_writes(const Shadow& shadow, std::size_t offset, std::size_t bytes, const Worker& me,
                const std::function<void(const Access&)>& use) {
  bool is_anybody = false, may_lack_some = false;
  each_cell(shadow, offset, bytes, [&](Cell& cell, std::uint8_t touched) {
    if (cell.slots[0].load().is_crowded) may_lack_some = true;
    for (Slot& slot : cell.slots) {
      Access write = slot.load();
      if (!write.is_there || !write.writes || !(write.bytes & touched)) continue;
      is_anybody = true;
      if (write.who() != me) use(write);
      // It has arrived, whatever else its PE has under way.
      if (write.how() != Order::put) continue;
      write.order = static_cast<std::uint8_t>(Order::program);
      slot.store(words_of(write));
    }
  });
  return is_anybody && !may_lack_some;
}

}  // namespace meshmem::races
