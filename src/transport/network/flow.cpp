// SPDX-License-Identifier: Apache-2.0
//
// Combines records, sends parcels, and acknowledges. Invariant: post() completes a parcel's head,
// so that it carries the newest acknowledgement.
#include "transport/network/flow.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace meshmem::network {
namespace {
// With fewer parcels and requests under way, a record leaves at once. With a limit of one, the
// second of two puts would wait for a round trip.
constexpr std::uint64_t kFewUnderWay = 2;
// How long a record is delayed. A next record that has not come by then will most likely not come.
constexpr auto kDelayLimit = std::chrono::microseconds(50);

Record after_fence(Record record) {
  record.follows_fence = 1;
  return record;
}
}  // namespace

void Outlet::note_peer(int peer, int pe) {
  if (pe_of_peer.size() <= static_cast<std::size_t>(peer))
    pe_of_peer.resize(static_cast<std::size_t>(peer) + 1, -1);
  pe_of_peer[static_cast<std::size_t>(peer)] = pe;
}

void Outlet::send_open() {
  for (Flow* const flow : open) {
    flow->is_listed_open_ = false;
    flow->send_open();
  }
  open.clear();
}

bool Outlet::acknowledge_all() {
  bool any = false;
  for (Flow* const flow : needs_ack) {
    flow->is_listed_needs_ack_ = false;
    any = any || flow->has_to_acknowledge();
    flow->acknowledge();
  }
  needs_ack.clear();
  return any;
}

bool Outlet::has_to_acknowledge() const {
  return std::any_of(needs_ack.begin(), needs_ack.end(),
                     [](const Flow* flow) { return flow->has_to_acknowledge(); });
}

void Outlet::note_unanswered() {
  for (Flow* const flow : needs_ack)
    if (flow->expects_answer()) flow->answers_.note_none();
}

void Outlet::send_delayed() {
  for (Flow* const flow : open) {
    if (!flow->has_delayed() || now() - flow->delayed_since_ < kDelayLimit) continue;
    flow->delayed_for_->note_wrong_guess();
    flow->send_open();
  }
}

void Flow::add(const Record& record, const void* data, SendPolicy policy) {
  if (take_fence_for(record.kind)) [[unlikely]]
    return add(after_fence(record), data, policy);
  const std::size_t bytes = packed_bytes(record);
  Parcel& parcel = open_for(bytes);
  pack(parcel.room.get() + parcel.used, record, data);
  parcel.head.lone = parcel.used == 0 ? record : Record{};
  parcel.used += bytes;
  if (is_counted(record.kind)) parcel.head.flags |= kCounted;
  if (!leaves_now(policy, is_counted(record.kind))) return;
  send_open();
  if (!follow_ups_.awaits_second() && !quiets_.awaits_second()) return;
  const auto now = outlet_.now();
  follow_ups_.note_first_sent(now);
  quiets_.note_first_sent(now);
}

bool Flow::take_fence_for(RecordKind kind) {
  const std::uint64_t fences = outlet_.fences.load(std::memory_order_relaxed);
  if (fences == fences_carried_ || !touches_memory(kind)) return false;
  fences_carried_ = fences;
  return true;
}

bool Flow::leaves_now(SendPolicy policy, bool is_counted) {
  if (policy == SendPolicy::with_others) return false;
  if (quiets_.awaits_second()) quiets_.note_none();
  if (policy != SendPolicy::when_followed && follow_ups_.awaits_second())
    follow_ups_.note_second(outlet_.now());
  if (policy == SendPolicy::at_once) return true;
  if (policy == SendPolicy::when_followed) return !delay_for(follow_ups_) && are_few_under_way();
  return are_few_under_way() && !(is_counted && delay_for(quiets_));
}

bool Flow::are_few_under_way() const {
  return n_sent_ - n_acknowledged_ + n_requested_ - n_answered_ < kFewUnderWay;
}

// Delays at most one record of the open parcel: the next record sends both. So in a series of puts
// the first ones leave while the program still issues the others.
bool Flow::delay_for(FollowUps& expected) {
  const auto now = outlet_.now();
  expected.note_first(now);
  if (has_delayed() || !are_few_under_way() || !outlet_.has_napping_thread ||
      !expected.expects_second())
    return false;
  delayed_since_ = now;
  delayed_for_ = &expected;
  return true;
}

Parcel& Flow::open_for(std::size_t bytes) {
  if (open_ && open_->used + bytes > kRoomBytes) send_open();
  if (!open_) open_ = &outlet_.parcels.take_with_room();
  if (!std::exchange(is_listed_open_, true)) outlet_.open.push_back(this);
  return *open_;
}

