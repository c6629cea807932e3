// SPDX-License-Identifier: Apache-2.0
//
// Adds accesses to a PE's part of the board, and reads writes and clocks there. Invariant: as
// parts.hpp says.
#include "tools/races/parts.hpp"

#include <algorithm>

namespace meshmem::races {
namespace {

// Notes a write into the memory of `pe`, since `pe` may see it from now on.
void tell(const Board& board, int pe, const Access& write) {
  const Held held(board.of(pe).mutex);
  Told& told = board.told(pe)[board.place_of(write.who())];
  Access& last = write.how() == Order::signaled ? told.signaled : told.write;
  last = write;
  last.is_there = 1;
  ++board.of(pe).n_told;
}

// The version of strand 0's clock at its loads and stores of this number; the newest one if that
// version is gone.
std::uint32_t version_at(const PeBoard& part, std::uint32_t call_number) {
  const std::uint32_t newest = part.versions[0];
  for (std::uint32_t version = newest; version > 0 && newest - version < PeBoard::kVersions;
       --version)
    if (part.first_calls[version % PeBoard::kVersions] <= call_number) return version;
  return newest;
}

// For the PE's ledger thread, which looks at newcomers when it closes the ledger.
void tell_of_newcomer(PeBoard& part, const Newcomer& newcomer) {
  const Held held(part.mutex);
  const std::uint32_t n = part.n_newcomers.load(std::memory_order_relaxed);
  part.newcomers[n % PeBoard::kNewcomers] = newcomer;
  part.n_newcomers.store(n + 1, std::memory_order_relaxed);
}

// If the version is no longer there, uses the newest one, which knows all that the older one knew.
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

unsigned strands_of(const PeBoard& part) { return std::min(part.n_rows, kMaxStrands); }

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
  for (unsigned strand = 0; strand < strands_of(part); ++strand)
    use_version(board, {pe, strand}, part.versions[strand], use);
  for (unsigned row = 0; row < part.n_rows; ++row)
    for (unsigned order = 0; order < kOrders; ++order)
      use_calls(board, {pe, row}, static_cast<Order>(order), part.call_number, use);
}

}  // namespace

std::optional<Access> add_to_part(const Board& board, int pe, const Range& range,
                                  const Access& access, bool has_told, const Clock& known) {
  if (has_told) tell(board, pe, access);
  const Shadow shadow = board.shadow(pe);
  const auto race = add_access(shadow, range.offset, range.bytes, access, known);
  const auto in_ledger = meet_ledger(board, shadow, range, access, known);
  return race ? race : in_ledger;
}

// T is the PE's ledger thread. It looks at `unsettled`, and then notes its access L in the ledger,
// without a fence between the two. The access A of the caller has marked its cells. At least one of
// A and L finds the other, in any order of these steps:
//   - If A finds the ledger closed, there are two cases. T looks at the cell after the fence of
//     open_ledger(), and finds A's mark. Or T has noted L before the fence of close_ledger(), and A
//     finds L.
//   - If A finds the ledger open, A joins the newcomers before it looks for L. If A does not find
//     L, T notes L later, and finds A among the newcomers after the fence of close_ledger(). T's
//     clock has learned nothing in this phase, so T compares A and L as they were.
//   - If T ends the phase before A joins the newcomers, A finds L. In later phases T finds A's
//     mark. So T does not compare A with L's of later phases: it may know A to be done by then.
// A may know that L is done while L's phase goes on. If A writes, it first takes L out of the
// ledger. So if L is there when T closes the ledger, T has repeated it after A. If A only reads, or
// covers only a part of L, T cannot tell whether it has repeated L. So T does not look at A.
// If A comes after T's look and before its note, T may miss A in three cases: T does not look at A,
// as above. Or more than kNewcomers accesses follow A. Or another thread that counts as T ends the
// phase and learns of A, or finalizes.
std::optional<Access> meet_ledger(const Board& board, const Shadow& shadow, const Range& whole,
                                  const Access& access, const Clock& known) {
  PeBoard& part = board.of(shadow.pe);
  const bool has_ledger = part.ledger.load(std::memory_order_relaxed) != LedgerState::never;
  // The library refuses memory behind the end later, or another machine may have named it.
  const std::size_t end = shadow.cells.size() * Cell::kBytes;
  if (!has_ledger || !may_meet_ledger(shadow, access) || whole.offset >= end) return std::nullopt;
  const Range range{whole.offset, std::min(whole.bytes, end - whole.offset)};
  std::atomic_thread_fence(std::memory_order_seq_cst);
  const LedgerState state = part.ledger.load(std::memory_order_acquire);
  const std::uint32_t phase = part.phase.load(std::memory_order_relaxed);
  const std::uint32_t last = known.of({shadow.pe, 0}, Order::program);
  if (access.writes) take_from_ledger(shadow, range, known, phase);
  if (state == LedgerState::open && (access.writes || last < phase)) {
    tell_of_newcomer(part, {range, access, phase, last});
    std::atomic_thread_fence(std::memory_order_seq_cst);
  }
  return find_in_ledger(shadow, range, access, known);
}

Seen see_in_part(const Board& board, int pe, const Range& range, const Worker& me) {
  Seen seen{};
  seen.is_known = see_writes(board.shadow(pe), range.offset, range.bytes, me,
                             [&](const Access& write) { seen.writes.push_back(write); });
  const auto is_in_ledger = [](const Access& write) { return write.version == 0; };
  if (std::none_of(seen.writes.begin(), seen.writes.end(), is_in_ledger)) return seen;
  const Held held(board.of(pe).mutex);
  for (Access& write : seen.writes)
    if (is_in_ledger(write)) write.version = version_at(board.of(pe), write.call_number);
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
  return board.place_of({0, board.of(pe).n_rows}) * kOrders;
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
