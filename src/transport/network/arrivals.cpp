// SPDX-License-Identifier: Apache-2.0
//
// Executes arrived records: they access memory, cause answers, or go to the mailbox.
// Invariant: a parcel counts as executed after all its records have been executed.
#include "transport/network/arrivals.hpp"

#include <array>
#include <cstring>

#include "base/error.hpp"
#include "base/status/far_pes.hpp"

namespace meshmem::network {
namespace {

const char* name_of(RecordKind kind) {
  constexpr const char* kNames[] = {"nothing",    "hello",   "bye",    "put",
                                    "put_signal", "atomic",  "fetch",  "get",
                                    "answer",     "message", "credit", "question"};
  return kind > kLastKind ? "a record of unknown kind" : kNames[static_cast<std::size_t>(kind)];
}

}  // namespace

bool Arrivals::accepts_introduction(const std::byte* head_at, std::size_t head_bytes) {
  Head head{};
  if (head_bytes != sizeof head) return false;
  std::memcpy(&head, head_at, sizeof head);
  return is_of_job(head) && is_hello(head);
}

Arrivals::Arrivals(NetworkState& state) : state_(state) {
  state_.held.use([this](Flow& from, const Record& record, const std::byte* data) {
    execute_now(from, record, data);
  });
}

void Arrivals::handle_message(int sender, const std::byte* head_at, std::size_t head_bytes,
                              const std::byte* body, std::size_t body_bytes) {
  Head head{};
  const bool is_whole = head_bytes == sizeof head;
  if (is_whole) std::memcpy(&head, head_at, sizeof head);
  Flow* const from = is_whole ? find_sender(sender, head) : nullptr;
  if (!from) {
    state_.refused.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  const Record& lone = head.lone;
  from->has_said_bye = lone.kind == RecordKind::bye && lone.first == state_.opening;
  if (!from->note_acknowledged(head.acknowledged)) refuse(*from, lone);
  if (lone.kind == RecordKind::none) {
    execute_all(*from, body, body_bytes);
  } else {
    if (data_bytes(lone) != body_bytes) refuse(*from, lone);
    execute(*from, lone, body);
  }
  if (from->has_answers()) from->send_open();
  if (state_.held.holds(*from)) return state_.held.end_parcel(*from, head.flags);
  if (head.flags & kCounted) from->note_executed();
  if (from->expects_answer()) {
    state_.expects_answer = true;
  } else if (head.flags & kAsks) {
    from->acknowledge();
  }
}

void Arrivals::handle_loss(int peer, const std::string& why, bool was_silent) {
  const auto& pes = state_.outlet.pe_of_peer;
  if (state_.is_ending || static_cast<std::size_t>(peer) >= pes.size()) return;
  const int pe = pes[static_cast<std::size_t>(peer)];
  const Flow* const flow = state_.find_flow(pe);
  if (!flow || flow->has_said_bye) return;
  state_.note_loss(pe, why, was_silent);
}

bool Arrivals::is_of_job(const Head& head) const {
  const NetworkPlan& plan = state_.plan;
  return head.token == plan.token[0] && head.version == kFormatVersion &&
         head.source < static_cast<std::uint32_t>(plan.n_pes) &&
         head.source != static_cast<std::uint32_t>(plan.me);
}

bool Arrivals::is_hello(const Head& head) const {
  return head.lone.kind == RecordKind::hello && head.lone.first == state_.plan.token[1];
}

Flow* Arrivals::find_sender(int sender, const Head& head) {
  if (!is_of_job(head)) return nullptr;
  if (is_hello(head)) greet_back(sender, head);
  Flow* const flow = state_.find_flow(static_cast<int>(head.source));
  return flow && flow->has_introduced_itself ? flow : nullptr;
}

// Notes that the sender has introduced itself. From now on messages to it go to peer `sender`,
// unless this process has a peer number for it already.
void Arrivals::greet_back(int sender, const Head& head) {
  const int pe = static_cast<int>(head.source);
  Flow& flow = state_.flow_to(pe);
  flow.has_introduced_itself = true;
  if (sender < 0) return;
  state_.outlet.note_peer(sender, pe);
  if (flow.peer() < 0) flow.use_peer(sender);
}

void Arrivals::execute_all(Flow& from, const std::byte* body, std::size_t bytes) {
  RecordReader records(body, bytes);
  while (records.next()) {
    const RecordKind kind = records.record().kind;
    const bool stands_alone = kind == RecordKind::hello || kind == RecordKind::bye;
    if (kind == RecordKind::none || stands_alone) refuse(from, records.record());
    execute(from, records.record(), records.data());
  }
  if (!records.is_at_end()) refuse(from, records.record());
}

void Arrivals::execute(Flow& from, const Record& record, const std::byte* data) {
  if (has_to_be_held(from, record)) [[unlikely]]
    return hold(from, record, data);
  execute_now(from, record, data);
}

bool Arrivals::has_to_be_held(const Flow& from, const Record& record) const {
  return touches_memory(record.kind) && (is_for_device(record) || state_.held.holds(from));
}

// Holds the data and the signal of a put_signal as two records.
void Arrivals::hold(Flow& from, const Record& record, const std::byte* data) {
  if (record.kind != RecordKind::put_signal) return hold_one(from, record, data);
  Record put = record;
  put.kind = RecordKind::put;
  if (put.bytes > 0) hold_one(from, put, data);
  hold_one(from, signal_of(record), nullptr);
}

void Arrivals::hold_one(Flow& from, const Record& record, const std::byte* data) {
  const bool on_device = is_on_device(record.segment);
  const bool has_bytes = record.kind == RecordKind::put || record.kind == RecordKind::get;
  const std::uint64_t bytes = has_bytes ? record.bytes : record.width;
  const LocalSegments& segments = state_.segments;
  std::byte* const there =
      on_device ? segments.find_on_device(record, bytes) : segments.find(record, bytes);
  if (!there || (has_bytes ? bytes > kDeviceChunkBytes : !atomic_of(record))) refuse(from, record);
  state_.held.add(from, record, data, on_device ? there : nullptr);
}

void Arrivals::execute_now(Flow& from, const Record& record, const std::byte* data) {
  const LocalSegments& segments = state_.segments;
  std::uint64_t before = 0;
  switch (record.kind) {
    case RecordKind::put:
      if (!segments.put(record, data)) refuse(from, record);
      return;
    case RecordKind::put_signal:
      if (!segments.put_signal(record, data)) refuse(from, record);
      if (state_.takes_in_for_kernels) from.note_signal();
      return;
    case RecordKind::atomic:
      if (!segments.execute_atomic(record, &before)) refuse(from, record);
      return;
    case RecordKind::fetch:
      return answer_fetch(from, record);
    case RecordKind::get:
      return answer_get(from, record);
    case RecordKind::reply:
      return take_answer(from, record, data);
    case RecordKind::message:
      return take_message(from, record, data);
    case RecordKind::credit:
      return take_credit(from, record);
    case RecordKind::question:
      return answer_question(from, record, data);
    case RecordKind::none:
    case RecordKind::hello:
    case RecordKind::bye:
      return;
  }
  refuse(from, record);
}

void Arrivals::answer_fetch(Flow& from, const Record& record) {
  std::uint64_t before = 0;
  if (!state_.segments.execute_atomic(record, &before)) refuse(from, record);
  from.add_answer(record.bytes, &before, sizeof before);
}

// Sends long data straight from the segment.
void Arrivals::answer_get(Flow& from, const Record& record) {
  const std::byte* const there = state_.segments.find(record, record.bytes);
  if (!there || record.bytes > chunk_bytes_of(record)) refuse(from, record);
  if (record.bytes > kMostCombined) {
    from.send_lone({.kind = RecordKind::reply, .bytes = record.bytes, .first = record.first}, there,
                   nullptr);
    return;
  }
  std::array<std::byte, kMostCombined> data;
  load_bytes(data.data(), there, record.bytes);
  from.add_answer(record.first, data.data(), record.bytes);
}

void Arrivals::answer_question(Flow& from, const Record& record, const std::byte* data) {
  std::array<std::byte, kMostOfAnswer> answer{};
  const AnswerQuestion answer_with = state_.answer_with.load(std::memory_order_acquire);
  if (record.second > answer.size()) refuse(from, record);
  const bool is_answered =
      record.index == static_cast<std::uint32_t>(Asker::wait)
          ? answer_for_waits(data, record.bytes, answer.data(), record.second)
          : answer_with && answer_with(data, record.bytes, answer.data(), record.second);
  if (!is_answered) refuse(from, record);
  from.add_answer(record.first, answer.data(), record.second);
}

void Arrivals::take_answer(Flow& from, const Record& record, const std::byte* data) {
  if (!state_.requests.answer(record.first, from.pe(), data, record.bytes)) refuse(from, record);
  if (state_.requests.asks(record.first) == Asks::for_memory) {
    from.note_answered(record.bytes);
  } else {
    from.send_open();
  }
}

void Arrivals::take_message(Flow& from, const Record& record, const std::byte* data) {
  const MessageKey key{static_cast<int>(record.index), record.first,
                       static_cast<int>(record.offset)};
  if (!state_.mailbox.deliver(from.pe(), key, {record.second, data, record.bytes}))
    refuse(from, record);
}

void Arrivals::take_credit(Flow& from, const Record& record) {
  Allowance& allowance = from.allowance(static_cast<int>(record.index));
  if (record.first > allowance.sent || record.first < allowance.confirmed) refuse(from, record);
  allowance.confirmed = record.first;
}

void Arrivals::refuse(const Flow& from, const Record& record) const {
  fatal(
      "{} has sent an invalid message: {} of {} bytes at offset {} of segment {}, of the PE with "
      "local number {}",
      state_.plan.name_of(from.pe()), name_of(record.kind), record.bytes, record.offset,
      record.segment, record.index);
}

}  // namespace meshmem::network
