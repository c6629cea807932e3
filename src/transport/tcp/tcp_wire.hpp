// SPDX-License-Identifier: Apache-2.0
//
// The Wire of TCP, part of the library itself. It looks at no parcel before the sender has proved
// that it belongs to the job.
// Invariant: all messages to a peer go by one connection, so they arrive in order. If the peer's
// connection is known first, they go by that. There are at most kMostStrangers strangers, each for
// at most kPatienceWithStrangers. Only progress() closes connections.
#ifndef MESHMEM_TRANSPORT_TCP_TCP_WIRE_HPP_
#define MESHMEM_TRANSPORT_TCP_TCP_WIRE_HPP_

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/machine/interfaces.hpp"
#include "transport/tcp/connection.hpp"
#include "transport/wire.hpp"

namespace meshmem {

class TcpWire final : public Wire {
 public:
  static constexpr std::size_t kMostStrangers = 128;
  static constexpr std::chrono::seconds kPatienceWithStrangers{5};

  // Returns nullptr, and a line in *error, if no interface is up, if the named one is not, or if
  // listening fails.
  static std::unique_ptr<TcpWire> open(const WireRequest& request, std::string* error);
  ~TcpWire() override;

  std::string address() const override { return std::string(tcp::as_text(own_)); }
  void accept_connections(const WireKey& key) override;
  int connect(std::string_view address) override;
  void send(int peer, const Message& message) override;
  bool progress() override;
  int event_fd() const override { return events_.get(); }
  bool arm() override;
  std::string description() const override { return "tcp over " + interface_.name; }

 private:
  using Connection = tcp::Connection;
  using Time = tcp::Clock::time_point;

  struct Peer {
    tcp::Address address;
    Connection* out = nullptr;  // for sending; nullptr: none yet, or to be dialled again
    tcp::Outgoing waiting;      // messages for that connection
    int n_dials = 0;            // failed dials
    Time dial_at{}, lost_at{};
    bool dials_again = false;
    bool is_lost = false;
    std::string why;
    bool was_silent = false;
  };

  TcpWire(const WireRequest& request, const Interface& interface);
  // Listens on a free port from first to last, or on any if both are 0.
  bool listen(int first, int last, std::string* error);

  bool try_watch(Connection& connection);  // from now on; false and errno: epoll has no room
  void watch(Connection& connection);
  bool watch_all();  // false: epoll cannot watch the steady one, which stays steady
  void remove_ended();

  void dial(int number);
  void dial_later(int number, int error);
  void dial_again(Time now);
  void find_connection(int number);
  void take_accepted_instead_of_dial(Connection& accepted);
  void send_by(Connection& accepted, int number);

  bool handle_events();
  bool handle_watched();
  void note_data_from(Connection& connection);
  void handle(Connection& connection, bool may_write);
  void shake_hands(Connection& connection);
  void note_proved(Connection& connection);
  bool take_from(Connection& connection);
  void take(Connection& connection, const tcp::Lengths& lengths, const std::byte* head,
            const std::byte* body);
  void flush(Connection& connection);

  void accept_some();
  bool make_room_for_descriptor();
  void end_late_strangers(Time now);
  void listen_for(bool wanted);

  // Ends a connection. A peer that used it is lost.
  void end(Connection& connection, int error);
  void end_unproved(Connection& connection, int error);
  void keep_unsent(Connection& ending);
  void lose(int number, int error);
  void lose(int number, std::string why, bool was_silent);
  bool may_have_unread_data(const Peer& lost) const;
  bool report_losses();

  WireListener* listener_;
  const double patience_;
  const Interface interface_;
  tcp::Address own_{};
  WireKey key_{};
  bool is_accepting_ = false, is_listening_ = false;
  Time listen_again_{};
  UniqueFd listening_, events_;
  std::vector<std::unique_ptr<Peer>> peers_;
  std::unordered_map<std::string, int> peer_at_;            // by address
  std::unordered_map<std::string, Connection*> came_from_;  // accepted and proved, by address
  std::vector<std::unique_ptr<Connection>> connections_;
  std::vector<Connection*> strangers_;  // the oldest first
  std::vector<int> redialled_;          // peers
  std::vector<int> losses_;             // peers
  bool any_ended_ = false;
  std::vector<std::byte> room_;
  Connection* reading_from_ = nullptr;
  Connection* last_ = nullptr;    // the one that has brought data last
  int n_in_a_row_ = 0;            // how often it has, without another
  Connection* steady_ = nullptr;  // the one that epoll does not watch; nullptr: it watches all
  Time check_others_at_{};        // when to ask epoll, if there is a steady one
  tcp::TakeParcel take_parcel_;
};

}  // namespace meshmem

#endif  // MESHMEM_TRANSPORT_TCP_TCP_WIRE_HPP_
