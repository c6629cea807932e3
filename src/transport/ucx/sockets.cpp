// SPDX-License-Identifier: Apache-2.0
//
// Descriptors are found in /proc/self/fd. Where there is none, TCP's own limits hold.
#include "transport/ucx/sockets.hpp"

#include <dirent.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstdlib>

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

bool is_tcp(int descriptor) {
  int protocol = 0;
  socklen_t bytes = sizeof protocol;
  return ::getsockopt(descriptor, SOL_SOCKET, SO_PROTOCOL, &protocol, &bytes) == 0 &&
         protocol == IPPROTO_TCP;
}

}  // namespace

NewSockets::NewSockets(double patience_seconds) : patience_seconds_(patience_seconds) {
  if (patience_seconds > 0) before_ = open_descriptors();
}

NewSockets::~NewSockets() {
  if (patience_seconds_ <= 0) return;
  const auto milliseconds = static_cast<unsigned>(std::min(patience_seconds_ * 1000, 2e9));
  for (int descriptor : open_descriptors()) {
    if (std::binary_search(before_.begin(), before_.end(), descriptor)) continue;
    if (!is_tcp(descriptor)) continue;
    ::setsockopt(descriptor, IPPROTO_TCP, TCP_USER_TIMEOUT, &milliseconds, sizeof milliseconds);
  }
}

}  // namespace meshmem
