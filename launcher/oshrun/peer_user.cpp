// SPDX-License-Identifier: Apache-2.0
// Asks the kernel for the socket at the other end, by one question of netlink (sock_diag). Where a
// kernel lacks that, it searches /proc/net/tcp, which lists all sockets of the machine.
// Invariant: only an established socket that a process holds counts. The kernel reports closed ones
// as root's.
#include "peer_user.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cstdint>
#include <cstring>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>

#include "base/machine/unique_fd.hpp"

namespace meshmem {
namespace {

// A connection as the other end sees it: its source is the other end, about whose socket the kernel
// is asked.
struct Connection {
  int family = AF_UNSPEC;
  inet_diag_sockid ends{};  // IPv4 uses the first word of an address
};

void take_apart(const sockaddr_storage& at, __be32* address, __be16& port) {
  if (at.ss_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(at);
    address[0] = v4.sin_addr.s_addr;
    port = v4.sin_port;
  } else {
    const auto& v6 = reinterpret_cast<const sockaddr_in6&>(at);
    std::memcpy(address, &v6.sin6_addr, sizeof(v6.sin6_addr));
    port = v6.sin6_port;
  }
}

std::optional<Connection> describe(int socket) {
  sockaddr_storage here{}, there{};
  socklen_t here_bytes = sizeof(here), there_bytes = sizeof(there);
  if (::getsockname(socket, reinterpret_cast<sockaddr*>(&here), &here_bytes) != 0 ||
      ::getpeername(socket, reinterpret_cast<sockaddr*>(&there), &there_bytes) != 0 ||
      (here.ss_family != AF_INET && here.ss_family != AF_INET6)) {
    return std::nullopt;
  }
  Connection connection{here.ss_family};
  inet_diag_sockid& ends = connection.ends;
  take_apart(there, ends.idiag_src, ends.idiag_sport);
  take_apart(here, ends.idiag_dst, ends.idiag_dport);
  ends.idiag_cookie[0] = ends.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
  return connection;
}

// --- By netlink ------------------------------------------------------------------------------

struct Question {
  nlmsghdr header;
  inet_diag_req_v2 about;
};

// Asks about the socket at the connection's other end.
Question make_question(const Connection& connection) {
  Question question{};
  question.header.nlmsg_len = sizeof(question);
  question.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  question.header.nlmsg_flags = NLM_F_REQUEST;
  question.about.sdiag_family = static_cast<std::uint8_t>(connection.family);
  question.about.sdiag_protocol = IPPROTO_TCP;
  question.about.idiag_states = ~0U;
  question.about.id = connection.ends;
  return question;
}

PeerUser ask_netlink(const Connection& connection) {
  const PeerUser unknown{false, std::nullopt};  // "no entry" may also mean a kernel that lacks this
  UniqueFd netlink(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG));
  const Question question = make_question(connection);
  if (!netlink.is_open() || ::send(netlink.get(), &question, sizeof(question), 0) < 0)
    return unknown;
  alignas(nlmsghdr) char answer[4096];
  const ssize_t bytes = ::recv(netlink.get(), answer, sizeof(answer), MSG_DONTWAIT);
  const auto& header = *reinterpret_cast<const nlmsghdr*>(answer);
  if (bytes < static_cast<ssize_t>(NLMSG_SPACE(sizeof(inet_diag_msg))) ||
      header.nlmsg_type != SOCK_DIAG_BY_FAMILY) {
    return unknown;
  }
  // The kernel may also answer with a socket that listens at the other end's address.
  const auto& found = *static_cast<const inet_diag_msg*>(NLMSG_DATA(&header));
  if (found.idiag_state != TCP_ESTABLISHED || found.idiag_inode == 0) return {};
  return PeerUser{true, found.idiag_uid};
}

// --- By /proc/net/tcp ------------------------------------------------------------------------

std::string hex_of(int family, const __be32* address, __be16 port) {
  std::string text;
  for (int word = 0; word < (family == AF_INET ? 1 : 4); ++word)
    text += fmt::format("{:08X}", address[word]);
  return fmt::format("{}:{:04X}", text, ntohs(port));
}

PeerUser search_proc(const Connection& connection) {
  std::ifstream table(connection.family == AF_INET ? "/proc/net/tcp" : "/proc/net/tcp6");
  std::string line;
  if (!std::getline(table, line)) return PeerUser{false, std::nullopt};
  const inet_diag_sockid& id = connection.ends;
  const std::string ends =
      fmt::format(" {} {} 01 ", hex_of(connection.family, id.idiag_src, id.idiag_sport),
                  hex_of(connection.family, id.idiag_dst, id.idiag_dport));
  while (std::getline(table, line)) {
    const std::size_t place = line.find(ends);
    if (place == std::string::npos) continue;
    std::istringstream words(line.substr(place + ends.size()));
    std::string queues, timer, retries;
    uid_t user = 0;
    unsigned long timeout = 0, inode = 0;
    if (words >> queues >> timer >> retries >> user >> timeout >> inode && inode != 0)
      return PeerUser{true, user};
  }
  return {};
}

}  // namespace

PeerUser user_by_netlink(int socket) {
  const std::optional<Connection> connection = describe(socket);
  return connection ? ask_netlink(*connection) : PeerUser{};
}

PeerUser user_by_proc(int socket) {
  const std::optional<Connection> connection = describe(socket);
  return connection ? search_proc(*connection) : PeerUser{};
}

PeerUser user_of_peer(int socket) {
  const PeerUser answer = user_by_netlink(socket);
  return answer.can_be_known ? answer : user_by_proc(socket);
}

}  // namespace meshmem