void Flow::send_lone(const Record& record, const void* data, std::atomic<std::size_t>* under_way) {
  if (take_fence_for(record.kind)) [[unlikely]]
    return send_lone(after_fence(record), data, under_way);
  send_open();
  Parcel& parcel = outlet_.parcels.take_without_room();
  parcel.head.lone = record;
  parcel.head.flags = is_counted(record.kind) ? kCounted : 0;
  parcel.lent = data;
  parcel.used = data_bytes(record);
  parcel.under_way = under_way;
  if (under_way == &lent_) ++n_lent_;
  if (under_way) under_way->fetch_add(1, std::memory_order_relaxed);
  post(parcel);
}

void Flow::add_answer(std::uint64_t request, const void* data, std::size_t bytes) {
  add({.kind = RecordKind::reply, .bytes = bytes, .first = request}, data, SendPolicy::with_others);
  has_answers_ = true;
}

void Flow::send_open(std::uint8_t flags) {
  if (!open_) return;
  has_answers_ = false;
  delayed_since_ = {};
  Parcel& parcel = *std::exchange(open_, nullptr);
  parcel.head.flags |= flags;
  if (parcel.head.lone.kind != RecordKind::none) parcel.move_record_to_head();
  post(parcel);
}

void Flow::send_asking() {
  if (follow_ups_.awaits_second() || quiets_.awaits_second()) {
    const auto now = outlet_.now();
    follow_ups_.note_second(now);
    quiets_.note_second(now);
  }
  send_open(kAsks);
}

void Flow::ask() {
  send_open(kAsks);
  if (n_asked_ == n_sent_) return;
  Parcel& parcel = outlet_.parcels.take_without_room();
  parcel.head.flags = kAsks;
  post(parcel);
}

void Flow::acknowledge() {
  if (has_to_acknowledge()) post(outlet_.parcels.take_without_room());
}

void Flow::say_bye(std::uint64_t opening) {
  send_open();
  Parcel& parcel = outlet_.parcels.take_without_room();
  parcel.head.lone.kind = RecordKind::bye;
  parcel.head.lone.first = opening;
  post(parcel);
}

// Sends the first parcel of a flow. A peer that has introduced itself is known to the wire already.
void Flow::greet() {
  has_greeted_ = true;
  const bool introduces = peer_ < 0;
  if (introduces) {
    peer_ = outlet_.wire->connect(outlet_.wire_address_of(pe_));
    outlet_.note_peer(peer_, pe_);
  }
  Parcel& parcel = outlet_.parcels.take_without_room();
  parcel.head.lone.kind = RecordKind::hello;
  parcel.head.lone.first = outlet_.token[1];
  post(parcel, introduces);
}

void Flow::post(Parcel& parcel, bool introduces) {
  if (!has_greeted_) greet();
  Head& head = parcel.head;
  head.token = outlet_.token[0];
  head.source = outlet_.me;
  head.version = kFormatVersion;
  head.acknowledged = n_reported_executed_ = n_executed_;
  if (head.flags & kCounted) {
    ++n_sent_;
    if (answers_.awaits_second()) answers_.note_second(outlet_.now());
  }
  if (head.flags & kAsks) n_asked_ = n_sent_;
  parcel.flow = this;
  ++n_leaving_;
  outlet_.parcels_sent.fetch_add(1, std::memory_order_relaxed);
  outlet_.wire->send(peer_,
                     {&head, sizeof head, parcel.body(), parcel.used, introduces, &left, &parcel});
}

void Flow::left(void* argument) {
  Parcel& parcel = *static_cast<Parcel*>(argument);
  --parcel.flow->n_leaving_;
  std::atomic<std::size_t>* const under_way = parcel.under_way;
  parcel.flow->outlet_.parcels.give_back(parcel);
  // Release: the wire's reads of the data happen before its owner changes it.
  if (under_way) under_way->fetch_sub(1, std::memory_order_release);
}

bool Flow::note_acknowledged(std::uint64_t count) {
  if (count > n_sent_) return false;
  if (count <= n_acknowledged_) return count == n_acknowledged_;
  n_acknowledged_ = count;
  send_open();
  return true;
}

void Flow::note_requested(std::size_t bytes) {
  ++n_requested_;
  bytes_requested_ += bytes;
}

void Flow::note_answered(std::size_t bytes) {
  ++n_answered_;
  bytes_requested_ -= bytes;
  send_open();
}

void Flow::note_signal() {
  if (answers_.awaits_second()) answers_.note_none();
  answers_.note_first(outlet_.now());
}

void Flow::note_executed() {
  ++n_executed_;
  if (!std::exchange(is_listed_needs_ack_, true)) outlet_.needs_ack.push_back(this);
}

}  // namespace meshmem::network
