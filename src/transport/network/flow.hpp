// SPDX-License-Identifier: Apache-2.0
//
// A flow sends the records of this PE to one other process, in order. It keeps those that wait to
// leave together, and counts the parcels of both directions.
// Invariant: a waiting record leaves when its parcel is full, when the other process acknowledges
// or answers something, or when a thread waits. So it waits for a round trip at most. A record that
// is delayed for a likely next one leaves after a nap of the network's thread at the latest.
// Callers hold the transport's lock. No function waits.
#ifndef MESHMEM_TRANSPORT_NETWORK_FLOW_HPP_
#define MESHMEM_TRANSPORT_NETWORK_FLOW_HPP_

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "transport/network/format.hpp"

namespace meshmem::network {

// ---- Parcels

class Flow;

// A parcel to send. It does not change from Wire::send() until the wire calls Message::sent.
struct Parcel {
  Head head;
  Flow* flow = nullptr;
  std::unique_ptr<std::byte[]> room;  // the records of the body; null: `lent` is the body
  std::size_t used = 0;               // bytes of the body
  std::size_t skipped = 0;            // bytes in `room` before the body (move_record_to_head())
  const void* lent = nullptr;         // the data of the head's record, in its sender's own memory
  std::atomic<std::size_t>* under_way = nullptr;  // counted down when the wire has sent the parcel

  const void* body() const { return room ? room.get() + skipped : lent; }
  // Leaves out of the body the only record in `room`, of which the head has a copy. The parcel
  // becomes shorter, and without data it has no body that the system must gather.
  void move_record_to_head() {
    skipped = record_bytes(head.lone.kind);
    used = data_bytes(head.lone);
  }
};

// Parcels are used again and never freed, so that sending takes no memory from the system.
class ParcelStore {
 public:
  Parcel& take_with_room() { return take(with_room_, true); }
  Parcel& take_without_room() { return take(without_room_, false); }
  void give_back(Parcel& parcel) { (parcel.room ? with_room_ : without_room_).push_back(&parcel); }

 private:
  using Free = std::vector<Parcel*>;
  // Takes the parcel that was given back last, since it is in the cache.
  Parcel& take(Free& free, bool has_room) {
    if (free.empty()) {
      Parcel& made = *all_.emplace_back(std::make_unique<Parcel>());
      if (has_room) made.room = std::make_unique_for_overwrite<std::byte[]>(kRoomBytes);
      free.reserve(all_.size());  // so that giving back takes no memory
      free.push_back(&made);
    }
    Parcel& parcel = *free.back();
    free.pop_back();
    parcel.head = {};
    parcel.used = parcel.skipped = 0;
    parcel.lent = nullptr;
    parcel.under_way = nullptr;
    return parcel;
  }

  std::vector<std::unique_ptr<Parcel>> all_;
  Free with_room_, without_room_;
};

// Guesses from the past whether a second operation follows a first one at once: after a put, for
// example, the flag that announces its data, or a quiet. If so, the first one is delayed and shares
// the second one's parcel. After a wrong guess, twice as many first ones in a row must have a
// second before the next guess.
class FollowUps {
 public:
  using Clock = std::chrono::steady_clock;
  // Longer than a program needs to call a fence and another put, after the first put was sent.
  static constexpr auto kSoon = std::chrono::microseconds(20);

  void note_first(Clock::time_point now) {
    note_second(now);
    first_at_ = now;
  }
  // Sending the first one may have taken long, so the time starts again.
  void note_first_sent(Clock::time_point now) {
    if (awaits_second()) first_at_ = now;
  }
  // Notes an operation that may be the second one. It is not if it comes late.
  void note_second(Clock::time_point now) {
    if (!awaits_second()) return;
    in_a_row_ = now - first_at_ <= kSoon ? std::min(in_a_row_ + 1, needed_) : 0;
    first_at_ = {};
  }
  // Notes an operation that is not the second one.
  void note_none() {
    in_a_row_ = 0;
    first_at_ = {};
  }
  // No operation has come since the last first one.
  bool awaits_second() const { return first_at_ != Clock::time_point{}; }
  bool expects_second() const { return in_a_row_ >= needed_; }
  // Notes that the first one was delayed, and no operation has come.
  void note_wrong_guess() {
    note_none();
    needed_ = std::min(needed_ * 2, kMostNeeded);
  }

