// SPDX-License-Identifier: Apache-2.0
//
// Opening and closing, quiet, and the messages of collectives. Invariant: no thread calls the
// wire's progress() while the transport is closed.
#include "transport/network/network_transport.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/error.hpp"
#include "base/waiting/schedule_fuzzing.hpp"
#include "transport/network/arrivals.hpp"
#include "transport/network/far_pes.hpp"
#include "transport/network/state.hpp"

namespace meshmem {

using network::Allowance;
using network::Flow;
using network::Record;
using network::RecordKind;
using network::SendPolicy;

namespace {

using Clock = std::chrono::steady_clock;
// A process that has executed a parcel acknowledges it unasked when it has nothing else to do.
// Quiet asks if that takes longer than on an idle network.
constexpr auto kAskAfter = std::chrono::microseconds(30);

// close() waits no longer than this, since a process that has ended reads no goodbye.
constexpr auto kCloseTimeout = std::chrono::milliseconds(500);

static_assert(network::kChunkBytes % kPieceGrain == 0);

// The receiver sends a credit whenever it has received kCreditInterval more since the last one. The
// sender waits when it is more than kMostAhead beyond the last credit.
constexpr std::uint64_t kCreditInterval = 1 << 20;
constexpr std::uint64_t kMostAhead = kMostUnreceived + kCreditInterval;
std::uint64_t cost_of(std::size_t bytes) { return bytes + kMessageCost; }

}  // namespace

NetworkTransport::NetworkTransport()
    : state_(std::make_unique<NetworkState>()),
      arrivals_(std::make_unique<network::Arrivals>(*state_)) {}
NetworkTransport::~NetworkTransport() {
  abandon();
  if (far_pes == state_->far_pes.get()) far_pes = nullptr;
}

WireListener* NetworkTransport::listener() { return arrivals_.get(); }
void NetworkTransport::use_wire(std::unique_ptr<Wire> wire) {
  state_->wire = std::move(wire);
  state_->outlet.wire = state_->wire.get();
}
std::string NetworkTransport::wire_address() const { return state_->wire->address(); }
bool NetworkTransport::admit_only(const std::vector<std::string>& addresses) {
  return state_->wire->admit_only(addresses);
}

void NetworkTransport::open(NetworkPlan plan) {
  state_->plan = std::move(plan);
  const NetworkPlan& known = state_->plan;
  network::Outlet& outlet = state_->outlet;
  outlet.me = static_cast<std::uint32_t>(known.me);
  std::copy_n(known.token, 2, outlet.token);
  outlet.wire_address_of = known.wire_address_of;
  state_->wire->accept_connections(known.key);
  state_->segments.map_device(known.device_place);
  state_->held.use(known.device);
  state_->far_pes = std::make_unique<network::FarPesByMessages>(*state_);
  far_pes = state_->far_pes.get();
  debug("other machines are reached by {}", state_->wire->description());
  reopen();
}

void NetworkTransport::reopen() {
  NetworkState& state = *state_;
  {
    const Lock lock(state.mutex);
    state.segments.map(state.plan.n_local, state.plan.base_of, state.plan.segment_bytes);
    state.is_ending = false;
    ++state.opening;  // so that a late bye of the last opening does not count
    for (const auto& flow : state.flows) flow->has_said_bye = false;
    state.is_open = true;
  }
  state.thread.start(
      {.event_fd = state.wire->event_fd(),
       .longest_sleep_ms = state.plan.longest_sleep_ms,
       .progress =
           [&state] {
             state.drive_device();
             const Lock lock(state.mutex);
             return state.take_in(lock);
           },
       .arm =
           [&state] {
             const Lock lock(state.mutex);
             return state.held.is_empty() && !state.outlet.acknowledge_all() && state.wire->arm();
           },
       .is_busy =
           [&state] {
             const Lock lock(state.mutex);
             return !state.held.is_empty();
           },
       .polled_at = [&state] { return state.polled_at.load(std::memory_order_relaxed); },
       .check_losses = [&state] { state.follow_loss(); },
       .set_napping =
           [&state](bool naps) {
             const Lock lock(state.mutex);
             state.outlet.has_napping_thread = naps;
             if (!naps) state.outlet.send_open();
           },
       .send_delayed =
           [&state] {
             // A thread that has the lock sends delayed records itself.
             const Lock lock(state.mutex, std::try_to_lock);
             if (lock) state.outlet.send_delayed();
           }});
}

void NetworkTransport::close() {
  NetworkState& state = *state_;
  if (!state.is_open) return;
  {
    Lock lock(state.mutex);
    state.is_ending = true;
    state.outlet.acknowledge_all();
    for (const auto& flow : state.flows) {
      if (flow->peer() >= 0) flow->say_bye(state.opening);
    }
    const auto end = Clock::now() + kCloseTimeout;
    const auto all_has_left = [&] {
      return Clock::now() > end ||
             std::all_of(state.flows.begin(), state.flows.end(),
                         [](const auto& flow) { return flow->n_leaving() == 0; });
    };
    state.wait(lock, all_has_left, [] { return "the last messages to leave"; });
  }
  abandon();
}

void NetworkTransport::abandon() {
  NetworkState& state = *state_;
  state.is_open = false;
  state.thread.stop();
  const Lock lock(state.mutex);
  state.is_ending = true;
}

void NetworkTransport::progress() {
  NetworkState& state = *state_;
  if (!state.is_open) return;
  state.drive_device();
  const Lock lock(state.mutex, std::try_to_lock);
  if (lock) state.poll(lock);
}

void NetworkTransport::progress_for_kernels() {
  NetworkState& state = *state_;
  if (!state.is_open) return;
  state.drive_device();
  const Lock lock(state.mutex, std::try_to_lock);
  if (lock) state.poll(lock, Acknowledges::with_an_answer);
}

void NetworkTransport::will_progress() { state_->note_poll(); }

// The last waiting records of each flow ask for an acknowledgement. Without waiting records it asks
// only later (kAskAfter): an idle receiver mostly acknowledges before the request would arrive.
void NetworkTransport::complete() {
  NetworkState& state = *state_;
  fuzz_schedule();
  Lock lock(state.mutex);
  for (const auto& flow : state.flows) flow->send_asking();
  const auto late = Clock::now() + kAskAfter;
  for (std::size_t i = 0; i < state.flows.size(); ++i) {
    Flow& flow = *state.flows[i];
    const network::Issued issued = flow.issued();
    if (flow.is_done(issued)) continue;
    const auto is_done = [&] {
      if (flow.is_done(issued)) return true;
      if (Clock::now() > late) flow.ask();
      return false;
    };
    state.wait(lock, is_done, [&] {
      return fmt::format("{} to acknowledge its messages", state.plan.name_of(flow.pe()));
    });
  }
}

namespace {

class NetworkMark : public CompletionMark {
 public:
  explicit NetworkMark(NetworkState& state) : state_(state) {
    const Lock lock(state_.mutex);
    for (const auto& flow : state_.flows) {
      flow->send_asking();
      if (!flow->is_done(flow->issued())) left_.push_back({flow.get(), flow->issued()});
    }
  }
  bool is_done() override {
    state_.drive_device();
    const Lock lock(state_.mutex);
    state_.poll(lock, Acknowledges::with_an_answer);
    std::erase_if(left_, [](const Left& one) { return one.flow->is_done(one.issued); });
    if (Clock::now() > late_)
      for (const Left& one : left_) one.flow->ask();
    return left_.empty();
  }

