// SPDX-License-Identifier: Apache-2.0
//
// See accesses.hpp. Each access gets the call site, call number and clock of its strand here, and a
// race that it is part of becomes one line.
#include "tools/races/accesses.hpp"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <utility>

#include "tools/races/buffers.hpp"
#include "tools/races/noted.hpp"

namespace meshmem::races {
namespace {

std::string name_bytes(std::size_t count) {
  return count == 1 ? "1 byte" : fmt::format("{} bytes", count);
}

void tell(const std::string& bytes, int pe, const Access& here, const Access& before) {
  const bool has_returned = before.pe != here.pe && before.how() != Order::program &&
                            before.call_number <= my_clock().of(before.who(), Order::program);
  const std::string text = text_of(checker.boards, {.place = fmt::format("{} of PE {}", bytes, pe),
                                                    .here = here,
                                                    .before = before,
                                                    .has_returned = has_returned});
  if (!text.empty()) checker.job.print_line(text);
}

Access make_access(const Place& place, const What& what) {
  Access mine{};
  mine.call_number = self().call_number;
  mine.version = self().version;
  mine.site = static_cast<std::uint16_t>(site_of(checker.boards.mine(), checker.job, place));
  mine.pe = static_cast<std::uint16_t>(checker.job.pe);
  const unsigned context = what.order == Order::program ? 0 : checker.context;
  mine.row = static_cast<std::uint8_t>(context * kMaxStrands + current_strand);
  mine.order = static_cast<std::uint8_t>(what.order);
  mine.manner = static_cast<std::uint8_t>(what.manner);
  mine.writes = what.writes;
  mine.is_program = place.routine >= number_of(AccessKind::load);
  mine.type = what.type & 15;
  mine.domain = what.domain & 15;
  return mine;
}

// True if this strand sets another PE's word to a value that it has set there before, and has
// learned nothing since. So it does not know whether another PE has seen that value. In words of
// its own PE, plain stores may have changed the value in between.
bool sets_again(int pe, const Range& range, const What& what) {
  if (!what.writes || range.bytes > Cell::kBytes || checker.job.polls) return false;
  if (pe == checker.job.pe) return false;
  const std::size_t hash = range.offset / Cell::kBytes + static_cast<std::size_t>(pe) * 31;
  SetWord& last = checker.set_words[hash % checker.set_words.size()];
  if (!what.value) {
    if (last.pe == pe && last.offset == range.offset) last = {};
    return false;
  }
  const SetWord now{pe, range.offset, *what.value, current_strand, self().n_learned};
  return std::exchange(last, now) == now;
}

struct FoundRace {
  Range range;
  Access here, before;
};
thread_local std::optional<FoundRace> race_of_swap;

}  // namespace

void tell_race(const Range& range, int pe, const Access& here, const Access& before) {
  tell(fmt::format("{} at {}", name_bytes(range.bytes), name_of(range)), pe, here, before);
}

void add_to_shadow(const Place& place, int pe, const Range& range, What what) {
  publish();
  const bool may_be_polled =
      checker.job.polls && what.writes && pe != checker.job.pe && range.bytes <= Told::kBytes;
  // These writes count as done on return. A PE's put to itself is a copy. A short put to another PE
  // may be what that PE polls for, and then it has arrived there.
  const bool is_own = pe == checker.job.pe && what.writes && what.order != Order::pending;
  if (is_own || (may_be_polled && what.order == Order::put)) what.order = Order::program;
  Access mine = make_access(place, what);
  if (sets_again(pe, range, what)) mine.manner = static_cast<std::uint8_t>(Manner::repeat);
  const std::optional<Access> race =
      checker.boards.add(pe, range, mine, may_be_polled, self().numbers);
  if (what.may_fail)
    race_of_swap = race ? std::optional(FoundRace{range, mine, *race}) : std::nullopt;
  else if (race)
    tell_race(range, pe, mine, *race);
}

void access_own(const Place& place, std::uint64_t address, std::size_t bytes, const What& what) {
  const bool is_under_way = what.order == Order::pending;
  if (!is_under_way && !is_parallel() && !may_be_buffer(address, bytes)) return;
  const Access mine = make_access(place, what);
  std::optional<Access> race = find_buffer(address, bytes, mine);
  if (!mine.is_program && (is_under_way || is_parallel())) {
    add_buffer(address, bytes, mine);
    // Another thread notes its access first, and then looks for buffers of calls. So of two
    // accesses at the same time, at least one finds the other.
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (!race && is_parallel()) race = find_noted(address, bytes, mine);
  }
  if (race)
    tell(fmt::format("{} at {:#x}", name_bytes(bytes), address), checker.job.pe, mine, *race);
}

void access(const Call& call, int pe, std::uint64_t address, std::size_t bytes, const What& what) {
  if (bytes == 0 || pe < 0 || pe >= checker.job.n_pes) return;
  if (const std::optional<Range> range = symmetric(address, bytes))
    add_to_shadow({call.caller, call.number}, pe, *range, what);
  else if (pe == checker.job.pe)
    access_own({call.caller, call.number}, address, bytes, what);
}

void access_elements(const Call& call, int pe, std::uint64_t address, std::int64_t stride,
                     const What& what) {
  const std::size_t element = call.element_bytes;
  const std::size_t most = checker.job.heap.bytes + checker.job.statics.bytes;
  if (call.elements > most || call.blocks > most) return;  // the library refuses the call
  std::size_t blocks = call.blocks, bytes = call.elements * element;
  if (stride != 0 && blocks == 1 && !call.op.starts_with("ib")) {
    blocks = call.elements;
    bytes = element;
  }
  if (stride == static_cast<std::int64_t>(bytes / element)) {
    bytes *= blocks;
    blocks = 1;
  }
  for (std::size_t i = 0; i < blocks; ++i)
    access(call, pe, address + i * static_cast<std::size_t>(stride) * element, bytes, what);
}

void end_swap(const Call& call, const What& what, bool has_stored) {
  const std::optional<FoundRace> race = std::exchange(race_of_swap, std::nullopt);
  if (has_stored) {
    if (race) tell_race(race->range, call.pe, race->here, race->before);
    return;
  }
  const std::size_t bytes = call.what().element_bytes;
  access(call, call.pe, call.dest, bytes, {.writes = true, .manner = Manner::sync});
  What load = what;
  load.writes = load.may_fail = false;
  access(call, call.pe, call.dest, bytes, load);
}

void see_symmetric(int pe, std::uint64_t address, std::size_t bytes, Unknown writer) {
  if (bytes == 0 || pe < 0 || pe >= checker.job.n_pes) return;
  if (const std::optional<Range> range = symmetric(address, bytes)) see(pe, *range, writer);
}

}  // namespace meshmem::races
