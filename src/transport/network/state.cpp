// SPDX-License-Identifier: Apache-2.0
//
// A PE's flows and the sending of records, the poll of threads that wait, and the end of the job
// after a loss. Invariant: a flow that has been made stays.
#include "transport/network/state.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <string_view>

#include "base/error.hpp"
#include "bootstrap/job.hpp"

namespace meshmem {

using network::Flow;
using network::kMostCombined;
using network::Record;
using network::RecordKind;
using network::SendPolicy;

namespace {

// Limits of a flow. A PE that has reached one waits before it sends more.
constexpr std::size_t kMostLeaving = 64;       // parcels that the wire has not sent
constexpr std::uint64_t kMostHeld = 32;        // unacknowledged parcels that may wait for a device
constexpr std::uint64_t kMostRequests = 1024;  // unanswered requests
constexpr std::uint64_t kMostRequestedBytes = 16 << 20;
// How long a PE that has lost another one lives on, so that the launcher can end the job, and so
// that other nodes notice a silent machine themselves.
constexpr auto kLauncherGrace = std::chrono::milliseconds(1500);    // Open MPI takes one second
constexpr auto kOtherNodesGrace = std::chrono::milliseconds(2500);  // TCP probes once a second
constexpr auto kNoGrace = std::chrono::milliseconds(0);
// The time from a signal's arrival to the command of the kernel that has waited for it. It takes
// three trips over PCIe: for the load that finds the signal, for the data, and for the command.
constexpr auto kKernelAnswerTime = std::chrono::microseconds(15);

bool may_ask_for(const Flow& flow, std::size_t bytes) {
  return flow.n_requested() - flow.n_answered() < kMostRequests &&
         (flow.bytes_requested() == 0 || flow.bytes_requested() + bytes <= kMostRequestedBytes);
}

}  // namespace

Flow* NetworkState::find_flow(int pe) const {
  const auto found = flow_of_pe.find(pe);
  return found == flow_of_pe.end() ? nullptr : found->second;
}

Flow& NetworkState::flow_to(int pe) {
  Flow*& flow = flow_of_pe[pe];
  if (!flow) flow = flows.emplace_back(std::make_unique<Flow>(outlet, pe)).get();
  return *flow;
}

Flow& NetworkState::server_flow(int pe) {
  const auto node = static_cast<std::size_t>(plan.node_of(pe));
  if (node >= flow_of_node.size()) flow_of_node.resize(node + 1, nullptr);
  Flow*& flow = flow_of_node[node];
  if (!flow) flow = &flow_to(plan.server_of(pe));
  return *flow;
}

bool NetworkState::take_in(const Lock&, Acknowledges when) {
  takes_in_for_kernels = when == Acknowledges::with_an_answer;
  expects_answer = false;
  acknowledge_if_answer_is_late();
  bool any = wire->progress();
  if (!losses.empty()) [[unlikely]]
    end_if_losses_are_known();
  if (!held.is_empty()) [[unlikely]]
    any = held.advance() || any;
  if (!any) {
    const bool waits = takes_in_for_kernels && answer_deadline != Time{};
    return !waits && outlet.acknowledge_all();
  }
  if (expects_answer && answer_deadline == Time{})
    answer_deadline = outlet.now() + kKernelAnswerTime;
  arrivals_of_waits.fetch_add(1, std::memory_order_relaxed);
  // This thread may never poll again, so the network's thread must acknowledge and answer for the
  // device. The wire may not wake it any more, since this thread has called progress().
  if (thread.sleeps_until_event()) [[unlikely]]
    thread.wake_soon();
  return true;
}

void NetworkState::acknowledge_if_answer_is_late() {
  if (answer_deadline == Time{}) return;
  const bool has_been_acknowledged = !outlet.has_to_acknowledge();
  if (!has_been_acknowledged && outlet.now() < answer_deadline) return;
  answer_deadline = {};
  if (has_been_acknowledged) return;
  outlet.note_unanswered();
  outlet.acknowledge_all();
}

void NetworkState::poll(const Lock& lock, Acknowledges when) {
  polled_at.store(Time::max(), std::memory_order_relaxed);
  outlet.send_open();
  take_in(lock, when);
  note_poll();
}

Record NetworkState::record_for(RecordKind kind, const RemotePlace& place,
                                std::size_t bytes) const {
  return {.kind = kind,
          .segment = static_cast<std::uint8_t>(place.segment),
          .index = static_cast<std::uint32_t>(plan.local_index_of(place.pe)),
          .offset = place.offset,
          .bytes = bytes};
}

bool NetworkState::has_room(Flow& flow) const {
  if (flow.n_leaving() >= kMostLeaving) return false;
  if (!flow.may_be_held() || flow.n_unacknowledged() < kMostHeld) [[likely]]
    return true;
  flow.ask();
  return false;
}

void NetworkState::wait_for_room(Lock& lock, Flow& flow) {
  wait(
      lock, [&] { return has_room(flow); },
      [&] { return plan.name_of(flow.pe()) + " to take in its messages"; });
}

void NetworkState::wait_for(Lock& lock, const Flow& flow, const std::atomic<std::size_t>& missing) {
  // Acquire: the stores of the answers' data, or the wire's reads of sent data, happen before this
  // function returns.
  const auto is_done = [&] { return missing.load(std::memory_order_acquire) == 0; };
  wait(lock, is_done, [&] { return "an answer from " + plan.name_of(flow.pe()); });
}

// All chunks of a message have the same offset, since its offset is the step.
void NetworkState::send_chunks(Lock& lock, Flow& flow, Record record, const void* data,
                               std::atomic<std::size_t>* under_way) {
  const auto* from = static_cast<const std::byte*>(data);
  const std::size_t all = record.bytes;
  const RecordKind last_kind = record.kind;
  const std::size_t chunk = network::chunk_bytes_of(record);
  for (std::size_t done = 0; done < all; done += chunk) {
    record.bytes = std::min(chunk, all - done);
    const bool is_last = done + record.bytes == all;
    if (last_kind == RecordKind::put_signal) record.kind = is_last ? last_kind : RecordKind::put;
    wait_for_room(lock, flow);
    if (network::is_for_device(record)) flow.note_for_device();
    flow.send_lone(record, from + done, under_way);
    if (last_kind != RecordKind::message) record.offset += record.bytes;
  }
}

void NetworkState::send(Lock& lock, Flow& flow, const Record& record, const void* data,
                        SendPolicy policy) {
  if (record.bytes <= kMostCombined) {
    wait_for_room(lock, flow);
    if (network::is_for_device(record)) flow.note_for_device();
    return flow.add(record, data, policy);
  }
  std::atomic<std::size_t> under_way{0};
  send_chunks(lock, flow, record, data, &under_way);
  wait_for(lock, flow, under_way);
}

// Sends all requests before it waits for an answer, up to the limit of unanswered requests.
void NetworkState::request(Lock& lock, Flow& flow, const RemotePlace& source, void* dest,
                           std::size_t bytes, std::atomic<std::size_t>* missing) {
  if (missing) will_poll();
  Record record = record_for(RecordKind::get, source, 0);
  auto* to = static_cast<std::byte*>(dest);
  const bool is_alone = !missing && bytes <= kMostCombined;
  const std::size_t chunk = network::chunk_bytes_of(record);
  for (std::size_t done = 0; done < bytes || done == 0; done += chunk) {
    record.bytes = std::min(chunk, bytes - done);
    record.offset = source.offset + done;
    wait_to_ask(lock, flow, record.bytes);
    record.first = requests.add(flow.pe(), to + done, record.bytes, missing);
    if (network::is_for_device(record)) flow.note_for_device();
    flow.add(record, nullptr, is_alone ? SendPolicy::when_few_are_under_way : SendPolicy::at_once);
    flow.note_requested(record.bytes);
  }
}

void NetworkState::fetch(Lock& lock, Flow& flow, Record record, std::uint64_t* before,
                         std::atomic<std::size_t>* missing) {
  if (missing) will_poll();
  wait_to_ask(lock, flow, sizeof *before);
  record.bytes = requests.add(flow.pe(), before, sizeof *before, missing);
  if (network::is_for_device(record)) flow.note_for_device();
  flow.add(record, nullptr, missing ? SendPolicy::at_once : SendPolicy::when_few_are_under_way);
  flow.note_requested(sizeof *before);
}

void NetworkState::wait_to_ask(Lock& lock, Flow& flow, std::size_t bytes) {
  wait_for_room(lock, flow);
  wait(
      lock, [&] { return may_ask_for(flow, bytes); },
      [&] { return "an answer from " + plan.name_of(flow.pe()); });
}

bool NetworkState::has_third_node() const {
  for (int pe = 0; pe < plan.n_pes; ++pe)
    if (plan.node_of(pe) > 1) return true;
  return false;
}

// If a connection has ended, this PE waits for the launcher, which knows better how the other
// process ended and ends the job with its status. If the other PE is silent, the launcher has had
// time already. With three machines or more, this PE then stays until the others have noticed the
// silence too. Otherwise they would blame the end of this PE.
void NetworkState::note_loss(int pe, const std::string& why, bool was_silent) {
  const auto wait = !was_silent ? kLauncherGrace : has_third_node() ? kOtherNodesGrace : kNoGrace;
  const auto is_silent = [](const Loss& loss) { return loss.was_silent; };
  const bool is_first_silence = was_silent && std::none_of(losses.begin(), losses.end(), is_silent);
  if (losses.empty() || is_first_silence) losses_known_at = Time::clock::now() + wait;
  losses.push_back({pe, why, was_silent});
}

// Blames a silent PE first: a PE whose connection has ended may have ended because of it.
void NetworkState::end_if_losses_are_known() {
  if (is_ending || Time::clock::now() < losses_known_at) return;
  const auto silent =
      std::find_if(losses.begin(), losses.end(), [](const Loss& loss) { return loss.was_silent; });
  end_for(silent != losses.end() ? *silent : losses.front());
}

// True if all machines that this PE is connected to are silent, and they are two or more.
bool NetworkState::is_cut_off() const {
  std::set<int> silent, connected;
  for (const Loss& loss : losses)
    if (loss.was_silent) silent.insert(plan.node_of(loss.pe));
  for (const auto& flow : flows)
    if (flow->peer() >= 0) connected.insert(plan.node_of(flow->pe()));
  return silent.size() > 1 && silent == connected;
}

void NetworkState::end_for(const Loss& loss) {
  if (is_cut_off())
    end_with_line(
        fmt::format("lost all other machines: each {}; this machine's network is most likely down",
                    std::string_view(loss.why).substr(loss.why.find(' ') + 1)));
  end_with_line(fmt::format("lost {}: {}", plan.name_of(loss.pe), loss.why));
}

// Prints the line if this is the first PE of its node that has lost a PE; the others only end.
void NetworkState::end_with_line(const std::string& line) {
  if (!plan.loss_report->begin()) end_after_others();
  print_line(line);
  plan.loss_report->end();
  end_job_on_error();
}

// Waits until the other PE has printed its line: the end of this PE would end that one too.
void NetworkState::end_after_others() const {
  plan.loss_report->await_end(kLauncherGrace);
  abort_job(1, "error");
}

void NetworkState::follow_loss() {
  if (!plan.loss_report->has_begun()) return;
  const Lock lock(mutex);
  if (!is_ending) end_after_others();
}

}  // namespace meshmem
