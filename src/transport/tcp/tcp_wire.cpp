// SPDX-License-Identifier: Apache-2.0
//
// Opens the wire, dials and ends connections, sends messages, and reports lost peers.
#include "transport/tcp/tcp_wire.hpp"

#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace meshmem {

using tcp::as_text;
using tcp::Clock;

namespace {

constexpr std::size_t kReadBufferBytes = 256 * 1024;
// This process dials again if the peer had too many strangers and closed the connection, or if this
// process itself had no free descriptor. It limits the tries and not the time, since a stopped
// process does not try.
constexpr auto kDialsAgainAfter = std::chrono::milliseconds(50);
constexpr int kMostDials = 100;
// How long a lost peer's other connection may still have data to read.
constexpr auto kDrainTime = std::chrono::milliseconds(500);

}  // namespace

// ---- Opening and closing

std::unique_ptr<TcpWire> TcpWire::open(const WireRequest& request, std::string* error) {
  const std::string device = request.device != nullptr ? request.device : "";
  const auto interface = choose_interface(interfaces_up(), device, error);
  if (!interface) return nullptr;
  std::unique_ptr<TcpWire> wire(new TcpWire(request, *interface));
  if (!wire->listen(request.first_port, request.last_port, error)) return nullptr;
  wire->events_ = UniqueFd(::epoll_create1(EPOLL_CLOEXEC));
  epoll_event none_yet{.events = 0, .data = {.ptr = nullptr}};  // listen_for() changes that
  if (wire->events_.get() >= 0 &&
      ::epoll_ctl(wire->events_.get(), EPOLL_CTL_ADD, wire->listening_.get(), &none_yet) == 0)
    return wire;
  *error = fmt::format("cannot watch the connections of {} ({}): {}", interface->name,
                       interface->text(), tcp::text_of(errno));
  return nullptr;
}

TcpWire::TcpWire(const WireRequest& request, const Interface& interface)
    : listener_(request.listener),
      patience_(request.keepalive_seconds),
      interface_(interface),
      room_(kReadBufferBytes),
      take_parcel_([this](const tcp::Lengths& lengths, const std::byte* head,
                          const std::byte* body) { take(*reading_from_, lengths, head, body); }) {}

void TcpWire::accept_connections(const WireKey& key) {
  key_ = key;
  if (!std::exchange(is_accepting_, true)) listen_for(true);
}

TcpWire::~TcpWire() {
  for (const auto& peer : peers_)
    peer->is_lost = true;  // sent() may call send(), which then drops the message
  for (const auto& peer : peers_) peer->waiting.give_back();
  for (const auto& connection : connections_) {
    ::shutdown(connection->descriptor(), SHUT_WR);
    connection->outgoing.give_back();
  }
}

// ---- Connections

void TcpWire::end(Connection& connection, int error) {
  if (std::exchange(connection.has_ended, true)) return;
  any_ended_ = true;
  keep_unsent(connection);
  if (!connection.is_proved()) return end_unproved(connection, error);
  const auto came = came_from_.find(std::string(as_text(connection.other())));
  if (connection.is_accepted() && came != came_from_.end() && came->second == &connection)
    came_from_.erase(came);
  if (!connection.was_used) return;
  const auto known = peer_at_.find(std::string(as_text(connection.other())));
  if (known != peer_at_.end())
    lose(known->second, connection.error != 0 ? connection.error : error);
}

void TcpWire::end_unproved(Connection& connection, int error) {
  if (connection.is_accepted()) {
    std::erase(strangers_, &connection);
    return;
  }
  if (error != 0 && error != ECONNRESET && error != EPIPE) return lose(connection.peer, error);
  dial_later(connection.peer, error);
}

// Unsent messages wait for the peer's next connection, or are given back when the peer is lost.
void TcpWire::keep_unsent(Connection& ending) {
  if (ending.peer < 0) return;
  Peer& peer = *peers_[static_cast<std::size_t>(ending.peer)];
  if (peer.out != &ending) return;
  peer.out = nullptr;
  std::swap(peer.waiting, ending.outgoing);
}

// A child of fork may hold the socket too. Then close() neither ends the connection nor removes it
// from epoll's set, so do both here.
void TcpWire::remove_ended() {
  if (!std::exchange(any_ended_, false)) return;
  if (steady_ != nullptr && steady_->has_ended) steady_ = nullptr;
  last_ = nullptr;
  std::erase_if(connections_, [&](const auto& one) {
    if (!one->has_ended) return false;
    ::epoll_ctl(events_.get(), EPOLL_CTL_DEL, one->descriptor(), nullptr);
    ::shutdown(one->descriptor(), SHUT_RDWR);
    return true;
  });
}

// ---- Peers

int TcpWire::connect(std::string_view address) {
  const auto [place, is_new] =
      peer_at_.try_emplace(std::string(address), static_cast<int>(peers_.size()));
  if (is_new) {
    auto& peer = *peers_.emplace_back(std::make_unique<Peer>());
    std::copy_n(address.begin(), std::min(address.size(), peer.address.size()),
                peer.address.begin());
  }
  return place->second;
}

