// SPDX-License-Identifier: Apache-2.0
//
// Messages between PEs and their meeting point: after the token, messages of a kind and a body of
// numbers and texts.
// Invariant: what has been read is within the bytes that came; other than that the two trust each
// other. Called by uniqueid_server.cpp and uniqueid_client.cpp.
#ifndef MESHMEM_BOOTSTRAP_UNIQUEID_MESSAGES_HPP_
#define MESHMEM_BOOTSTRAP_UNIQUEID_MESSAGES_HPP_

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace meshmem {

enum class Say : std::uint32_t {
  // To the meeting point.
  hello,    // number of PEs, own number, 1 if in the meeting point's process, machine, name
  put,      // key, value; no answer
  get,      // PE, key: value
  meet,     // 1 for the PEs of the machine only: met
  missing,  // absent: who has not come to what this PE waits for
  abort,    // status; no answer
  active,   // no answer: a PE that goes from now on is missed
  idle,     // all_idle, when all have said so
  // From there.
  welcome,   // for each PE the number of its machine; when all have said hello
  value,     // 1 and the value, or 0
  met,       // (nothing)
  absent,    // a text
  all_idle,  // (nothing)
  ended,     // status, a text: the job is over
};

class Body {
 public:
  Body& add(std::uint32_t number) {
    bytes_.append(reinterpret_cast<const char*>(&number), sizeof number);
    return *this;
  }
  Body& add(std::string_view text) {
    add(static_cast<std::uint32_t>(text.size()));
    bytes_ += text;
    return *this;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

// Reads what Body has put together. A missing number reads as 0 and a missing text as "".
class BodyReader {
 public:
  explicit BodyReader(std::string_view bytes) : left_(bytes) {}
  std::uint32_t number() {
    std::uint32_t number = 0;
    if (left_.size() < sizeof number) return 0;
    std::memcpy(&number, left_.data(), sizeof number);
    left_.remove_prefix(sizeof number);
    return number;
  }
  std::string_view text() {
    const std::size_t size = number();
    const std::string_view text = left_.substr(0, size);
    left_.remove_prefix(text.size());
    return text;
  }

 private:
  std::string_view left_;
};

struct Message {
  Say kind;
  std::string body;
};

inline std::string pack_message(Say kind, const Body& body) {
  return Body().add(static_cast<std::uint32_t>(kind)).add(body.bytes()).bytes();
}

// At once, and lost if the other machine is silent.
inline void set_up_connection(int fd) {
  const int on = 1, idle_seconds = 10, seconds_between = 3, n_probes = 3;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_seconds, sizeof idle_seconds);
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &seconds_between, sizeof seconds_between);
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &n_probes, sizeof n_probes);
}

enum class Unpacked { whole, more_to_come, nonsense };

// Takes the first message from the front of `bytes`.
inline Unpacked unpack_message(std::string& bytes, Message& message) {
  constexpr std::size_t kHead = 8, kLongestBody = std::size_t{1} << 26;
  if (bytes.size() < kHead) return Unpacked::more_to_come;
  BodyReader reader(bytes);
  const std::uint32_t kind = reader.number();
  const std::size_t length = BodyReader(std::string_view(bytes).substr(4)).number();
  if (kind > static_cast<std::uint32_t>(Say::ended) || length > kLongestBody)
    return Unpacked::nonsense;
  if (bytes.size() < kHead + length) return Unpacked::more_to_come;
  message = {static_cast<Say>(kind), std::string(reader.text())};
  bytes.erase(0, kHead + length);
  return Unpacked::whole;
}

}  // namespace meshmem

#endif  // MESHMEM_BOOTSTRAP_UNIQUEID_MESSAGES_HPP_
