// SPDX-License-Identifier: Apache-2.0
//
// Feeds a TCP connection with libFuzzer's input: a byte of flags (kDials, kProves), a byte for the
// length of the pieces in which the stream arrives, and the stream.
// Invariant: without a proof the connection is not proved, and takes nothing. With one it takes
// exactly the parcels that a reader with the whole stream finds.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "transport/tcp/connection.hpp"

namespace meshmem::tcp {
namespace {

constexpr WireKey kKey = {1, 2, 3};
constexpr unsigned kDials = 1, kProves = 2;

void require(bool is_so) {
  if (!is_so) std::abort();
}

template <typename Thing>
std::string bytes_of(const Thing& thing) {
  return {reinterpret_cast<const char*>(&thing), sizeof thing};
}

template <typename Thing>
Thing hear(int socket) {
  Thing thing{};
  require(::recv(socket, &thing, sizeof thing, MSG_WAITALL) == ssize_t{sizeof thing});
  return thing;
}

void say(int socket, std::string_view text) {
  const ssize_t sent = ::send(socket, text.data(), text.size(), MSG_NOSIGNAL);
  if (sent < 0) return;  // the connection has ended
  require(sent == static_cast<ssize_t>(text.size()));
}

// The result of the reader that has the whole stream at once.
struct Expected {
  std::vector<std::string> parcels;
  bool is_nonsense = false;
};
Expected read_all(std::string_view stream) {
  Expected all;
  Lengths lengths;
  while (stream.size() >= sizeof lengths) {
    std::memcpy(&lengths, stream.data(), sizeof lengths);
    if (lengths.mark != kMark || lengths.head_bytes > 64 || lengths.body_bytes > 1 << 20 ||
        lengths.introduces > 1) {
      all.is_nonsense = true;
      break;
    }
    const std::size_t whole = sizeof lengths + lengths.head_bytes + lengths.body_bytes;
    if (stream.size() < whole) break;
    all.parcels.emplace_back(stream.substr(0, whole));
    stream.remove_prefix(whole);
  }
  return all;
}

// The connection under test, and the other end of its socket.
class Fed {
 public:
  explicit Fed(bool dials, std::size_t room) : room_(room) {
    dials ? dial() : accept();
    require(connection_ != nullptr);
  }
  ~Fed() {
    const linger at_once{1, 0};  // closed sockets would use up the ports otherwise
    ::setsockopt(there_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    ::close(there_);
  }
  Fed(const Fed&) = delete;

  void prove(bool dials) {
    if (dials) {
      const Greeting greeting = make_greeting();
      say(there_, bytes_of(greeting));
      go_on();
      say(there_, bytes_of(make_answer(kKey, greeting, hear<Claim>(there_), listening_address())));
    } else {
      const auto greeting = hear<Greeting>(there_);
      say(there_, bytes_of(make_claim(kKey, greeting, Address{}, Address{})));
    }
    go_on();
    require(connection_->is_proved());
  }

  void take(std::string_view stream, std::size_t piece) {
    for (; !stream.empty() && !has_ended_; stream.remove_prefix(std::min(piece, stream.size()))) {
      say(there_, stream.substr(0, piece));
      go_on();
    }
    ::shutdown(there_, SHUT_WR);
    while (!has_ended_) go_on();
  }

  bool is_proved() const { return connection_->is_proved(); }
  const Expected& taken() const { return taken_; }

 private:
  static const Address& listening_address() {
    static const Address address = [] {
      sockaddr_storage at{};
      socklen_t bytes = sizeof at;
      ::getsockname(listening(), reinterpret_cast<sockaddr*>(&at), &bytes);
      return make_address(at);
    }();
    return address;
  }
  static int listening() {
    static const int socket = [] {
      sockaddr_in at{};
      at.sin_family = AF_INET;
      at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
      const int made = ::socket(AF_INET, SOCK_STREAM, 0);
      require(::bind(made, reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0);
      require(::listen(made, 16) == 0);
      return made;
    }();
    return socket;
  }

  void dial() {
    int error = 0;
    connection_ = Connection::dial(Address{}, listening_address(), 0, 0, &error);
    there_ = ::accept(listening(), nullptr, nullptr);
    const int yes = 1;
    ::setsockopt(there_, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  }
  void accept() {
    int sockets[2];
    require(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) == 0);
    there_ = sockets[0];
    connection_ = Connection::accept(UniqueFd(sockets[1]), 0);
  }

  // Waits for data, then lets the connection handle all that has arrived.
  void go_on() {
    pollfd ready{connection_->descriptor(), POLLIN, 0};
    require(::poll(&ready, 1, 5000) == 1);
    if (!connection_->is_proved()) {
      const auto step = connection_->advance(kKey, Address{});
      has_ended_ = step == Connection::Step::has_ended || step == Connection::Step::is_refused;
    }
    while (!has_ended_ && connection_->is_proved() && read()) continue;
  }
  bool read() {
    const auto take = [this](const Lengths& lengths, const std::byte* head, const std::byte* body) {
      taken_.parcels.push_back(
          bytes_of(lengths) + std::string(reinterpret_cast<const char*>(head), lengths.head_bytes) +
          std::string(reinterpret_cast<const char*>(body), lengths.body_bytes));
    };
    const auto got = connection_->incoming.read(connection_->descriptor(), room_, take);
    taken_.is_nonsense = got == Incoming::Got::invalid;
    has_ended_ = got != Incoming::Got::nothing && got != Incoming::Got::something;
    return got == Incoming::Got::something;
  }

  std::unique_ptr<Connection> connection_;
  int there_ = -1;
  std::vector<std::byte> room_;
  Expected taken_;
  bool has_ended_ = false;
};

}  // namespace
}  // namespace meshmem::tcp

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes) {
  using namespace meshmem::tcp;
  if (bytes < 2) return 0;
  const bool dials = (data[0] & kDials) != 0, proves = (data[0] & kProves) != 0;
  const std::string_view stream(reinterpret_cast<const char*>(data) + 2, bytes - 2);
  Fed fed(dials, 64 + 4 * std::size_t{data[1]});
  if (proves) fed.prove(dials);
  fed.take(stream, std::max(1 + std::size_t{data[1]}, stream.size() / 64));  // at most 64 pieces
  const Expected expected = proves ? read_all(stream) : Expected{};
  require(fed.is_proved() == proves);
  require(fed.taken().parcels == expected.parcels);
  require(fed.taken().is_nonsense == expected.is_nonsense);
  return 0;
}