void TcpWire::dial(int number) {
  Peer& peer = *peers_[static_cast<std::size_t>(number)];
  int error = 0;
  auto made = Connection::dial(own_, peer.address, number, patience_, &error);
  if (made == nullptr) {
    if (!tcp::is_lack_of_room(error)) return lose(number, tcp::text_of(error), false);
    make_room_for_descriptor();
    return dial_later(number, error);
  }
  if (!try_watch(*made))
    return lose(number, fmt::format("its connection cannot be watched: {}", tcp::text_of(errno)),
                false);
  peer.out = connections_.emplace_back(std::move(made)).get();
  std::swap(peer.out->outgoing, peer.waiting);
}

void TcpWire::dial_later(int number, int error) {
  Peer& peer = *peers_[static_cast<std::size_t>(number)];
  if (++peer.n_dials >= kMostDials) return lose(number, error);
  peer.dials_again = true;
  peer.dial_at = Clock::now() + kDialsAgainAfter;
  redialled_.push_back(number);
}

void TcpWire::dial_again(Time now) {
  for (const int number : std::exchange(redialled_, {})) {
    Peer& peer = *peers_[static_cast<std::size_t>(number)];
    if (now < peer.dial_at)
      redialled_.push_back(number);
    else if (std::exchange(peer.dials_again, false) && !peer.is_lost)
      dial(number);
  }
}

// Uses the connection that the peer has made, or dials.
void TcpWire::find_connection(int number) {
  Peer& peer = *peers_[static_cast<std::size_t>(number)];
  const auto came = came_from_.find(std::string(as_text(peer.address)));
  if (came != came_from_.end()) return send_by(*came->second, number);
  dial(number);
}

// If two processes dial each other at once, the connection that the process with the greater
// address has dialled usually stays, and the other process sends on it too. A connection that
// carries data both ways needs no packets of its own for acknowledgements. A dial on which this
// process has not yet sent its claim is dropped in any case.
void TcpWire::take_accepted_instead_of_dial(Connection& accepted) {
  const auto known = peer_at_.find(std::string(as_text(accepted.other())));
  if (known == peer_at_.end()) return;
  Peer& peer = *peers_[static_cast<std::size_t>(known->second)];
  Connection* const dialled = peer.out;
  if (peer.is_lost || (dialled == nullptr && !peer.dials_again)) return;
  if (dialled != nullptr) {
    if (dialled->is_proved()) return;
    if (dialled->has_claimed() && accepted.other() < own_) return;
    dialled->has_ended = any_ended_ = true;
  }
  std::swap(accepted.outgoing, dialled != nullptr ? dialled->outgoing : peer.waiting);
  peer.dials_again = false;
  send_by(accepted, known->second);
}

void TcpWire::send_by(Connection& accepted, int number) {
  peers_[static_cast<std::size_t>(number)]->out = &accepted;
  accepted.was_used = true;
  accepted.peer = number;
}

void TcpWire::send(int number, const Message& message) {
  Peer& peer = *peers_[static_cast<std::size_t>(number)];
  if (peer.out == nullptr && !peer.is_lost && !peer.dials_again) find_connection(number);
  if (peer.is_lost) return message.sent(message.argument);
  if (peer.out == nullptr) return peer.waiting.keep(message);
  Connection& out = *peer.out;
  if (!out.is_proved() || out.error != 0 || out.has_ended) return out.outgoing.keep(message);
  out.error = out.outgoing.send(out.descriptor(), message);
  watch(out);
}

// Keeps an error of a send: data that has come is read before the error ends the connection.
void TcpWire::flush(Connection& connection) {
  if (connection.error == 0) connection.error = connection.outgoing.flush(connection.descriptor());
  watch(connection);
}

// ---- Losses

void TcpWire::lose(int number, int error) {
  lose(number, tcp::reason_of(error, patience_), tcp::is_silence(error));
}

void TcpWire::lose(int number, std::string why, bool was_silent) {
  Peer& peer = *peers_[static_cast<std::size_t>(number)];
  if (std::exchange(peer.is_lost, true)) return;
  peer.why = std::move(why);
  peer.was_silent = was_silent;
  peer.lost_at = Clock::now();
  losses_.push_back(number);
}

bool TcpWire::may_have_unread_data(const Peer& lost) const {
  return Clock::now() < lost.lost_at + kDrainTime &&
         std::ranges::any_of(connections_, [&](const auto& one) {
           return one->is_proved() && one->was_used && !one->has_ended &&
                  one->other() == lost.address;
         });
}

bool TcpWire::report_losses() {
  bool any = false;
  for (const int number : std::exchange(losses_, {})) {
    Peer& peer = *peers_[static_cast<std::size_t>(number)];
    if (may_have_unread_data(peer)) {
      losses_.push_back(number);
      continue;
    }
    any = true;
    for (std::size_t i = 0; i < connections_.size(); ++i) {
      Connection& connection = *connections_[i];
      if (connection.peer != number && connection.other() != peer.address) continue;
      end(connection, 0);
    }
    peer.waiting.give_back();
    listener_->handle_loss(number, peer.why, peer.was_silent);
  }
  return any;
}

}  // namespace meshmem
