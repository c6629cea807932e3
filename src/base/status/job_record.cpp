// SPDX-License-Identifier: Apache-2.0
//
// The process has one connection to oshrun, which stays open until the process ends. So oshrun also
// sees this end.
#include "base/status/job_record.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <mutex>
#include <string_view>

#include "base/error.hpp"

namespace meshmem {
namespace {

constexpr int kPatienceMs = 2000;  // for one address

std::string take_word(std::string_view& text) {
  const std::size_t end = text.find('/');
  const std::string word(text.substr(0, end));
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return word;
}

// Returns a connected socket, or -1 if the address does not answer.
int connect_to(const std::string& address, const std::string& port) {
  addrinfo wanted{}, *found = nullptr;
  wanted.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  wanted.ai_socktype = SOCK_STREAM;
  if (::getaddrinfo(address.c_str(), port.c_str(), &wanted, &found) != 0) return -1;
  const int fd = ::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd >= 0) ::connect(fd, found->ai_addr, found->ai_addrlen);
  ::freeaddrinfo(found);
  pollfd ready{fd, POLLOUT, 0};
  int error = 0;
  socklen_t bytes = sizeof error;
  if (fd >= 0 && ::poll(&ready, 1, kPatienceMs) == 1 &&
      ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &bytes) == 0 && error == 0)
    return fd;
  if (fd >= 0) ::close(fd);
  return -1;
}

// Connects and sends the secret. Returns -1 if there is no oshrun, or if it cannot be reached.
int connect_to_oshrun() {
  const char* const place = std::getenv(kJobRecordVariable);
  if (place == nullptr) return -1;
  std::string_view rest = place;
  const std::string secret = take_word(rest), port = take_word(rest);
  while (!rest.empty()) {
    const std::string address = take_word(rest);
    const int fd = connect_to(address, port);
    if (fd >= 0) {
      ::send(fd, secret.data(), secret.size(), MSG_NOSIGNAL);
      return fd;
    }
    debug("cannot tell oshrun at {} port {} how the job ends", address, port);
  }
  return -1;
}

std::string text_of(const sockaddr* address) {
  const socklen_t bytes =
      address->sa_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
  char text[NI_MAXHOST];
  const int error = ::getnameinfo(address, bytes, text, sizeof text, nullptr, 0, NI_NUMERICHOST);
  return error == 0 ? text : "";
}

}  // namespace

// Leaves out link-local addresses of IPv6: another machine cannot use them without the link's name.
std::string addresses_for_job_record() {
  ifaddrs* first = nullptr;
  if (::getifaddrs(&first) != 0) return "";
  std::string all;
  for (const int family : {AF_INET, AF_INET6}) {
    for (const ifaddrs* entry = first; entry != nullptr; entry = entry->ifa_next) {
      const bool is_up = (entry->ifa_flags & IFF_UP) != 0;
      if (!is_up || entry->ifa_addr == nullptr || entry->ifa_addr->sa_family != family ||
          (entry->ifa_flags & IFF_LOOPBACK) != 0)
        continue;
      const std::string text = text_of(entry->ifa_addr);
      if (text.empty() || text.find('%') != std::string::npos) continue;
      all += (all.empty() ? "" : "/") + text;
    }
  }
  ::freeifaddrs(first);
  return all;
}

void note_for_oshrun(JobNote note) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  static const int fd = connect_to_oshrun();
  const char letter = static_cast<char>(note);
  if (fd >= 0) ::send(fd, &letter, 1, MSG_NOSIGNAL);
}

}  // namespace meshmem
