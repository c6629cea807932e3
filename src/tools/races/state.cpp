// SPDX-License-Identifier: Apache-2.0
//
// Addresses and clocks.
// Invariant: as state.hpp says; a thread that reads or writes a PE's clock in the board holds the
// mutex of that PE.
#include "tools/races/state.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "tools/races/ledger.hpp"

namespace meshmem::races {

Checker& checker = *new Checker;
constinit thread_local unsigned current_strand = 0;
constinit thread_local std::uint64_t begin_of_frame = 0;

bool is_private_here(std::uint64_t address) {
  return reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)) <= address &&
         address < begin_of_frame;
}

namespace {
thread_local bool is_entered = false;
thread_local int n_routines = 0;
}  // namespace

Entered::Entered() {
  is_entered = true;
  checker.mutex.lock();
  if (writes_ledger) doors.close();
}
Entered::~Entered() {
  if (writes_ledger && checker.is_open) doors.open();
  checker.mutex.unlock();
  is_entered = false;
}
void enter_routine() { ++n_routines; }
void leave_routine() { --n_routines; }
bool must_stay_out() { return is_entered || is_in_board || (n_routines > 0 && checker.job.ask); }

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
  const std::size_t offset = range.offset - begin_of_statics();
  const std::uintptr_t address = checker.job.statics.base + offset;
  const std::string name = checker.job.variable_at(reinterpret_cast<const void*>(address));
  return name.empty() ? fmt::format("statics+{:#x}", offset) : name;
}

// ---- Clocks

void renew_epoch(Strand& strand) {
  strand.epoch = ++checker.last_epoch;
  strand.next_access = 0;
  if (&strand == &checker.strands[0]) end_phase();
}

void take_call_number() {
  Strand& mine = self();
  if (checker.last_call == UINT32_MAX)
    checker.boards.note_unseen(true);  // numbers do not tell calls apart any more
  else
    ++checker.last_call;
  mine.call_number = checker.last_call;
  renew_epoch(mine);
  mine.is_between_calls = false;
  checker.boards.mine().call_number = mine.call_number;
}

namespace {

std::size_t n_pes() { return static_cast<std::size_t>(checker.job.n_pes); }
std::size_t place_of(const Worker& worker, Order order) {
  return place_in_clock(n_pes(), worker, order);
}
std::size_t numbers_of_row() { return n_pes() * kOrders; }

// Returns where this strand's own numbers begin in the row of this place, if the place is one of
// them; else nullopt.
std::optional<std::size_t> own_numbers(std::size_t place) {
  std::size_t own = place_of(me(), Order::program);
  if (const std::size_t of_context = kMaxStrands * numbers_of_row(); place >= of_context)
    own += place / of_context * of_context;
  return place - own < kOrders ? std::optional(own) : std::nullopt;
}

}  // namespace

void raise(std::size_t place, std::uint32_t call_number) {
  Strand& mine = self();
  if (call_number == 0 || (place < mine.numbers.size() && mine.numbers[place] >= call_number))
    return;
  const std::size_t of_row = numbers_of_row();
  if (place >= mine.numbers.size()) mine.numbers.resize((place / of_row + 1) * of_row);
  mine.numbers[place] = call_number;
  if (!own_numbers(place)) ++mine.n_learned;
  renew_epoch(mine);
  mine.is_published = false;
}

void publish() {
  Strand& mine = self();
  if (mine.is_published) return;
  PeBoard& board = checker.boards.mine();
  const Held held(board.mutex);
  const auto clock = checker.boards.of_node().clock(me(), ++mine.version);
  std::copy(mine.numbers.begin(), mine.numbers.end(), clock.begin());
  board.versions[current_strand] = mine.version;
  if (current_strand == 0) board.first_calls[mine.version % PeBoard::kVersions] = mine.call_number;
  const auto known = static_cast<std::uint32_t>(mine.numbers.size() / numbers_of_row());
  board.n_rows = std::max({board.n_rows, known, current_strand + 1});
  mine.is_published = true;
}

void complete_context(unsigned context, Order last, std::uint32_t last_call) {
  for (unsigned strand = 0; strand < checker.n_strands; ++strand) {
    const Worker worker{checker.job.pe, strand};
    const std::uint32_t known =
        strand == current_strand ? last_call : my_clock().of(worker, Order::program);
    for (unsigned order = 1; order <= static_cast<unsigned>(last); ++order)
      raise(place_in_clock(n_pes(), worker.pe, context * kMaxStrands + strand,
                           static_cast<Order>(order)),
            std::min(known, last_call));
  }
}

