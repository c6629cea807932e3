// SPDX-License-Identifier: Apache-2.0
//
// For each kind of routine: its accesses, which are noted when it begins, and the values that it
// has seen, from which the PE learns when it ends.
// Invariant: an access is noted before it happens. The PE learns from a value after it was seen.
#include "tools/races/checker.hpp"

#include <pshmem.h>

#include <algorithm>
#include <bit>
#include <optional>
#include <utility>

#include "tools/interpose/teams.hpp"
#include "tools/races/accesses.hpp"
#include "tools/races/buffers.hpp"
#include "tools/races/call.hpp"
#include "tools/races/collectives.hpp"
#include "tools/races/noted.hpp"
#include "tools/races/program.hpp"
#include "tools/races/report.hpp"
#include "tools/races/rules.hpp"
#include "tools/races/state.hpp"
#include "tools/races/strands.hpp"
#include "tools/races/users.hpp"

namespace meshmem::races {
namespace {

using tracing::Kind;

std::optional<std::uint64_t> value_if(const Call& call, bool sets) {
  return sets ? std::optional(call.value) : std::nullopt;
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
           {.writes = true,
            .order = order,
            .manner = Manner::atomic,
            .value = value_if(call, call.signal_op == SHMEM_SIGNAL_SET)});
}

void begin_get(const Call& call, const Rule& rule) {
  const Order order = rule.is_nonblocking ? Order::pending : Order::program;
  access_elements(call, call.pe, call.source, call.source_stride,
                  {.writes = false, .order = order});
  access_elements(call, checker.job.pe, call.dest, call.dest_stride,
                  {.writes = true, .order = order});
}

// Two atomics are atomic with each other only if their types are the same. Types that differ only
// in name or sign count as one.
unsigned type_of_atomic(const tracing::Routine& routine) {
  const auto log_bytes = static_cast<unsigned>(std::countr_zero(unsigned{routine.element_bytes}));
  return (1 + log_bytes) << 1 | unsigned{routine.is_float};
}

// Atomics on contexts are atomic with each other only if their contexts have the same team. The
// default context's team is the world team.
unsigned domain_of(const Call& call) {
  const auto context = reinterpret_cast<shmem_ctx_t>(call.context);
  shmem_team_t team = SHMEM_TEAM_WORLD;
  if (context != SHMEM_CTX_DEFAULT && context != SHMEM_CTX_INVALID)
    pshmem_ctx_get_team(context, &team);
  return team == SHMEM_TEAM_WORLD ? 1 : static_cast<unsigned>(2 + tracing::key_of(team) % 14);
}

What access_of_atomic(const Call& call, const Rule& rule) {
  const bool writes = rule.kind != Kind::fetch;
  const bool is_done = rule.fetches && !rule.is_nonblocking;
  const Order under_way = writes ? Order::put : Order::pending;
  return {.writes = writes,
          .order = is_done ? Order::program : under_way,
          .manner = rule.is_plain ? Manner::plain : Manner::atomic,
          .type = type_of_atomic(call.what()),
          .domain = domain_of(call),
          .value = value_if(call, rule.kind == Kind::set && !rule.is_plain),
          .may_fail = rule.compares};
}

// The access to the target PE's variable and, if nonblocking, to the caller's result.
void begin_atomic(const Call& call, const Rule& rule) {
  const std::size_t bytes = call.what().element_bytes;
  const What what = access_of_atomic(call, rule);
  access(call, call.pe, what.writes ? call.dest : call.source, bytes, what);
  if (rule.is_nonblocking)
    access(call, checker.job.pe, call.fetch, bytes, {.writes = true, .order = Order::pending});
}

bool has_found_condition(const Call& call) {
  const unsigned bits = 8 * unsigned{call.what().element_bytes};
  return (call.result ^ call.condition) << (64 - bits) == 0;
}

// Handles the data that a fetch or a small get has brought, now or at quiet.
void end_fetch(const Call& call, const Rule& rule) {
  const std::size_t bytes = call.elements * call.what().element_bytes;
  const std::uint64_t address = call.source ? call.source : call.dest;
  if (bytes > sizeof(std::uint64_t) || call.source_stride != 0) return;
  see_symmetric(call.pe, address, bytes, Unknown::nobody);
  if (!rule.is_nonblocking) return;
  if (const std::optional<Range> range = symmetric(address, bytes))
    checker.fetches.push_back({call.pe, *range, call.context});
}

// True if the call completes or orders only what was given to its own context.
bool is_of_context(const Call& call, const Rule& rule) {
  return rule.kind == Kind::order || call.op == "ctx_destroy";
}

void end_fetches(const Call& call, const Rule& rule) {
  const bool is_of_one = is_of_context(call, rule);
  const auto rest = std::stable_partition(
      checker.fetches.begin(), checker.fetches.end(),
      [&](const Fetch& fetch) { return is_of_one && fetch.context != call.context; });
  const std::vector<Fetch> done(rest, checker.fetches.end());
  checker.fetches.erase(rest, checker.fetches.end());
  for (const Fetch& fetch : done)
    if (fetch.pe >= 0 && fetch.pe < checker.job.n_pes) see(fetch.pe, fetch.range, Unknown::nobody);
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

bool gives_work(Kind kind) { return kind >= Kind::put && kind <= Kind::fetch; }

// Completes or orders work from before: that of the call's context, or all. Contexts without a
// number of their own are one, so the last call on this one stands for all of them.
void complete_before(const Call& call, const Rule& rule, Order last) {
  if (!is_of_context(call, rule)) return complete(last, checker.last_call);
  const auto found = checker.contexts.find(call.context);
  if (found != checker.contexts.end())
    complete_context(found->second.number, last, found->second.last_call);
}

void begin_known(Call& call, const Rule& rule) {
  if (rule.completes || rule.kind == Kind::unlock) {
    complete_before(call, rule, Order::pending);
    forget_done_buffers();
  }
  if (rule.orders) complete_before(call, rule, Order::signaled);
  if (call.op == "ctx_destroy") checker.contexts.erase(call.context);
  if (call.op == "team_destroy")
    std::erase_if(checker.contexts, [&](const auto& one) { return one.second.team == call.team; });
  checker.context = gives_work(rule.kind) ? number_of_context(call.context) : 0;
  if (gives_work(rule.kind)) checker.contexts[call.context].last_call = self().call_number;
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
                    {.writes = true,
                     .order = Order::put,
                     .manner = Manner::atomic,
                     .value = value_if(call, call.op.ends_with("set"))});
    case Kind::unlock:
      return begin_unlock(call);
    default:
      return;
  }
}

