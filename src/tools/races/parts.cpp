// SPDX-License-Identifier: Apache-2.0
//
// Accesses, sights, clocks and pairs. Invariant: as parts.hpp says.
#include "tools/races/parts.hpp"

#include <algorithm>

namespace meshmem::races {
namespace {

// A write into the memory of `pe`, which it may see from now on.
void tell(const Board& board, int pe, const Access& write) {
  Told& told = board.told(pe)[write.pe];
  Access& last = write.how() == Order::signaled ? told.signaled : told.write;
  last = write;
  last.is_there = 1;
  ++board.of(pe).n_told;
}

void use_clock(const Board& board, int pe, std::uint32_t version, const UseNumber& use) {
  const auto clock = board.clock(pe, version);
  for (std::size_t i = 0; i < clock.size(); ++i) use(i, clock[i]);
}

std::size_t place_in_clock(int pe, Order order) {
  return static_cast<std::size_t>(pe) * kOrders + static_cast<std::size_t>(order);
}

// One that is no longer there stands for all up to the newest.
void use_version(const Board& board, int pe, std::uint32_t version, const UseNumber& use) {
  const PeBoard& part = board.of(pe);
  const bool is_there = part.version - version < PeBoard::kVersions;
  use_clock(board, pe, is_there ? version : part.version, use);
}

bool use_collective(const Board& board, int pe, const Moment& moment, const UseNumber& use) {
  for (const Entry& entry : board.of(pe).entries) {
    if (entry.team != moment.team || entry.number != moment.number) continue;
    use_version(board, pe, entry.version, use);
    use(place_in_clock(pe, Order::program), entry.call_number);
    return true;
  }
  return false;
}

void use_all(const Board& board, int pe, const UseNumber& use) {
  const PeBoard& part = board.of(pe);
  use_clock(board, pe, part.version, use);
  for (unsigned order = 0; order < kOrders; ++order)
    use(place_in_clock(pe, static_cast<Order>(order)), part.call_number);
}

}  // namespace

std::optional<Access> add_to_part(const Board& board, int pe, const Range& range,
                                  const Access& access, bool has_told, const Clock& known) {
  const Held held(board.of(pe).mutex);
  if (has_told) tell(board, pe, access);
  return add_access(board.shadow(pe), range.offset, range.bytes, access, known);
}

Seen see_in_part(const Board& board, int pe, const Range& range, int me) {
  Seen seen{};
  const Held held(board.of(pe).mutex);
  seen.is_known = see_writes(board.shadow(pe), range.offset, range.bytes, me,
                             [&](const Access& write) { seen.writes.push_back(write); });
  return seen;
}

void read_clock_of_part(const Board& board, int pe, const Moment& moment, const UseNumber& use) {
  const Held held(board.of(pe).mutex);
  if (moment.when == Moment::When::version) return use_version(board, pe, moment.number, use);
  if (moment.when == Moment::When::collective && use_collective(board, pe, moment, use)) return;
  use_all(board, pe, use);
}

bool add_pair(Head& head, std::uint64_t pair) {
  const Held held(head.mutex);
  ++head.n_found;
  for (std::uint64_t& known : head.pairs) {
    if (known == pair) return false;
    if (known != 0) continue;
    known = pair;
    ++head.n_races;
    return true;
  }
  return false;
}

void note_unseen_in(Head& head, bool orders) {
  (orders ? head.orders_unseen : head.has_unseen) = true;
}

}  // namespace meshmem::races
