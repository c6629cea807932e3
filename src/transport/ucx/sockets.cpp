// SPDX-License-Identifier: Apache-2.0
//
// Finds descriptors in /proc/self/fd. Without /proc, TCP's own limits hold.
#include "transport/ucx/sockets.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>

#include "base/machine/socket_patience.hpp"
#include "transport/ucx/address_filter.hpp"

namespace meshmem {
namespace {

std::vector<int> open_descriptors() {
  std::vector<int> all;
  DIR* folder = ::opendir("/proc/self/fd");
  if (folder == nullptr) return all;
  while (const dirent* entry = ::readdir(folder)) {
    if (entry->d_name[0] != '.') all.push_back(std::atoi(entry->d_name));
  }
  std::erase(all, ::dirfd(folder));
  ::closedir(folder);
  std::sort(all.begin(), all.end());
  return all;
}

bool has_option(int descriptor, int option, int value) {
  int found = 0;
  socklen_t bytes = sizeof found;
  return ::getsockopt(descriptor, SOL_SOCKET, option, &found, &bytes) == 0 && found == value;
}

bool is_tcp(int descriptor) { return has_option(descriptor, SO_PROTOCOL, IPPROTO_TCP); }

// An epoll instance, an event or a pipe: what UCX wakes its threads with.
bool is_wakeup(int descriptor) {
  char target[32] = "";
  const std::string link = "/proc/self/fd/" + std::to_string(descriptor);
  const ssize_t bytes = ::readlink(link.c_str(), target, sizeof target);
  if (bytes <= 0) return false;
  const std::string_view kind(target, static_cast<std::size_t>(bytes));
  return kind.starts_with("anon_inode:[event") || kind.starts_with("pipe:");
}

// The local port; 0: none.
std::uint16_t port_of(int descriptor) {
  sockaddr_storage address{};
  socklen_t bytes = sizeof address;
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  if (::getsockname(descriptor, any, &bytes) != 0) return 0;
  if (any->sa_family == AF_INET) return reinterpret_cast<sockaddr_in*>(any)->sin_port;
  if (any->sa_family == AF_INET6) return reinterpret_cast<sockaddr_in6*>(any)->sin6_port;
  return 0;
}

void close_on_exec(int descriptor) {
  const int flags = ::fcntl(descriptor, F_GETFD);
  if (flags >= 0) ::fcntl(descriptor, F_SETFD, flags | FD_CLOEXEC);
}

// Waits until UCX's thread has accepted the waiting connections, at most 100 ms.
void wait_for_accepts(int listening) {
  for (int look = 0; look < 100; ++look) {
    tcp_info info{};
    socklen_t bytes = sizeof info;
    if (::getsockopt(listening, IPPROTO_TCP, TCP_INFO, &info, &bytes) != 0) return;
    if (info.tcpi_unacked == 0) return;  // for a listening socket: the waiting connections
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

// Ends a connection and drops its data, so that UCX reads only the end.
void turn_away(int connection) {
  ::shutdown(connection, SHUT_RDWR);
  char bytes[4096];
  while (::recv(connection, bytes, sizeof bytes, MSG_DONTWAIT) > 0) continue;
}

}  // namespace

UcxSockets::Opening::Opening(UcxSockets& sockets, bool listens)
    : sockets_(sockets), listens_(listens), before_(open_descriptors()) {}

UcxSockets::Opening::~Opening() {
  const std::size_t listening = sockets_.listening_.size();
  for (const int descriptor : open_descriptors()) {
    if (!std::binary_search(before_.begin(), before_.end(), descriptor))
      sockets_.take_care_of(descriptor, listens_);
  }
  if (sockets_.listening_.size() > listening) sockets_.turn_away_accepted();
}

void UcxSockets::take_care_of(int descriptor, bool listens) {
  const bool is_socket = is_tcp(descriptor);
  if (!is_socket && !is_wakeup(descriptor)) return;
  close_on_exec(descriptor);
  if (!is_socket) return;
  if (patience_seconds_ > 0) be_patient(descriptor, patience_seconds_);
  if (listens && has_option(descriptor, SO_ACCEPTCONN, 1)) guard(descriptor);
}

void UcxSockets::guard(int listening) {
  are_guarded_ = admit_nobody(listening) && are_guarded_;
  listening_.push_back(listening);
  ports_.push_back(port_of(listening));
}

// Ends connections that came before the guard, while UCX started. UCX has read few of them yet.
void UcxSockets::turn_away_accepted() const {
  for (const int listening : listening_) wait_for_accepts(listening);
  for (const int descriptor : open_descriptors()) {
    const bool is_accepted =
        is_tcp(descriptor) && !has_option(descriptor, SO_ACCEPTCONN, 1) &&
        std::find(ports_.begin(), ports_.end(), port_of(descriptor)) != ports_.end();
    if (is_accepted) turn_away(descriptor);
  }
}

void UcxSockets::admit_only(const std::vector<std::string>& addresses) const {
  for (const int listening : listening_) meshmem::admit_only(listening, addresses);
}

// A closed connection has timed out if its last answer is older than TCP's limit. If the other
// process has ended it instead, at least the last probe was answered.
bool UcxSockets::have_timed_out() const {
  if (patience_seconds_ <= 0) return false;
  const double first_probe = first_probe_of(patience_seconds_);
  const double silence = std::max(limit_of(patience_seconds_), first_probe * 1.25) * 1000;
  for (const int descriptor : open_descriptors()) {
    tcp_info info{};
    socklen_t bytes = sizeof info;
    if (!is_tcp(descriptor)) continue;
    if (::getsockopt(descriptor, IPPROTO_TCP, TCP_INFO, &info, &bytes) != 0) continue;
    if (info.tcpi_state == TCP_CLOSE && info.tcpi_last_ack_recv >= silence) return true;
  }
  return false;
}

void UcxSockets::close_accepted_on_exec() const {
  for (const int descriptor : open_descriptors()) {
    if (!is_tcp(descriptor)) continue;
    if (std::find(ports_.begin(), ports_.end(), port_of(descriptor)) != ports_.end())
      close_on_exec(descriptor);
  }
}

}  // namespace meshmem