// The checker sees neither when the work on the stream happens nor when the program waits for it.
// So all that comes later may be ordered behind all that was before.
void begin_on_stream(const Rule& rule) {
  for (const bool orders : {false, true}) checker.boards.note_unseen(orders);
  take_call_number();
  if (rule.completes) complete(Order::pending, checker.last_call);
}

void end_known(const Call& call, const Rule& rule) {
  if (rule.completes) end_fetches(call, rule);
  if (is_collective(rule.kind)) return end_collective(call, rule);
  if (rule.kind == Kind::wait || rule.kind == Kind::wait_many || call.op == "signal_fetch")
    return end_wait(call);
  if (rule.compares) end_swap(call, access_of_atomic(call, rule), has_found_condition(call));
  if (rule.kind == Kind::get || rule.fetches) return end_fetch(call, rule);
  if (rule.kind == Kind::lock) return end_lock(call);
  const bool is_pointer = call.op == "ptr" || call.op == "team_ptr";
  if (is_pointer && call.result != 0 && call.pe != checker.job.pe && !checker.sees_program)
    checker.boards.note_unseen(checker.job.polls);
}

}  // namespace

void begin(Call& call) {
  acquire_what_is_due();
  enter_routine();
  const Entered entered;
  if (!checker.is_open) return;
  begin_use(call);
  if (call.what().on_stream) return begin_on_stream(rule_of(call));
  see_watched();
  take_call_number();
  if (checker.boards.head().orders_unseen) learn_from_all();
  if (checker.job.polls) learn_what_was_told();
  begin_known(call, rule_of(call));
}

void end(Call& call) {
  const Entered entered;
  if (checker.is_open) end_use(call);
  if (checker.is_open && !call.what().on_stream) end_known(call, rule_of(call));
  leave_routine();
}

std::string open_checker(const TraceJob& job) {
  const Entered entered;
  checker.job = job;
  if (std::string error = checker.boards.open(job); !error.empty()) return error;
  checker.last_call = 0;
  checker.collectives.clear();
  checker.set_words = {};
  checker.fetches.clear();
  checker.contexts.clear();
  checker.n_contexts = 1;
  checker.context = 0;
  forget_buffers();
  forget_sites();
  forget_users(job.thread_level);
  forget_strands();
  forget_all_noted();
  checker.sees_program = watch_program();
  if (job.has_kernels) checker.boards.note_unseen(true);
  pshmem_barrier_all();
  checker.is_open = true;
  return {};
}

void leave_checker() {
  checker.is_open = false;
  leave_program();
  noted_here = nullptr;
}

std::string close_checker() {
  const Entered entered;
  if (!checker.is_open) return "";
  checker.is_open = false;
  leave_program();
  std::string races = checker.job.pe == 0 ? text_of_count(checker.boards.head()) : "";
  checker.boards.close();
  return races;
}

}  // namespace meshmem::races
