// SPDX-License-Identifier: Apache-2.0
//
// One socket to another process, which carries parcels both ways once both ends are proved.
// Invariant: until then exactly the bytes of the handshake are read, and nothing else is looked at.
// Owned by TcpWire.
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
  enum class State { awaits_greeting, awaits_answer, awaits_claim, is_proved };
  enum class Step { waits, is_proved, has_ended, is_refused };

  // To another process, whose address is known; `from`: this one's.
  static std::unique_ptr<Connection> dial(const Address& from, const Address& to, int peer,
                                          double patience, int* error);
  // Of somebody, who is greeted.
  static std::unique_ptr<Connection> accept(UniqueFd socket, double patience);

  // Goes on with the handshake, as far as bytes have come.
  Step advance(const WireKey& key, const Address& own);

  int descriptor() const { return socket_.get(); }
  bool is_proved() const { return state_ == State::is_proved; }
  bool is_accepted() const { return is_accepted_; }
  // This end has sent its claim, so the other end may have proved the connection already.
  bool has_claimed() const { return !is_accepted_ && state_ != State::awaits_greeting; }
  const Address& other() const { return other_; }
  Clock::time_point since() const { return since_; }

  Outgoing outgoing;
  Incoming incoming;
  int peer = -1;          // -1: nobody whom the listener knows
  bool was_used = false;  // for a parcel
  bool has_ended = false;
  bool awaits_room = false;  // as epoll has been told
  int error = 0;             // of a send

 private:
  Connection(UniqueFd socket, bool is_accepted, double patience);
  // 1: whole; 0: not yet; -1: has ended.
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
  std::array<char, sizeof(Claim)> heard_{};
  std::size_t n_heard_ = 0;
};

bool is_lack_of_room(int error);  // no descriptor or memory for a socket
bool is_silence(int error);
std::string text_of(int error);
// Text such as "its connection has ended". `patience` is the value of MESHMEM_KEEPALIVE.
std::string reason_of(int error, double patience);

}  // namespace meshmem::tcp

#endif  // MESHMEM_TRANSPORT_TCP_CONNECTION_HPP_
