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

void put(Cell& cell, Access& slot, Access access) {
  const bool is_crowded = cell.accesses[0].is_crowded;
  slot = access;
  slot.is_there = 1;
  cell.accesses[0].is_crowded = is_crowded;
}

void keep(Cell& cell, const Access& access, const Clock& known) {
  Access* free = nullptr;
  Access* read = nullptr;
  Access* oldest = &cell.accesses[0];
  for (Access& slot : cell.accesses) {
    if (slot.is_there && replaces(access, slot, known)) return put(cell, slot, access);
    if (!slot.is_there && !free) free = &slot;
    if (slot.is_there && !slot.writes) read = &slot;
    if (slot.call_number < oldest->call_number) oldest = &slot;
  }
  if (free) return put(cell, *free, access);
  if (read) return put(cell, *read, access);
  if (!access.writes) return;
  put(cell, *oldest, access);
  cell.accesses[0].is_crowded = 1;
}

// Calls use(cell, the bytes of it) for all that the range touches.
template <typename Use>
void each_cell(std::span<Cell> shadow, std::size_t offset, std::size_t bytes, Use use) {
  const std::size_t end = std::min(offset + bytes, shadow.size() * Cell::kBytes);
  while (offset < end) {
    const std::size_t first = offset % Cell::kBytes;
    const std::size_t last = std::min(Cell::kBytes, first + end - offset);
    use(shadow[offset / Cell::kBytes],
        static_cast<std::uint8_t>(((1u << last) - 1) & ~((1u << first) - 1)));
    offset += last - first;
  }
}

}  // namespace

std::optional<Access> add_access(std::span<Cell> shadow, std::size_t offset, std::size_t bytes,
                                 Access access, const Clock& known) {
  std::optional<Access> race;
  each_cell(shadow, offset, bytes, [&](Cell& cell, std::uint8_t touched) {
    for (const Access& slot : cell.accesses)
      if (slot.is_there && (slot.bytes & touched) && can_race(slot, access) && !race &&
          !known.orders(slot, access))
        race = slot;
    access.bytes = touched;
    if (static_cast<Manner>(access.manner) != Manner::sync || access.writes)
      keep(cell, access, known);
  });
  return race;
}

bool see_writes(std::span<Cell> shadow, std::size_t offset, std::size_t bytes, const Worker& me,
                const std::function<void(const Access&)>& use) {
  bool is_anybody = false, is_crowded = false;
  each_cell(shadow, offset, bytes, [&](Cell& cell, std::uint8_t touched) {
    if (cell.accesses[0].is_crowded) is_crowded = true;
    for (Access& slot : cell.accesses) {
      if (!slot.is_there || !slot.writes || !(slot.bytes & touched)) continue;
      is_anybody = true;
      if (slot.who() != me) use(slot);
      // It has arrived, whatever else its PE has under way.
      if (slot.how() == Order::put) slot.order = static_cast<std::uint8_t>(Order::program);
    }
  });
  return is_anybody && !is_crowded;
}

}  // namespace meshmem::races
