// SPDX-License-Identifier: Apache-2.0
//
// Listens, and accepts connections. Those that have proved nothing yet are strangers. Closes the
// oldest stranger if there are too many, or if the process has no descriptor left. A process of the
// job that loses its connection this way connects again.
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstdint>
#include <utility>

#include "base/machine/socket_patience.hpp"
#include "transport/tcp/tcp_wire.hpp"

namespace meshmem {
namespace {

constexpr int kBacklog = 4096;
constexpr int kMostAtOnce = 16;  // so that proved connections get their turn
constexpr auto kPause = std::chrono::milliseconds(100);  // without a descriptor to accept with

// Returns 0 or an errno. A port counts as free although the kernel still remembers connections of
// an earlier job on it (SO_REUSEADDR).
int listen_at(sockaddr_storage at, int port, UniqueFd* made) {
  const bool is_ipv4 = at.ss_family == AF_INET;
  auto& place = is_ipv4 ? reinterpret_cast<sockaddr_in&>(at).sin_port
                        : reinterpret_cast<sockaddr_in6&>(at).sin6_port;
  place = htons(static_cast<std::uint16_t>(port));
  UniqueFd socket(::socket(at.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (socket.get() < 0) return errno;
  if (port != 0) set_option(socket.get(), SOL_SOCKET, SO_REUSEADDR, 1);
  const socklen_t bytes = is_ipv4 ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
  if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&at), bytes) != 0 ||
      ::listen(socket.get(), kBacklog) != 0)
    return errno;
  *made = std::move(socket);
  return 0;
}

}  // namespace

bool TcpWire::listen(int first, int last, std::string* error) {
  int problem = EADDRINUSE;
  for (int port = first; port <= last && problem == EADDRINUSE; ++port)
    problem = listen_at(interface_.address, port, &listening_);
  sockaddr_storage at{};
  socklen_t bytes = sizeof at;
  auto* const any = reinterpret_cast<sockaddr*>(&at);
  if (problem == 0 && ::getsockname(listening_.get(), any, &bytes) != 0) problem = errno;
  if (problem == 0) {
    own_ = tcp::make_address(at);
    return true;
  }
  const std::string why =
      problem == EADDRINUSE && first != 0
          ? fmt::format("no port from {} to {} is free (MESHMEM_TCP_PORT_RANGE)", first, last)
          : tcp::text_of(problem);
  *error = fmt::format("cannot listen on {} ({}): {}", interface_.name, interface_.text(), why);
  return false;
}

void TcpWire::accept_some() {
  for (int count = 0; count < kMostAtOnce; ++count) {
    UniqueFd socket(::accept4(listening_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (socket.get() < 0) {
      if (tcp::is_lack_of_room(errno) && !make_room_for_descriptor()) listen_for(false);
      return;
    }
    auto made = Connection::accept(std::move(socket), patience_);
    if (made == nullptr || !try_watch(*made)) continue;  // a peer dials again
    if (strangers_.size() >= kMostStrangers) end(*strangers_.front(), 0);
    strangers_.push_back(connections_.emplace_back(std::move(made)).get());
  }
}

// Closes the oldest stranger. False: there is none.
bool TcpWire::make_room_for_descriptor() {
  if (strangers_.empty()) return false;
  end(*strangers_.front(), 0);
  return true;
}

void TcpWire::end_late_strangers(Time now) {
  while (!strangers_.empty() && now > strangers_.front()->since() + kPatienceWithStrangers)
    end(*strangers_.front(), 0);
}

// Stops listening while no connection can be accepted: the waiting one would keep epoll ready, and
// wake the sleeping thread again and again.
void TcpWire::listen_for(bool wanted) {
  is_listening_ = wanted;
  epoll_event event{.events = wanted ? EPOLLIN : 0u, .data = {.ptr = nullptr}};
  ::epoll_ctl(events_.get(), EPOLL_CTL_MOD, listening_.get(), &event);
  if (!wanted) listen_again_ = tcp::Clock::now() + kPause;
}

}  // namespace meshmem
