// SPDX-License-Identifier: Apache-2.0
//
// One socket to another process. After the handshake has proved both ends, it carries parcels both
// ways.
// Invariant: before that, exactly the bytes of the handshake are read. Owned by TcpWire.
#ifndef MESHMEM_TRANSPORT_TCP_CONNECTION_HPP_
#define MESHMEM_TRANSPORT_TCP_CONNECTION_HPP_

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "base/machine/unique_fd.hpp"
#include "transport/tcp/handshake.hpp"
#include "transport/tcp/parcels.hpp"

namespace meshmem::tcp {

using Clock = std::chrono::steady_clock;

class Connection {
 public:
  // How far the handshake has come.
  enum class State {
    awaits_greeting,  // dialled: the other end has sent nothing yet
    awaits_answer,    // dialled: this end has sent its claim
    awaits_claim,     // accepted: this end has sent its greeting
    is_proved,
  };
  // The result of advance().
  enum class Step {
    waits,       // the next message has not come as a whole
    is_proved,   // the other end has the job's key
    has_ended,   // the connection was closed or has failed
    is_refused,  // the other end has sent a wrong message or proof
  };

  // Connects from this process's address to another's. Returns nullptr and sets *error (an errno)
  // if that fails at once.
  static std::unique_ptr<Connection> dial(const Address& from, const Address& to, int peer,
                                          double patience, int* error);
  // Takes over a connection that the listening socket has accepted, and sends the greeting.
  static std::unique_ptr<Connection> accept(UniqueFd socket, double patience);

  // Continues the handshake with the bytes that have come.
  Step advance(const WireKey& key, const Address& own);

  int descriptor() const { return socket_.get(); }
  bool is_proved() const { return state_ == State::is_proved; }
  bool is_accepted() const { return is_accepted_; }
  // True if this end has sent its claim, so that the other end may consider it proved already.
  bool has_claimed() const { return !is_accepted_ && state_ != State::awaits_greeting; }
  const Address& other() const { return other_; }
  Clock::time_point since() const { return since_; }

  Outgoing outgoing;
  Incoming incoming;
  int peer = -1;          // the wire's number of the peer to which this process sends by it
  bool was_used = false;  // dialled, used for sending, or a parcel has come
  bool has_ended = false;
  bool awaits_room = false;  // epoll watches for EPOLLOUT too
  int error = 0;             // errno of a send, or of a read in the handshake

 private:
  Connection(UniqueFd socket, bool is_accepted, double patience);
  // Reads a message of the handshake. 1: it is complete; 0: not yet; -1: the connection has ended.
  int read_whole(std::size_t bytes);
  bool write_whole(const void* from, std::size_t bytes);
  Step take_greeting(const WireKey& key, const Address& own);
  Step take_answer(const WireKey& key, const Address& own);
  Step take_claim(const WireKey& key, const Address& own);

  UniqueFd socket_;
  State state_;
  bool is_accepted_;
  Clock::time_point since_;
  Address other_{};
  Greeting greeting_{};
  Claim claim_{};
  std::array<char, sizeof(Claim)> received_{};
  std::size_t n_received_ = 0;
};

bool is_lack_of_room(int error);  // no descriptor or memory for a socket
bool is_silence(int error);
std::string text_of(int error);
// Text such as "its connection has ended". `patience`: seconds, from MESHMEM_KEEPALIVE.
std::string reason_of(int error, double patience);

}  // namespace meshmem::tcp

#endif  // MESHMEM_TRANSPORT_TCP_CONNECTION_HPP_
