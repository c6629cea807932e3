// SPDX-License-Identifier: Apache-2.0
//
// TCP sockets: listens, connects, and waits for events. A call that fails leaves its reason in
// errno.
#include "base/machine/sockets.hpp"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace meshmem {
namespace {

int close_and_fail(int fd, int error) {
  if (fd >= 0) close(fd);
  errno = error;
  return -1;
}

int listen_at(const sockaddr* address, socklen_t bytes) {
  const int fd = socket(address->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  const int off = 0;
  if (fd >= 0 && address->sa_family == AF_INET6)
    setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
  if (fd >= 0 && bind(fd, address, bytes) == 0 && listen(fd, SOMAXCONN) == 0) return fd;
  return close_and_fail(fd, errno);
}

}  // namespace

int listen_at_any_address(std::uint16_t* port) {
  sockaddr_in6 six{};
  six.sin6_family = AF_INET6;
  int fd = listen_at(reinterpret_cast<const sockaddr*>(&six), sizeof six);
  if (fd < 0) {
    sockaddr_in four{};
    four.sin_family = AF_INET;
    fd = listen_at(reinterpret_cast<const sockaddr*>(&four), sizeof four);
  }
  socklen_t bytes = sizeof six;
  if (fd < 0 || getsockname(fd, reinterpret_cast<sockaddr*>(&six), &bytes) != 0)
    return close_and_fail(fd, errno);
  *port = ntohs(six.sin6_port);  // the port is in the same place in both kinds of addresses
  return fd;
}

int connect_to_address(const std::string& address, const std::string& port,
                       std::chrono::milliseconds patience) {
  addrinfo wanted{}, *found = nullptr;
  wanted.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  wanted.ai_socktype = SOCK_STREAM;
  if (getaddrinfo(address.c_str(), port.c_str(), &wanted, &found) != 0)
    return close_and_fail(-1, EINVAL);
  const int fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  int error = 0;
  if (fd < 0 || connect(fd, found->ai_addr, found->ai_addrlen) != 0) error = errno;
  freeaddrinfo(found);
  if (fd >= 0 && error == EINPROGRESS) {
    socklen_t bytes = sizeof error;
    if (!wait_for_events(fd, POLLOUT, std::chrono::steady_clock::now() + patience))
      error = ETIMEDOUT;
    else if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &bytes) != 0)
      error = errno;
  }
  if (error != 0) return close_and_fail(fd, error);
  fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
  return fd;
}

bool wait_for_events(int fd, short events, std::chrono::steady_clock::time_point end) {
  constexpr long kMost = 1'000'000'000;
  pollfd wanted{.fd = fd, .events = events, .revents = 0};
  while (true) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
    const long milliseconds = std::clamp<long>(left.count(), 0, kMost);
    const int found = poll(&wanted, 1, static_cast<int>(milliseconds));
    if (found > 0) return true;
    if (found == 0 && milliseconds < kMost) return false;
  }
}

}  // namespace meshmem
