// SPDX-License-Identifier: Apache-2.0
//
// The steps of the handshake. Its messages are so small that an empty socket takes each at once. If
// a socket does not, the connection is closed.
#include "transport/tcp/connection.hpp"

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

#include <cctype>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/machine/socket_patience.hpp"

namespace meshmem::tcp {

Connection::Connection(UniqueFd socket, bool is_accepted, double patience)
    : socket_(std::move(socket)),
      state_(is_accepted ? State::awaits_claim : State::awaits_greeting),
      is_accepted_(is_accepted),
      since_(Clock::now()) {
  set_option(descriptor(), IPPROTO_TCP, TCP_NODELAY, 1);
  if (patience > 0) be_patient(descriptor(), patience);
}

std::unique_ptr<Connection> Connection::dial(const Address& from, const Address& to, int peer,
                                             double patience, int* error) {
  sockaddr_storage there{}, here{};
  const socklen_t bytes = read_address(as_text(to), &there);
  UniqueFd socket(::socket(there.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  *error = errno;
  if (socket.get() < 0) return nullptr;
  std::unique_ptr<Connection> made(new Connection(std::move(socket), false, patience));
  made->other_ = to;
  made->peer = peer;
  made->was_used = true;
  // Use the job's interface, with any port.
  if (read_address(as_text(from), &here) == bytes) {
    auto& port = here.ss_family == AF_INET ? reinterpret_cast<sockaddr_in&>(here).sin_port
                                           : reinterpret_cast<sockaddr_in6&>(here).sin6_port;
    port = 0;
    set_option(made->descriptor(), IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1);
    (void)::bind(made->descriptor(), reinterpret_cast<const sockaddr*>(&here), bytes);
  }
  const auto* const at = reinterpret_cast<const sockaddr*>(&there);
  if (::connect(made->descriptor(), at, bytes) == 0 || errno == EINPROGRESS) return made;
  *error = errno;
  return nullptr;
}

std::unique_ptr<Connection> Connection::accept(UniqueFd socket, double patience) {
  std::unique_ptr<Connection> made(new Connection(std::move(socket), true, patience));
  made->greeting_ = make_greeting();
  if (!made->write_whole(&made->greeting_, sizeof made->greeting_)) return nullptr;
  return made;
}

int Connection::read_whole(std::size_t bytes) {
  while (n_received_ < bytes) {
    const ssize_t got =
        ::recv(descriptor(), received_.data() + n_received_, bytes - n_received_, MSG_DONTWAIT);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return 0;
    if (got <= 0) {
      error = got < 0 ? errno : 0;
      return -1;
    }
    n_received_ += static_cast<std::size_t>(got);
  }
  n_received_ = 0;
  return 1;
}

bool Connection::write_whole(const void* from, std::size_t bytes) {
  const ssize_t sent = ::send(descriptor(), from, bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
  return sent == static_cast<ssize_t>(bytes);
}

Connection::Step Connection::advance(const WireKey& key, const Address& own) {
  const std::size_t wanted = state_ == State::awaits_greeting ? sizeof(Greeting)
                             : state_ == State::awaits_answer ? sizeof(Digest)
                                                              : sizeof(Claim);
  const int got = read_whole(wanted);
  if (got <= 0) return got == 0 ? Step::waits : Step::has_ended;
  switch (state_) {
    case State::awaits_greeting:
      return take_greeting(key, own);
    case State::awaits_answer:
      return take_answer(key, own);
    case State::awaits_claim:
      return take_claim(key, own);
    case State::is_proved:
      break;
  }
  return Step::is_proved;
}

Connection::Step Connection::take_greeting(const WireKey& key, const Address& own) {
  std::memcpy(&greeting_, received_.data(), sizeof greeting_);
  if (!is_greeting(greeting_)) return Step::is_refused;
  claim_ = make_claim(key, greeting_, own, other_);
  if (!write_whole(&claim_, sizeof claim_)) return Step::has_ended;
  state_ = State::awaits_answer;
  return advance(key, own);
}

Connection::Step Connection::take_answer(const WireKey& key, const Address&) {
  Digest answer;
  std::memcpy(answer.data(), received_.data(), answer.size());
  if (!is_same(answer, make_answer(key, greeting_, claim_, other_))) return Step::is_refused;
  state_ = State::is_proved;
  return Step::is_proved;
}

Connection::Step Connection::take_claim(const WireKey& key, const Address& own) {
  std::memcpy(&claim_, received_.data(), sizeof claim_);
  if (!meshmem::tcp::is_proved(key, greeting_, claim_, own)) return Step::is_refused;
  other_ = claim_.address;
  const Digest answer = make_answer(key, greeting_, claim_, own);
  if (!write_whole(answer.data(), answer.size())) return Step::has_ended;
  state_ = State::is_proved;
  return Step::is_proved;
}

// If packets have no route any more, the kernel reports that instead of a timeout.
bool is_silence(int error) {
  return error == ETIMEDOUT || error == EHOSTUNREACH || error == ENETUNREACH;
}

bool is_lack_of_room(int error) {
  return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
}

std::string text_of(int error) {
  std::string text = std::strerror(error);
  if (!text.empty()) text[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(text[0])));
  return text;
}

std::string reason_of(int error, double patience) {
  if (is_silence(error) && patience > 0)
    return fmt::format("it was silent for {} s (MESHMEM_KEEPALIVE)", patience);
  if (error == 0 || error == ECONNRESET || error == EPIPE) return "its connection has ended";
  return text_of(error);
}

}  // namespace meshmem::tcp