 private:
  static constexpr int kMostNeeded = 1024;
  Clock::time_point first_at_{};  // of the last first one, until another operation comes; else 0
  int in_a_row_ = 0, needed_ = 4;
};

// ---- Flows

// The state that all flows of a PE share.
struct Outlet {
  Wire* wire = nullptr;
  std::uint32_t me = 0;
  std::uint64_t token[2] = {0, 0};
  std::function<std::string(int pe)> wire_address_of;
  ParcelStore parcels;
  std::vector<Flow*> open;       // perhaps with records that wait to leave
  std::vector<Flow*> needs_ack;  // perhaps with something to acknowledge
  std::vector<int> pe_of_peer;   // by the wire's number of the peer
  std::atomic<std::uint64_t> parcels_sent{0};
  std::atomic<std::uint64_t> fences{0};  // calls of order() so far, by all threads
  // A thread calls send_delayed() within a millisecond, so records may be delayed.
  bool has_napping_thread = false;
  FollowUps::Clock::time_point (*now)() = FollowUps::Clock::now;

  void note_peer(int peer, int pe);
  // Sends the records that wait to leave.
  void send_open();
  // Acknowledges all that was executed. False: there was nothing to acknowledge.
  bool acknowledge_all();
  bool has_to_acknowledge() const;
  // Notes that kernels' expected answers have not come. After such a miss, four answers in a row
  // re-arm the guess: a hit saves a third of what a miss costs.
  void note_unanswered();
  // Sends the records that have been delayed for too long.
  void send_delayed();
};

// How much a flow had been given at some moment, for Flow::is_done().
struct Issued {
  std::uint64_t n_sent, n_requested, n_lent;
};

// When a record leaves.
// - at_once: in add().
// - when_few_are_under_way: in add() if few parcels and requests are under way; else with a later
//   record. Delayed if it changes memory and a quiet most likely follows.
// - when_followed: the same, but delayed if any other operation most likely follows.
// - with_others: when the caller calls send_open().
enum class SendPolicy { at_once, when_few_are_under_way, when_followed, with_others };

// Limits how far a PE's messages in a team's collectives may be ahead of the receiver. Each team's
// slot has its own, so a thread that is late to receive does not delay the messages of other
// threads' teams. All fields are sums of message costs (kMessageCost).
struct Allowance {
  std::uint64_t sent = 0;       // to the other PE
  std::uint64_t confirmed = 0;  // of these, as many as the other PE has reported as received
  std::uint64_t received = 0;   // from the other PE
  std::uint64_t reported = 0;   // of these, as many as this PE has reported as received
};

class Flow {
 public:
  Flow(Outlet& outlet, int pe) : outlet_(outlet), pe_(pe) {}
  int pe() const { return pe_; }

  // Adds a record with at most kMostCombined bytes of data, which are copied.
  void add(const Record& record, const void* data, SendPolicy policy);
  // Sends a record without copying its data. Raises *under_way, and lowers it when the data has
  // been sent and may change.
  void send_lone(const Record& record, const void* data, std::atomic<std::size_t>* under_way);
  // Adds an answer to the other's request. It leaves when the request's parcel has been executed.
  void add_answer(std::uint64_t request, const void* data, std::size_t bytes);
  bool has_answers() const { return has_answers_; }
  // Sends the records that wait to leave. `flags`: kAsks, or 0.
  void send_open(std::uint8_t flags = 0);
  // Called when a quiet begins: sends the waiting records, and asks for an acknowledgement with
  // them. Without any it does not ask: an idle receiver acknowledges soon, and ask() can follow.
  void send_asking();
  // Asks for an acknowledgement of all that has been sent, unless this was asked already.
  void ask();
  // True if parcels have been executed here since the last acknowledgement.
  bool has_to_acknowledge() const { return n_executed_ != n_reported_executed_; }
  void acknowledge();  // if it has to
  // Sends the last message of the transport's `opening`, counted from 1.
  void say_bye(std::uint64_t opening);