void complete(Order last, std::uint32_t last_call) {
  for (unsigned context = 0; context < checker.n_contexts; ++context)
    complete_context(context, last, last_call);
}

// A context keeps what it first gets here, even if that is 0, since its work is in that row. A
// published clock may be of before the row's first access, so this tells of the row.
unsigned number_of_context(std::uint64_t handle) {
  const unsigned contexts = checker.boards.of_node().contexts();
  if (handle == reinterpret_cast<std::uintptr_t>(SHMEM_CTX_DEFAULT) || contexts == 1) return 0;
  const auto [place, is_new] = checker.contexts.try_emplace(handle);
  Context& context = place->second;
  if (is_new) pshmem_ctx_get_team(reinterpret_cast<shmem_ctx_t>(handle), &context.team);
  for (unsigned number = 1; is_new && number < contexts && context.number == 0; ++number) {
    const auto has_it = [number](const auto& one) { return one.second.number == number; };
    if (std::ranges::none_of(checker.contexts, has_it)) context.number = number;
  }
  checker.n_contexts = std::max(checker.n_contexts, context.number + 1);
  PeBoard& board = checker.boards.mine();
  const std::uint32_t n_rows = context.number * kMaxStrands + current_strand + 1;
  if (board.n_rows >= n_rows) return context.number;
  const Held held(board.mutex);
  board.n_rows = n_rows;
  return context.number;
}

void learn_number(std::size_t place, std::uint32_t number) {
  const std::optional<std::size_t> own = own_numbers(place);
  if (!own)
    raise(place, number);
  else if (const std::size_t order = place - *own;
           order == static_cast<std::size_t>(Order::put) ||
           order == static_cast<std::size_t>(Order::signaled))
    raise(*own, number);
}

void learn(std::span<const int> pes, const Moment& moment) {
  checker.boards.read_clocks(pes, moment, learn_number);
}

void learn_from_all() {
  std::vector<int> others;
  for (int pe = 0; pe < checker.job.n_pes; ++pe)
    if (pe != checker.job.pe) others.push_back(pe);
  learn(others, {});
  // Of this PE, only other strands.
  checker.boards.read_clocks({&checker.job.pe, 1}, {}, [](std::size_t place, std::uint32_t number) {
    if (!own_numbers(place)) raise(place, number);
  });
}

namespace {

// True if this PE's clock already covers the write, and with it all that the writer knew then.
bool knows(const Access& write) {
  return my_clock().of(write.who(), Order::program) >= write.call_number &&
         (write.how() != Order::signaled ||
          my_clock().beside(write, Order::signaled) >= write.call_number);
}

// Learns what the writer knew, and what it had done by then.
void learn_from(const Access& write) {
  if (knows(write)) return;
  const int writer = write.pe;
  learn({&writer, 1},
        {.when = Moment::When::version, .number = write.version, .strand = write.who().strand});
  raise(place_of(write.who(), Order::program), write.call_number);
  if (write.how() == Order::signaled)
    raise(place_in_clock(n_pes(), write.pe, write.row, Order::signaled), write.call_number);
}

}  // namespace

void see(int pe, const Range& range, Unknown writer) {
  const Seen seen = checker.boards.see(pe, range, current_strand);
  bool& is_published = self().is_published;
  const bool was_published = std::exchange(is_published, true);
  for (const Access& write : seen.writes) learn_from(write);
  const bool has_learned = !is_published;
  is_published = was_published && is_published;
  const bool has_unseen =
      writer != Unknown::nobody_else && checker.boards.head().has_unseen && !has_learned;
  if (has_unseen || (!seen.is_known && (writer == Unknown::anybody || !seen.writes.empty())))
    learn_from_all();
}

void learn_what_was_told() {
  PeBoard& mine = checker.boards.mine();
  if (mine.n_told == self().n_told) return;
  std::vector<Told> told;
  {
    const Held held(mine.mutex);
    self().n_told = mine.n_told;
    const auto all = checker.boards.of_node().told(checker.job.pe);
    told.assign(all.begin(), all.end());
  }
  for (const Told& one : told)
    for (const Access& write : {one.write, one.signaled})
      if (write.is_there) learn_from(write);
}

}  // namespace meshmem::races
