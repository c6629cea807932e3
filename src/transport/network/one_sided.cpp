// SPDX-License-Identifier: Apache-2.0
//
// Makes records of puts, gets, signals, atomics and questions. Invariant: an operation is in its
// flow before pending_work counts it as issued, so a quiet that sees the count also finds the
// operation.
#include "base/waiting/pending_work.hpp"
#include "base/waiting/schedule_fuzzing.hpp"
#include "transport/network/network_transport.hpp"
#include "transport/network/state.hpp"

namespace meshmem {

using network::Flow;
using network::kMostCombined;
using network::Record;
using network::RecordKind;
using network::SendPolicy;

// Does not hold data of a flag's length for a following put, since a PE may wait for it.
void NetworkTransport::put(const RemotePlace& dest, const void* source, std::size_t bytes) {
  NetworkState& state = *state_;
  constexpr std::size_t kFlagBytes = 8;
  fuzz_schedule();
  {
    Lock lock(state.mutex);
    Flow& flow = state.server_flow(dest.pe);
    state.send(lock, flow, state.record_for(RecordKind::put, dest, bytes), source,
               bytes > kFlagBytes ? SendPolicy::when_followed : SendPolicy::when_few_are_under_way);
  }
  pending_work.count_issued();
}

void NetworkTransport::put_nbi(const RemotePlace& dest, const void* source, std::size_t bytes) {
  if (bytes <= kMostCombined) return put(dest, source, bytes);
  NetworkState& state = *state_;
  fuzz_schedule();
  {
    Lock lock(state.mutex);
    Flow& flow = state.server_flow(dest.pe);
    state.send_chunks(lock, flow, state.record_for(RecordKind::put, dest, bytes), source,
                      flow.lent());
  }
  pending_work.count_issued();
}

void NetworkTransport::put_signal(const RemotePlace& dest, const void* source, std::size_t bytes,
                                  const SignalUpdate& signal) {
  NetworkState& state = *state_;
  fuzz_schedule();
  {
    Lock lock(state.mutex);
    Flow& flow = state.server_flow(dest.pe);
    Record record = state.record_for(RecordKind::put_signal, dest, bytes);
    record.op = static_cast<std::uint8_t>(signal.op);
    record.width = static_cast<std::uint8_t>(signal.segment);
    record.first = signal.offset;
    record.second = signal.value;
    state.send(lock, flow, record, source, SendPolicy::when_few_are_under_way);
  }
  pending_work.count_issued();
}

// The next record of each flow that touches memory carries follows_fence. Only device memory needs
// it: records for host memory are executed in the order of their arrival.
void NetworkTransport::order() { state_->outlet.fences.fetch_add(1, std::memory_order_relaxed); }

void NetworkTransport::get(void* dest, const RemotePlace& source, std::size_t bytes) {
  NetworkState& state = *state_;
  fuzz_schedule();
  Lock lock(state.mutex);
  Flow& flow = state.server_flow(source.pe);
  std::atomic<std::size_t> missing{0};
  state.request(lock, flow, source, dest, bytes, &missing);
  state.wait_for(lock, flow, missing);
}

void NetworkTransport::get_nbi(void* dest, const RemotePlace& source, std::size_t bytes) {
  NetworkState& state = *state_;
  fuzz_schedule();
  {
    Lock lock(state.mutex);
    state.request(lock, state.server_flow(source.pe), source, dest, bytes, nullptr);
  }
  pending_work.count_issued();
}

namespace {

Record record_of(const NetworkState& state, const RemotePlace& dest, const AtomicRequest& request) {
  const auto kind = request.fetches ? RecordKind::fetch : RecordKind::atomic;
  Record record = state.record_for(kind, dest, 0);
  record.op = static_cast<std::uint8_t>(request.op);
  record.width = static_cast<std::uint8_t>(request.bytes);
  record.first = request.operand;
  record.second = request.condition;
  return record;
}

}  // namespace

std::uint64_t NetworkTransport::atomic(const RemotePlace& dest, const AtomicRequest& request) {
  NetworkState& state = *state_;
  fuzz_schedule();
  const Record record = record_of(state, dest, request);
  std::uint64_t before = 0;
  Lock lock(state.mutex);
  Flow& flow = state.server_flow(dest.pe);
  if (request.fetches) {
    std::atomic<std::size_t> missing{0};
    state.fetch(lock, flow, record, &before, &missing);
    state.wait_for(lock, flow, missing);
  } else {
    state.send(lock, flow, record, nullptr, SendPolicy::when_few_are_under_way);
    lock.unlock();
    pending_work.count_issued();
  }
  return before;
}

void NetworkTransport::fetch_nbi(const RemotePlace& dest, const AtomicRequest& request,
                                 std::uint64_t* before) {
  NetworkState& state = *state_;
  fuzz_schedule();
  {
    Lock lock(state.mutex);
    state.fetch(lock, state.server_flow(dest.pe), record_of(state, dest, request), before, nullptr);
  }
  pending_work.count_issued();
}

// Registers the request before it sends the question, since the answer may come before send()
// returns.
void NetworkTransport::ask(int pe, const void* question, std::size_t bytes, void* answer,
                           std::size_t answer_bytes) {
  static_assert(kMostOfQuestion <= network::kChunkBytes && kMostOfAnswer <= kMostCombined);
  NetworkState& state = *state_;
  fuzz_schedule();
  Lock lock(state.mutex);
  state.will_poll();
  Flow& flow = state.server_flow(pe);
  std::atomic<std::size_t> missing{0};
  const Record record{.kind = RecordKind::question,
                      .bytes = bytes,
                      .first = state.requests.add(flow.pe(), answer, answer_bytes, &missing,
                                                  network::Asks::a_question),
                      .second = answer_bytes};
  state.send(lock, flow, record, question, SendPolicy::at_once);
  state.wait_for(lock, flow, missing);
}

void NetworkTransport::answer_with(AnswerQuestion answer) {
  state_->answer_with.store(answer, std::memory_order_release);
}

}  // namespace meshmem
