// SPDX-License-Identifier: Apache-2.0
//
// Reads from connections, and decides which of them epoll watches.
// Invariant: epoll watches all connections but the steady one (see handle_events). After arm() has
// returned true there is no steady one until data has come.
#include <sys/epoll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <span>
#include <string>
#include <utility>

#include "transport/tcp/tcp_wire.hpp"

namespace meshmem {

using tcp::as_text;
using tcp::Clock;
using tcp::Incoming;

namespace {

// While there is a steady connection, epoll is asked about the others this often. Naps between
// polls are longer, so the first poll after a nap always asks.
constexpr auto kCheckOthersEvery = std::chrono::microseconds(5);
// A connection that brings data this many times in a row becomes the steady one. To leave epoll's
// set and to join it again takes 1.4 us.
constexpr int kSteadyAfter = 8;

}  // namespace

bool TcpWire::progress() {
  bool any = handle_events();
  if (!strangers_.empty() || !redialled_.empty() || (is_accepting_ && !is_listening_)) {
    const Time now = Clock::now();
    end_late_strangers(now);
    dial_again(now);
    if (is_accepting_ && !is_listening_ && now >= listen_again_) listen_for(true);
  }
  if (!losses_.empty() && report_losses()) any = true;
  remove_ended();
  return any;
}

// Asking epoll takes .5 us when data has come, and .5 us more at the next call, in which epoll
// finds the socket empty. A read that finds nothing takes less. A send to a socket that epoll
// watches takes .15 us longer. So a connection that has brought data several times in a row leaves
// epoll's set, and becomes the steady one. Each poll reads it, and asks epoll about the others
// every few microseconds.
bool TcpWire::handle_events() {
  if (steady_ == nullptr) return handle_watched();
  Connection& steady = *steady_;
  if (!steady.outgoing.is_empty()) flush(steady);  // when epoll could not watch it again
  const bool any = take_from(steady);
  const Time now = Clock::now();
  if (now < check_others_at_) return any;
  check_others_at_ = now + kCheckOthersEvery;
  return handle_watched() || any;
}

// Handles this process's own dials last. If the peer's dial is to stay, the peer has sent its claim
// before its answer to this process's dial. So the claim is usually found first, and the own dial
// dropped. Otherwise each process sends on its own dial.
bool TcpWire::handle_watched() {
  std::array<epoll_event, 64> room;
  const int n = ::epoll_wait(events_.get(), room.data(), static_cast<int>(room.size()), 0);
  const std::span events(room.data(), static_cast<std::size_t>(std::max(n, 0)));
  if (n > 1)
    std::partition(events.begin(), events.end(), [](const epoll_event& event) {
      const auto* const connection = static_cast<const Connection*>(event.data.ptr);
      return connection == nullptr || connection->is_proved() || connection->is_accepted();
    });
  for (const epoll_event& event : events) {
    auto* const connection = static_cast<Connection*>(event.data.ptr);
    if (connection == nullptr) {
      accept_some();
    } else if (!connection->has_ended) {
      handle(*connection, (event.events & EPOLLOUT) != 0);
    }
  }
  return n > 0;
}

void TcpWire::handle(Connection& connection, bool may_write) {
  if (!connection.is_proved()) return shake_hands(connection);
  if (may_write) flush(connection);
  take_from(connection);
}

void TcpWire::shake_hands(Connection& connection) {
  switch (connection.advance(key_, own_)) {
    case Connection::Step::waits:
      return;
    case Connection::Step::is_proved:
      return note_proved(connection);
    case Connection::Step::has_ended:
      return end(connection, connection.error);
    case Connection::Step::is_refused:
      if (!connection.is_accepted())
        lose(connection.peer, "another process answers in its place", false);
      return end(connection, 0);
  }
}

void TcpWire::note_proved(Connection& connection) {
  if (connection.is_accepted()) {
    std::erase(strangers_, &connection);
    came_from_[std::string(as_text(connection.other()))] = &connection;
    take_accepted_instead_of_dial(connection);
  }
  flush(connection);
  take_from(connection);
}

bool TcpWire::take_from(Connection& connection) {
  reading_from_ = &connection;
  switch (connection.incoming.read(connection.descriptor(), room_, take_parcel_)) {
    case Incoming::Got::nothing:
      if (connection.error == 0) return false;
      end(connection, connection.error);
      return true;
    case Incoming::Got::something:
      note_data_from(connection);
      return true;
    case Incoming::Got::end:
      end(connection, 0);
      return true;
    case Incoming::Got::failure:
      end(connection, errno);
      return true;
    case Incoming::Got::invalid:
      break;
  }
  const auto known = peer_at_.find(std::string(as_text(connection.other())));
  if (known != peer_at_.end()) lose(known->second, "it has sent an invalid message", false);
  end(connection, 0);
  return true;
}

void TcpWire::take(Connection& connection, const tcp::Lengths& lengths, const std::byte* head,
                   const std::byte* body) {
  connection.was_used = true;
  int sender = -1;
  if (lengths.introduces != 0 && listener_->accepts_introduction(head, lengths.head_bytes))
    sender = connect(as_text(connection.other()));
  listener_->handle_message(sender, head, lengths.head_bytes, body, lengths.body_bytes);
}

// ---- Watching

bool TcpWire::try_watch(Connection& connection) {
  epoll_event event{.events = EPOLLIN, .data = {.ptr = &connection}};
  return ::epoll_ctl(events_.get(), EPOLL_CTL_ADD, connection.descriptor(), &event) == 0;
}

void TcpWire::watch(Connection& connection) {
  const bool awaits_room = connection.is_proved() && !connection.outgoing.is_empty();
  if (awaits_room == connection.awaits_room) return;
  if (&connection == steady_) {
    watch_all();
    return;
  }
  connection.awaits_room = awaits_room;
  epoll_event event{.events = EPOLLIN, .data = {.ptr = &connection}};
  if (awaits_room) event.events |= EPOLLOUT;
  ::epoll_ctl(events_.get(), EPOLL_CTL_MOD, connection.descriptor(), &event);
}

void TcpWire::note_data_from(Connection& connection) {
  if (&connection == steady_) return;
  if (!watch_all()) return;
  n_in_a_row_ = std::exchange(last_, &connection) == &connection ? n_in_a_row_ + 1 : 1;
  if (n_in_a_row_ < kSteadyAfter || connection.awaits_room) return;
  steady_ = &connection;
  ::epoll_ctl(events_.get(), EPOLL_CTL_DEL, connection.descriptor(), nullptr);
}

bool TcpWire::watch_all() {
  if (steady_ == nullptr) return true;
  if (!try_watch(*steady_)) return false;
  n_in_a_row_ = 0;
  watch(*std::exchange(steady_, nullptr));
  return true;
}

bool TcpWire::arm() { return watch_all() && losses_.empty(); }

}  // namespace meshmem
