// SPDX-License-Identifier: Apache-2.0
//
// Each call gets a number, its ticket. A PE's clock says up to which ticket of each other PE it
// knows the calls to be done, in each order (board.hpp). The clock is published in versions: a
// write carries the version that its PE had, and whoever sees the write by a wait, a fetch or a
// small get takes that version over.
#include "races/checker.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "races/board.hpp"
#include "races/call.hpp"
#include "races/report.hpp"
#include "races/rules.hpp"
#include "races/shadow.hpp"
#include "tracing/teams.hpp"

namespace meshmem::races {
namespace {

using tracing::Kind;

// Symmetric memory that begins `offset` bytes from the first of the shadow.
struct Range {
  std::size_t offset, bytes;
};

struct Fetch {
  int pe;
  Range range;
};

struct Checker {
  std::mutex mutex;
  TraceJob job;
  Board board;
  bool is_open = false;
  std::vector<std::uint32_t> numbers;
  std::uint32_t ticket = 0, version = 0;
  bool is_published = false;
  std::map<std::uint64_t, std::uint32_t> collectives;  // of each team
  std::vector<Fetch> fetches;                          // under way, until quiet

  Clock clock() { return Clock(numbers); }
};
Checker checker;

// ---- Addresses

// The static data follow the heap in the shadow, at the same place within a cell.
std::size_t begin_of_statics() {
  const std::size_t heap = (checker.job.heap.bytes + Cell::kBytes - 1) / Cell::kBytes;
  return heap * Cell::kBytes + checker.job.statics.base % Cell::kBytes;
}

std::optional<Range> symmetric(std::uint64_t address, std::size_t bytes) {
  const auto in = [address](const TraceRange& range) {
    return range.base <= address && address - range.base < range.bytes;
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

void raise(std::uint32_t& known, std::uint32_t ticket) {
  if (known >= ticket) return;
  known = ticket;
  checker.is_published = false;
}

// The version that others may take over from now on.
void publish() {
  if (checker.is_published) return;
  PeBoard& mine = checker.board.of(checker.job.pe);
  const Held held(mine.mutex);
  ++checker.version;
  const auto clock = checker.board.clock(checker.job.pe, checker.version);
  std::copy(checker.numbers.begin(), checker.numbers.end(), clock.begin());
  mine.version = checker.version;
  checker.is_published = true;
}

void complete(Order last) {
  for (unsigned order = 1; order <= static_cast<unsigned>(last); ++order)
    raise(checker.clock().of(checker.job.pe, static_cast<Order>(order)), checker.ticket);
}

// One that is no longer there stands for all up to the newest.
void take_version(int pe, std::uint32_t version) {
  const PeBoard& theirs = checker.board.of(pe);
  if (theirs.version - version >= PeBoard::kVersions) version = theirs.version;
  const auto clock = checker.board.clock(pe, version);
  for (std::size_t i = 0; i < clock.size(); ++i)
    if (i / kOrders != static_cast<std::size_t>(checker.job.pe))
      raise(checker.numbers[i], clock[i]);
}

// What the writer knew, and what it had done by then.
void learn_from(const Access& write) {
  const Held held(checker.board.of(write.pe).mutex);
  take_version(write.pe, write.version);
  raise(checker.clock().of(write.pe, Order::program), write.ticket);
  if (write.how() == Order::signaled)
    raise(checker.clock().of(write.pe, Order::signaled), write.ticket);
}

// Of a PE that has told us something, nobody knows when.
void learn_all_of(int pe) {
  PeBoard& theirs = checker.board.of(pe);
  const Held held(theirs.mutex);
  take_version(pe, theirs.version);
  for (unsigned order = 0; order < kOrders; ++order)
    raise(checker.clock().of(pe, static_cast<Order>(order)), theirs.ticket);
}

void learn_from_all() {
  for (int pe = 0; pe < checker.job.n_pes; ++pe)
    if (pe != checker.job.pe) learn_all_of(pe);
}

// This PE has seen what is in the range.
enum class Unknown { nobody, anybody };
void see(int pe, const Range& range, Unknown writer) {
  std::vector<Access> writes;
  bool is_known = false;
  {
    const Held held(checker.board.of(pe).mutex);
    is_known = see_writes(checker.board.shadow(pe), range.offset, range.bytes, checker.job.pe,
                          [&](const Access& write) { writes.push_back(write); });
  }
  const bool was_published = std::exchange(checker.is_published, true);
  for (const Access& write : writes) learn_from(write);
  const bool has_learned = !checker.is_published;
  checker.is_published = was_published && checker.is_published;
  const bool has_unseen = checker.board.head().has_unseen && !has_learned;
  if (has_unseen || (!is_known && (writer == Unknown::anybody || !writes.empty())))
    learn_from_all();
}

// ---- Accesses

struct What {
  bool writes;
  Order order = Order::program;
  Manner manner = Manner::plain;
};

void tell(const Range& range, int pe, const Access& here, const Access& before) {
  const bool has_returned = before.pe != here.pe && before.how() != Order::program &&
                            before.ticket <= checker.clock().of(before.pe, Order::program);
  const std::string text =
      text_of(checker.board,
              {.place = fmt::format("{} bytes at {} of PE {}", range.bytes, name_of(range), pe),
               .here = here,
               .before = before,
               .has_returned = has_returned});
  if (!text.empty()) checker.job.print_line(text);
}

void access(const Call& call, int pe, std::uint64_t address, std::size_t bytes, const What& what) {
  if (bytes == 0 || pe < 0 || pe >= checker.job.n_pes) return;
  const std::optional<Range> range = symmetric(address, bytes);
  if (!range) return;
  publish();
  Access mine{};
  mine.ticket = checker.ticket;
  mine.version = checker.version;
  mine.site = site_of(checker.board, checker.job.pe, call);
  mine.pe = static_cast<std::uint16_t>(checker.job.pe);
  mine.order = static_cast<std::uint8_t>(what.order);
  mine.manner = static_cast<std::uint8_t>(what.manner);
  mine.writes = what.writes;
  std::optional<Access> race;
  {
    const Held held(checker.board.of(pe).mutex);
    race = add_access(checker.board.shadow(pe), range->offset, bytes, mine, checker.clock());
  }
  if (race) tell(*range, pe, mine, *race);
}

// Blocks of elements, or elements that are apart.
void access_elements(const Call& call, int pe, std::uint64_t address, std::int64_t stride,
                     const What& what) {
  const std::size_t element = call.what().element_bytes;
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

void see_symmetric(int pe, std::uint64_t address, std::size_t bytes, Unknown writer) {
  if (bytes == 0 || pe < 0 || pe >= checker.job.n_pes) return;
  if (const std::optional<Range> range = symmetric(address, bytes)) see(pe, *range, writer);
}

void begin_put(const Call& call, const Rule& rule) {
  const int me = checker.job.pe;
  const bool has_signal = rule.kind == Kind::put_signal;
  const Order order = has_signal ? Order::signaled : Order::put;
  access_elements(
      call, me, call.source, call.source_stride,
      {.writes = false, .order = rule.is_nonblocking ? Order::pending : Order::program});
  access_elements(call, call.pe, call.dest, call.dest_stride, {.writes = true, .order = order});
  if (has_signal)
    access(call, call.pe, call.signal_address, sizeof(std::uint64_t),
           {.writes = true, .order = order, .manner = Manner::atomic});
}

void begin_get(const Call& call, const Rule& rule) {
  const Order order = rule.is_nonblocking ? Order::pending : Order::program;
  access_elements(call, call.pe, call.source, call.source_stride,
                  {.writes = false, .order = order});
  access_elements(call, checker.job.pe, call.dest, call.dest_stride,
                  {.writes = true, .order = order});
}

// Others than the caller's own result.
void begin_atomic(const Call& call, const Rule& rule) {
  const std::size_t bytes = call.what().element_bytes;
  const bool is_done = rule.fetches && !rule.is_nonblocking;
  if (rule.kind != Kind::fetch)
    access(call, call.pe, call.dest, bytes,
           {.writes = true,
            .order = is_done ? Order::program : Order::put,
            .manner = rule.is_plain ? Manner::plain : Manner::atomic});
  if (rule.is_nonblocking)
    access(call, checker.job.pe, call.fetch, bytes, {.writes = true, .order = Order::pending});
}

// What a fetch or a small get has brought, now or at quiet.
void end_fetch(const Call& call, const Rule& rule) {
  const std::size_t bytes = call.elements * call.what().element_bytes;
  const std::uint64_t address = call.source ? call.source : call.dest;
  if (bytes > sizeof(std::uint64_t) || call.source_stride != 0) return;
  see_symmetric(call.pe, address, bytes, Unknown::nobody);
  if (!rule.is_nonblocking) return;
  if (const std::optional<Range> range = symmetric(address, bytes))
    checker.fetches.push_back({call.pe, *range});
}

void end_fetches() {
  for (const Fetch& fetch : std::exchange(checker.fetches, {}))
    if (fetch.pe >= 0 && fetch.pe < checker.job.n_pes) see(fetch.pe, fetch.range, Unknown::nobody);
}

// ---- Collectives

std::vector<int> members_of(const Call& call, const Rule& rule) {
  std::vector<int> members;
  const bool is_of_all = rule.kind == Kind::allocation || call.team_key == tracing::kWorldKey;
  if (call.size > 0 || is_of_all) {
    const int n = call.size > 0 ? call.size : checker.job.n_pes;
    for (int i = 0; i < n; ++i) members.push_back(call.start + i * (1 << call.log_stride));
  } else if (call.team != SHMEM_TEAM_INVALID) {
    members = tracing::members_of(call.team);
  }
  return members;
}

void begin_collective(Call& call, const Rule& rule) {
  call.members = members_of(call, rule);
  const std::vector<int>& members = call.members;
  if (members.empty()) return;
  const bool is_root = rule.kind != Kind::broadcast ||
                       (call.pe >= 0 && static_cast<std::size_t>(call.pe) < members.size() &&
                        members[static_cast<std::size_t>(call.pe)] == checker.job.pe);
  if (call.source && is_root && !rule.has_counts) {
    Call read = call;
    if (rule.has_source_of_all) read.elements *= members.size();
    access_elements(read, checker.job.pe, call.source, call.source_stride, {.writes = false});
  }
  publish();
  call.number_in_team = ++checker.collectives[call.team_key];
  PeBoard& mine = checker.board.of(checker.job.pe);
  const Held held(mine.mutex);
  mine.entries[mine.n_entries++ % PeBoard::kEntries] = {call.team_key, call.number_in_team,
                                                        checker.version, checker.ticket};
}

// What the member had done before it called.
void learn_from_member(int pe, const Call& call) {
  {
    PeBoard& theirs = checker.board.of(pe);
    const Held held(theirs.mutex);
    for (const Entry& entry : theirs.entries) {
      if (entry.team != call.team_key || entry.number != call.number_in_team) continue;
      take_version(pe, entry.version);
      raise(checker.clock().of(pe, Order::program), entry.ticket);
      return;
    }
  }
  learn_all_of(pe);
}

void end_collective(const Call& call, const Rule& rule) {
  const std::vector<int>& members = call.members;
  const int me = checker.job.pe;
  for (std::size_t i = 0; i < members.size(); ++i) {
    const bool is_heard = rule.kind != Kind::broadcast || static_cast<int>(i) == call.pe;
    if (members[i] != me && members[i] >= 0 && members[i] < checker.job.n_pes && is_heard)
      learn_from_member(members[i], call);
  }
  const bool is_left = rule.leaves_root && call.pe >= 0 &&
                       static_cast<std::size_t>(call.pe) < members.size() &&
                       members[static_cast<std::size_t>(call.pe)] == me;
  if (!call.source || is_left || rule.has_counts) return;
  ++checker.ticket;
  checker.board.of(me).ticket = checker.ticket;
  Call written = call;
  if (rule.has_dest_of_all) written.elements *= members.size();
  access_elements(written, me, call.dest, call.dest_stride, {.writes = true});
}

// ---- Waits, locks and the rest

bool has_succeeded(const Call& call) {
  if (!call.what().tests && call.op.find("_some") == call.op.npos &&
      call.op.find("_any") == call.op.npos)
    return true;
  const auto none = call.op.find("_any") != call.op.npos ? SIZE_MAX : std::size_t{0};
  return call.result != none;
}

void end_wait(const Call& call) {
  if (!has_succeeded(call)) return;
  const std::size_t bytes =
      call.signal_address ? sizeof(std::uint64_t) : call.elements * call.what().element_bytes;
  const std::uint64_t address = call.signal_address ? call.signal_address : call.variables;
  see_symmetric(checker.job.pe, address, bytes, Unknown::anybody);
}

// A lock tells what its last holder has done. It does so in PE 0's shadow.
void begin_unlock(const Call& call) {
  access(call, 0, call.lock, sizeof(long), {.writes = true, .manner = Manner::sync});
}
void end_lock(const Call& call) {
  if (call.op == "test_lock" && call.result != 0) return;
  see_symmetric(0, call.lock, sizeof(long), Unknown::nobody);
}

bool is_collective(Kind kind) {
  return kind == Kind::collective || kind == Kind::broadcast || kind == Kind::meeting ||
         kind == Kind::allocation;
}

void begin_known(Call& call, const Rule& rule) {
  if (rule.completes || rule.kind == Kind::unlock) complete(Order::pending);
  if (rule.orders) complete(Order::signaled);
  if (is_collective(rule.kind)) return begin_collective(call, rule);
  switch (rule.kind) {
    case Kind::put:
    case Kind::put_signal:
      return begin_put(call, rule);
    case Kind::get:
      return begin_get(call, rule);
    case Kind::set:
    case Kind::update:
    case Kind::fetch:
      return begin_atomic(call, rule);
    case Kind::signal:
      return access(call, call.pe, call.signal_address, sizeof(std::uint64_t),
                    {.writes = true, .order = Order::put, .manner = Manner::atomic});
    case Kind::unlock:
      return begin_unlock(call);
    default:
      return;
  }
}

void end_known(const Call& call, const Rule& rule) {
  if (rule.completes) end_fetches();
  if (is_collective(rule.kind)) return end_collective(call, rule);
  if (rule.kind == Kind::wait || rule.kind == Kind::wait_many || call.op == "signal_fetch")
    return end_wait(call);
  if (rule.kind == Kind::get || rule.fetches) return end_fetch(call, rule);
  if (rule.kind == Kind::lock) return end_lock(call);
  if ((call.op == "ptr" || call.op == "team_ptr") && call.result != 0 && call.pe != checker.job.pe)
    checker.board.head().has_unseen = true;
}

}  // namespace

void begin(Call& call) {
  const std::lock_guard lock(checker.mutex);
  if (!checker.is_open) return;
  if (call.what().on_stream) {
    checker.board.head().has_unseen = true;
    return;
  }
  ++checker.ticket;
  checker.board.of(checker.job.pe).ticket = checker.ticket;
  begin_known(call, rule_of(call));
}

void end(Call& call) {
  const std::lock_guard lock(checker.mutex);
  if (checker.is_open && !call.what().on_stream) end_known(call, rule_of(call));
}

std::string open_checker(const TraceJob& job) {
  const std::lock_guard lock(checker.mutex);
  checker.job = job;
  if (std::string error = checker.board.open(job); !error.empty()) return error;
  checker.numbers.assign(static_cast<std::size_t>(job.n_pes) * kOrders, 0);
  checker.ticket = checker.version = 0;
  checker.is_published = false;
  checker.collectives.clear();
  checker.fetches.clear();
  forget_sites();
  checker.is_open = true;
  return {};
}

unsigned close_checker() {
  const std::lock_guard lock(checker.mutex);
  if (!checker.is_open) return 0;
  checker.is_open = false;
  const unsigned races = checker.board.head().n_races;
  checker.board.close();
  return races;
}

}  // namespace meshmem::races