  // Parcels that the wire has not sent yet.
  std::size_t n_leaving() const { return n_leaving_; }

  Issued issued() const { return {n_sent_, n_requested_, n_lent_}; }
  bool is_done(const Issued& issued) const {
    return n_acknowledged_ >= issued.n_sent && n_answered_ >= issued.n_requested &&
           n_lent_ - lent_ >= issued.n_lent;
  }
  // Notes that one of the next two parcels will have a record for device memory: the second if an
  // open parcel leaves first. The other process may hold it and all parcels behind it for a while.
  void note_for_device() { last_for_device_ = n_sent_ + 2; }
  bool may_be_held() const { return n_acknowledged_ < last_for_device_; }
  std::uint64_t n_unacknowledged() const { return n_sent_ - n_acknowledged_; }
  // For send_lone(): counts the parcels whose data must stay unchanged until quiet.
  std::atomic<std::size_t>* lent() { return &lent_; }
  // The other process has executed `count` counted parcels. False: that is impossible.
  bool note_acknowledged(std::uint64_t count);
  std::uint64_t n_requested() const { return n_requested_; }
  std::uint64_t n_answered() const { return n_answered_; }
  std::uint64_t bytes_requested() const { return bytes_requested_; }
  void note_requested(std::size_t bytes);
  void note_answered(std::size_t bytes);

  // A counted parcel of the other process has been executed here.
  void note_executed();
  // A signal for a kernel has come. A kernel usually answers within microseconds or never, so
  // FollowUps learns from earlier signals which it is.
  void note_signal();
  bool expects_answer() const { return answers_.awaits_second() && answers_.expects_second(); }

  // The wire's number for the other process; -1: none yet.
  int peer() const { return peer_; }
  void use_peer(int peer) { peer_ = peer; }
  Allowance& allowance(int slot) { return allowances_[slot]; }
  bool has_introduced_itself = false;
  bool has_said_bye = false;  // the other process, by the bye of this opening of the transport

 private:
  // True for the first record that touches memory after an order(): the caller makes it carry
  // follows_fence, and later records need not.
  bool take_fence_for(RecordKind kind);
  bool are_few_under_way() const;
  // The open parcel, after making sure that it has room for `bytes` more.
  Parcel& open_for(std::size_t bytes);
  bool leaves_now(SendPolicy policy, bool is_counted);
  bool has_delayed() const { return delayed_since_ != FollowUps::Clock::time_point{}; }
  // Notes a record that may be followed. If it most likely will be, delays it and returns true.
  bool delay_for(FollowUps& expected);
  void greet();
  void post(Parcel& parcel, bool introduces = false);
  static void left(void* parcel);

  Outlet& outlet_;
  const int pe_;
  int peer_ = -1;
  bool has_greeted_ = false;
  Parcel* open_ = nullptr;
  bool has_answers_ = false;          // in the open parcel
  std::uint64_t fences_carried_ = 0;  // outlet_.fences when a record last carried follows_fence
  FollowUps follow_ups_;              // something follows a put of more than a flag
  FollowUps quiets_;                  // a quiet follows a flag or an atomic
  FollowUps answers_;                 // a kernel's answer follows a signal
  FollowUps* delayed_for_ = nullptr;
  FollowUps::Clock::time_point delayed_since_{};  // of the delayed record in open_; 0: none
  bool is_listed_open_ = false, is_listed_needs_ack_ = false;
  std::size_t n_leaving_ = 0;
  std::uint64_t n_sent_ = 0, n_acknowledged_ = 0, n_asked_ = 0;  // counted parcels
  std::uint64_t last_for_device_ = 0;
  std::uint64_t n_requested_ = 0, n_answered_ = 0, bytes_requested_ = 0;
  std::uint64_t n_executed_ = 0, n_reported_executed_ = 0;  // counted parcels of the other process
  std::uint64_t n_lent_ = 0;                                // ever
  std::atomic<std::size_t> lent_{0};                        // now
  std::unordered_map<int, Allowance> allowances_;

  friend struct Outlet;
};

}  // namespace meshmem::network

#endif  // MESHMEM_TRANSPORT_NETWORK_FLOW_HPP_