 private:
  struct Left {
    Flow* flow;
    network::Issued issued;
  };
  NetworkState& state_;
  std::vector<Left> left_;
  const Clock::time_point late_ = Clock::now() + kAskAfter;
};

}  // namespace

std::unique_ptr<CompletionMark> NetworkTransport::mark() {
  fuzz_schedule();
  return std::make_unique<NetworkMark>(*state_);
}

void NetworkTransport::send(int pe, const MessageKey& key, const void* data, std::size_t bytes) {
  NetworkState& state = *state_;
  fuzz_schedule();
  Lock lock(state.mutex);
  Flow& flow = state.flow_to(pe);
  Allowance& allowance = flow.allowance(key.slot);
  state.wait(
      lock, [&] { return allowance.sent - allowance.confirmed <= kMostAhead; },
      [&] {
        return Awaited(fmt::format("{} to receive its messages", state.plan.name_of(pe)), {pe});
      });
  allowance.sent += cost_of(bytes);
  const Record record{.kind = RecordKind::message,
                      .index = static_cast<std::uint32_t>(key.slot),
                      .offset = static_cast<std::uint32_t>(key.step),
                      .bytes = bytes,
                      .first = key.sequence,
                      .second = bytes};
  state.send(lock, flow, record, data, SendPolicy::at_once);
}

void NetworkTransport::expect(int pe, const MessageKey& key, const MessageDest& dest) {
  state_->mailbox.expect(pe, key, dest);
}

void NetworkTransport::receive(int pe, const MessageKey& key, const MessageDest& dest,
                               const std::function<std::string()>& what) {
  wait_until_ready<ProgressBy::ready>(
      [&] {
        if (state_->mailbox.try_take(pe, key, dest)) return true;
        progress();
        return false;
      },
      [&] { return Awaited(what(), {pe}); });
  note_received(pe, key.slot, dest.bytes);
}

// Sends a credit for each kCreditInterval, so before the sender reaches kMostAhead.
void NetworkTransport::note_received(int pe, int slot, std::size_t bytes) {
  NetworkState& state = *state_;
  // Notes a poll even if the network's own thread has taken in this message, so that it leaves the
  // next one to this thread.
  state.note_poll();
  const Lock lock(state.mutex);
  Flow& flow = state.flow_to(pe);
  Allowance& allowance = flow.allowance(slot);
  allowance.received += cost_of(bytes);
  if (allowance.received - allowance.reported < kCreditInterval) return;
  allowance.reported = allowance.received;
  flow.add({.kind = RecordKind::credit,
            .index = static_cast<std::uint32_t>(slot),
            .first = allowance.reported},
           nullptr, SendPolicy::at_once);
}

}  // namespace meshmem
