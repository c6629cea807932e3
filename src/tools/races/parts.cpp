// SPDX-License-Identifier: Apache-2.0
//
// Accesses, sights, clocks and pairs. Invariant: as parts.hpp says.
#include "tools/races/parts.hpp"

#include <algorithm>

namespace meshmem::races {
namespace {

// A write into the memory of `pe`, which it may see from now on.
void tell(const Board& board, int pe, const Access& write) {
  const Held held(board.of(pe).mutex);
  Told& told = board.told(pe)[board.place_of(write.who())];
  Access& last = write.how() == Order::signaled ? told.signaled : told.write;
  last = write;
  last.is_there = 1;
  ++board.of(pe).n_told;
}

// One that is no longer there stands for all up to the newest.
void use_version(const Board& board, const Worker& of, std::uint32_t version,
                 const UseNumber& use) {
  const std::uint32_t newest = board.of(of.pe).versions[of.strand];
  const bool is_there = newest - version < board.versions(of.strand);
  const auto clock = board.clock(of, is_there ? version : newest);
  const std::size_t numbers = count_numbers(board, of.pe);
  for (std::size_t i = 0; i < numbers; ++i) use(i, clock[i]);
}

void use_calls(const Board& board, const Worker& of, Order order, std::uint32_t call_number,
               const UseNumber& use) {
  use(board.place_of(of) * kOrders + static_cast<std::size_t>(order), call_number);
}

bool use_collective(const Board& board, int pe, const Moment& moment, const UseNumber& use) {
  for (const Entry& entry : board.of(pe).entries) {
    if (entry.team != moment.team || entry.number != moment.number) continue;
    const Worker who{pe, entry.strand};
    use_version(board, who, entry.version, use);
    use_calls(board, who, Order::program, entry.call_number, use);
    return true;
  }
  return false;
}

void use_all(const Board& board, int pe, const UseNumber& use) {
  const PeBoard& part = board.of(pe);
  for (unsigned strand = 0; strand < part.n_strands; ++strand) {
    use_version(board, {pe, strand}, part.versions[strand], use);
    for (unsigned order = 0; order < kOrders; ++order)
      use_calls(board, {pe, strand}, static_cast<Order>(order), part.call_number, use);
  }
}

}  // namespace

std::optional<Access> add_to_part(const Board& board, int pe, const Range& range,
                                  const Access& access, bool has_told, const Clock& known) {
  if (has_told) tell(board, pe, access);
  return add_access(board.shadow(pe), range.offset, range.bytes, access, known);
}

Seen see_in_part(const Board& board, int pe, const Range& range, const Worker& me) {
  Seen seen{};
  seen.is_known = see_writes(board.shadow(pe), range.offset, range.bytes, me,
                             [&](const Access& write) { seen.writes.push_back(write); });
  return seen;
}

void read_clock_of_part(const Board& board, int pe, const Moment& moment, const UseNumber& use) {
  const Held held(board.of(pe).mutex);
  if (moment.when == Moment::When::version)
    return use_version(board, {pe, moment.strand}, moment.number, use);
  if (moment.when == Moment::When::collective && use_collective(board, pe, moment, use)) return;
  use_all(board, pe, use);
}

std::size_t count_numbers(const Board& board, int pe) {
  return board.place_of({0, board.of(pe).n_strands}) * kOrders;
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
