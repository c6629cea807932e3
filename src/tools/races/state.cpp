// SPDX-License-Identifier: Apache-2.0
//
// Addresses and clocks.
// Invariant: as state.hpp says; a thread that reads or writes a PE's clock in the board holds the
// mutex of that PE.
#include "tools/races/state.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace meshmem::races {

Checker& checker = *new Checker;

namespace {
thread_local bool is_entered = false;
thread_local int n_routines = 0;
}  // namespace

Entered::Entered() {
  is_entered = true;
  checker.mutex.lock();
}
Entered::~Entered() {
  checker.mutex.unlock();
  is_entered = false;
}
void enter_routine() { ++n_routines; }
void leave_routine() { --n_routines; }
bool must_stay_out() {
  return is_entered || Held::is_here() || (n_routines > 0 && checker.job.ask);
}

// ---- Addresses

namespace {

// In the shadow the static data follows the heap. It keeps its offset within a cell.
std::size_t begin_of_statics() {
  const std::size_t heap = (checker.job.heap.bytes + Cell::kBytes - 1) / Cell::kBytes;
  return heap * Cell::kBytes + checker.job.statics.base % Cell::kBytes;
}

}  // namespace

std::optional<Range> symmetric(std::uint64_t address, std::size_t bytes) {
  const auto in = [=](const TraceRange& range) {
    return range.base <= address && address - range.base < range.bytes && bytes <= range.bytes;
  };
  const TraceJob& job = checker.job;
  if (in(job.heap)) return Range{address - job.heap.base, bytes};
  if (in(job.statics)) return Range{address - job.statics.base + begin_of_statics(), bytes};
  return std::nullopt;
}

std::string name_of(const Range& range) {
  const std::size_t heap = checker.job.heap.bytes;
  if (range.offset < heap) return fmt::format("heap+{:#x}", range.offset);
  return fmt::format("statics+{:#x}", range.offset - begin_of_statics());
}

// ---- Clocks

void take_call_number() {
  ++checker.call_number;
  ++checker.epoch;
  checker.is_between_calls = false;
  checker.boards.mine().call_number = checker.call_number;
}

void raise(std::uint32_t& known, std::uint32_t call_number) {
  if (known >= call_number) return;
  known = call_number;
  ++checker.epoch;
  checker.is_published = false;
}

void publish() {
  if (checker.is_published) return;
  PeBoard& mine = checker.boards.mine();
  const Held held(mine.mutex);
  ++checker.version;
  const auto clock = checker.boards.of_node().clock(checker.job.pe, checker.version);
  std::copy(checker.numbers.begin(), checker.numbers.end(), clock.begin());
  mine.version = checker.version;
  checker.is_published = true;
}

void complete(Order last, std::uint32_t last_call) {
  for (unsigned order = 1; order <= static_cast<unsigned>(last); ++order)
    raise(checker.clock().of(checker.job.pe, static_cast<Order>(order)), last_call);
}

void learn(std::span<const int> pes, const Moment& moment) {
  const int me = checker.job.pe;
  checker.boards.read_clocks(pes, moment, [me](std::size_t i, std::uint32_t number) {
    const auto order = static_cast<Order>(i % kOrders);
    if (i / kOrders != static_cast<std::size_t>(me))
      raise(checker.numbers[i], number);
    else if (order == Order::put || order == Order::signaled)
      raise(checker.clock().of(me, Order::program), number);
  });
}

void learn_from_all() {
  std::vector<int> others;
  for (int pe = 0; pe < checker.job.n_pes; ++pe)
    if (pe != checker.job.pe) others.push_back(pe);
  learn(others, {});
}

namespace {

// True if this PE's clock already covers the write, and with it all that the writer knew then.
bool knows(const Access& write) {
  const auto is_done = [&](Order order) {
    return checker.clock().of(write.pe, order) >= write.call_number;
  };
  return is_done(Order::program) && (write.how() != Order::signaled || is_done(Order::signaled));
}

// Learns what the writer knew, and what it had done by then.
void learn_from(const Access& write) {
  if (knows(write)) return;
  const int writer = write.pe;
  learn({&writer, 1}, {.when = Moment::When::version, .number = write.version});
  raise(checker.clock().of(writer, Order::program), write.call_number);
  if (write.how() == Order::signaled)
    raise(checker.clock().of(writer, Order::signaled), write.call_number);
}

}  // namespace

void see(int pe, const Range& range, Unknown writer) {
  const Seen seen = checker.boards.see(pe, range);
  const bool was_published = std::exchange(checker.is_published, true);
  for (const Access& write : seen.writes) learn_from(write);
  const bool has_learned = !checker.is_published;
  checker.is_published = was_published && checker.is_published;
  const bool has_unseen =
      writer != Unknown::nobody_else && checker.boards.head().has_unseen && !has_learned;
  if (has_unseen || (!seen.is_known && (writer == Unknown::anybody || !seen.writes.empty())))
    learn_from_all();
}

void learn_what_was_told() {
  PeBoard& mine = checker.boards.mine();
  if (mine.n_told == checker.n_told) return;
  std::vector<Told> told;
  {
    const Held held(mine.mutex);
    checker.n_told = mine.n_told;
    const auto all = checker.boards.of_node().told(checker.job.pe);
    told.assign(all.begin(), all.end());
  }
  for (const Told& one : told)
    for (const Access& write : {one.write, one.signaled})
      if (write.is_there) learn_from(write);
}

}  // namespace meshmem::races
