// SPDX-License-Identifier: Apache-2.0
//
// The process has one connection to oshrun, which stays open until the process ends. So oshrun also
// sees the process end.
#include "base/status/job_record.hpp"

#include <sys/socket.h>

#include <chrono>
#include <cstdlib>
#include <mutex>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "base/machine/sockets.hpp"

namespace meshmem {
namespace {

constexpr auto kPatience = std::chrono::seconds(2);  // for one address

std::string take_word(std::string_view& text) {
  const std::size_t end = text.find('/');
  const std::string word(text.substr(0, end));
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return word;
}

// Connects and sends the secret. Returns -1 if there is no oshrun, or if it cannot be reached.
int connect_to_oshrun() {
  const char* const place = std::getenv(kJobRecordVariable);
  if (place == nullptr) return -1;
  std::string_view rest = place;
  const std::string secret = take_word(rest), port = take_word(rest);
  while (!rest.empty()) {
    const std::string address = take_word(rest);
    const int fd = connect_to_address(address, port, kPatience);
    if (fd >= 0) {
      ::send(fd, secret.data(), secret.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      return fd;
    }
    debug("cannot tell oshrun at {} port {} how the job ends", address, port);
  }
  return -1;
}

}  // namespace

void note_for_oshrun(JobNote note) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  static const int fd = connect_to_oshrun();
  const char letter = static_cast<char>(note);
  if (fd >= 0) ::send(fd, &letter, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}

}  // namespace meshmem
