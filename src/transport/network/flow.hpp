// SPDX-License-Identifier: Apache-2.0
//
// The data that goes in order from this PE to one other process. A flow knows the records that wait
// to leave together, what has left and been acknowledged, and how much of the other's was executed
// here.
// Invariant: a record that is not sent at once leaves when the parcel is full, when the other side
// has acknowledged or answered something, or when somebody waits. That is no later than after a
// round trip. A record that is held for the next leaves when the thread that takes in messages has
// napped. All under the lock of the transport; nothing here waits.
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

// A parcel on its way out. It stays as it is from Wire::send() until the wire says that it left.
struct Parcel {
  Head head;
  Flow* flow = nullptr;
  // Of a parcel of records: where they are. Else the data of the lone record, which somebody lends.
  std::unique_ptr<std::byte[]> room;
  std::size_t used = 0;
  std::size_t skipped = 0;  // of the room: a record that travels in the head
  const void* lent = nullptr;
  std::atomic<std::size_t>* under_way = nullptr;  // counted down when it has left

  const void* body() const { return room ? room.get() + skipped : lent; }
  // The one record in the room has been copied to the head: fewer bytes, and where it has no data,
  // one buffer less for the kernel to gather.
  void leave_record_out() {
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

// Whether something follows a put at once, such as the flag that announces the data, or a quiet:
// learned from what the program has done before. Then the put may wait and share the message of
// what follows. A guess that was wrong makes the next one later.
class FollowUps {
 public:
  using Clock = std::chrono::steady_clock;
  // Longer than it takes to call for a fence and another put, once the put has left.
  static constexpr auto kSoon = std::chrono::microseconds(20);

  void note_put(Clock::time_point now) {
    note_other(now);
    put_ = now;
  }
  // The wire has it, which may have taken as long as what follows takes to come.
  void note_left(Clock::time_point now) {
    if (is_open()) put_ = now;
  }
  void note_other(Clock::time_point now) {
    if (!is_open()) return;
    in_a_row_ = now - put_ <= kSoon ? std::min(in_a_row_ + 1, needed_) : 0;
    put_ = {};
  }
  // Notes that something else has come than what is counted here.
  void note_missed() {
    in_a_row_ = 0;
    put_ = {};
  }
  // A put has not been followed yet.
  bool is_open() const { return put_ != Clock::time_point{}; }
  bool are_expected() const { return in_a_row_ >= needed_; }
  // One was expected and has not come.
  void note_none() {
    note_missed();
    needed_ = std::min(needed_ * 2, kMostNeeded);
  }

 private:
  static constexpr int kMostNeeded = 1024;
  Clock::time_point put_{};  // not followed yet
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
  std::vector<int> pe_of_peer;   // by the wire's number
  std::atomic<std::uint64_t> parcels_sent{0};
  std::atomic<std::uint64_t> fences{0};  // so far, of all threads
  bool has_watcher = false;  // who calls send_held() within a millisecond: something may be held
  FollowUps::Clock::time_point (*now)() = FollowUps::Clock::now;

  void note_peer(int peer, int pe);
  // Sends what waits to leave, and the acknowledgements that nobody has asked for.
  void send_open();
  bool acknowledge_all();
  bool has_to_acknowledge() const;
  // Expected answers have not come. After such a miss, four answers in a row re-arm the guess. A
  // hit saves a third of what a miss costs.
  void note_unanswered();
  // Sends a held record that no other has followed.
  void send_held();
};

// How much a flow has been given; what comes later does not count.
struct Issued {
  std::uint64_t n_sent, n_requested, n_lent;
};

// When a record leaves. One that goes with others does so when its sender says send_open(). One
// that may be followed is held if it most likely will be, else it leaves when few are under way.
// One that leaves when few are under way is held if it changes memory and quiet most likely
// follows.
enum class SendPolicy { at_once, when_few_are_under_way, when_followed, with_others };

// How far messages of collectives to one PE may be ahead of those that it has received, by slot of
// a team: what one thread has not received yet keeps up no other thread.
struct Allowance {
  std::uint64_t sent = 0, received = 0;  // cost of messages to the other, and what it has told
  std::uint64_t taken = 0, told = 0;     // the same of its messages to this PE
};

class Flow {
 public:
  Flow(Outlet& outlet, int pe) : outlet_(outlet), pe_(pe) {}
  int pe() const { return pe_; }

  // A record with at most kMostCombined bytes of data, which are copied.
  void add(const Record& record, const void* data, SendPolicy policy);
  // A record whose data stays where it is until *under_way, raised here, has come down again.
  void send_lone(const Record& record, const void* data, std::atomic<std::size_t>* under_way);
  // An answer to a request of the other; it leaves when its parcel has been executed.
  void add_answer(std::uint64_t request, const void* data, std::size_t bytes);
  bool has_answers() const { return has_answers_; }
  // Sends the records that wait to leave. `flags`: kAsks, or 0.
  void send_open(std::uint8_t flags = 0);
  // Quiet begins: what waits to leave does so, and asks for an acknowledgement.
  void send_asking();
  // Asks for an acknowledgement of all that has been sent, unless that has been done.
  void ask();
  void acknowledge();
  void say_bye(std::uint64_t opening);

  // Parcels that the wire still has.
  std::size_t n_leaving() const { return n_leaving_; }
  void note_left() { --n_leaving_; }

  Issued issued() const { return {n_sent_, n_requested_, n_lent_}; }
  bool is_done(const Issued& issued) const {
    return n_acknowledged_ >= issued.n_sent && n_answered_ >= issued.n_requested &&
           n_lent_ - lent_ >= issued.n_lent;
  }
  // The next parcel has a record for device memory, which the other may hold for a while, and what
  // comes behind it too.
  void note_for_device() { last_for_device_ = n_sent_ + 1; }
  bool may_be_held() const { return n_acknowledged_ < last_for_device_; }
  std::uint64_t n_unacknowledged() const { return n_sent_ - n_acknowledged_; }
  // Counts what others lend until quiet.
  std::atomic<std::size_t>* lent() { return &lent_; }
  // False: more than has been sent.
  bool note_acknowledged(std::uint64_t count);
  std::uint64_t n_requested() const { return n_requested_; }
  std::uint64_t n_answered() const { return n_answered_; }
  std::uint64_t bytes_requested() const { return bytes_requested_; }
  void note_requested(std::size_t bytes);
  void note_answered(std::size_t bytes);

  // Of the other direction.
  void note_executed();
  // A signal has come, for a kernel: as a rule the kernel answers it within microseconds, or never.
  // Learned from what has left soon after earlier signals.
  void note_signal();
  bool expects_answer() const { return answers_.is_open() && answers_.are_expected(); }

  // The wire's number for the other process; -1: none yet.
  int peer() const { return peer_; }
  void use_peer(int peer) { peer_ = peer; }
  Allowance& allowance(int slot) { return allowances_[slot]; }
  bool has_introduced_itself = false;
  bool has_said_bye = false;  // since it has opened last

 private:
  // There was a fence since the last record that touches memory, which the next one has to say.
  bool takes_fence_along(RecordKind kind);
  bool are_few_under_way() const;
  Parcel& open_for(std::size_t bytes);
  bool leaves_now(SendPolicy policy, bool is_counted);
  // Notes a record that may be followed, and holds it if it most likely will be. Whether it does.
  bool hold_for(FollowUps& expected);
  void greet();
  void post(Parcel& parcel, bool introduces = false);
  static void left(void* parcel);

  Outlet& outlet_;
  const int pe_;
  int peer_ = -1;
  bool has_greeted_ = false;
  Parcel* open_ = nullptr;
  bool has_answers_ = false;       // in the open parcel
  std::uint64_t fences_told_ = 0;  // of the outlet's, by records so far
  FollowUps follow_ups_;           // of puts of more than a flag
  FollowUps quiets_;               // of flags and atomics: quiet alone follows
  FollowUps answers_;              // of kernels to signals
  FollowUps* held_for_ = nullptr;
  FollowUps::Clock::time_point held_since_{};  // the open parcel; 0: it is not
  bool is_listed_open_ = false, is_listed_needs_ack_ = false;
  std::size_t n_leaving_ = 0;
  std::uint64_t n_sent_ = 0, n_acknowledged_ = 0, n_asked_ = 0;  // counted parcels
  std::uint64_t last_for_device_ = 0;
  std::uint64_t n_requested_ = 0, n_answered_ = 0, bytes_requested_ = 0;
  std::uint64_t n_executed_ = 0, n_acked_ = 0;
  std::uint64_t n_lent_ = 0;          // ever
  std::atomic<std::size_t> lent_{0};  // now
  std::unordered_map<int, Allowance> allowances_;

  friend struct Outlet;
};

}  // namespace meshmem::network

#endif  // MESHMEM_TRANSPORT_NETWORK_FLOW_HPP_
