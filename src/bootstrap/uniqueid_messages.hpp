// SPDX-License-Identifier: Apache-2.0
//
// Messages between PEs and their meeting point: after the token, messages of a kind and a body of
// numbers and texts.
// Invariant: what has been read is within the bytes that came; other than that the two trust each
// other. Called by uniqueid_server.cpp and uniqueid_client.cpp.
#ifndef MESHMEM_BOOTSTRAP_UNIQUEID_MESSAGES_HPP_
#define MESHMEM_BOOTSTRAP_UNIQUEID_MESSAGES_HPP_

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace meshmem {

enum class MessageKind : std::uint32_t {
  // To the meeting point.
  hello,    // number of PEs, own number, 1 if in the meeting point's process, machine, name
  put,      // key, value; no answer
  get,      // PE, key: value
  meet,     // met, when all have said so
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
  MessageKind kind;
  std::string body;
};

std::string pack_message(MessageKind kind, const Body& body);

enum class Unpacked { whole, more_to_come, nonsense };

// Takes the first message from the front of `bytes`.
Unpacked unpack_message(std::string& bytes, Message& message);

// Lets the connection send at once, end when the other machine is silent, and be closed in
// children.
void set_up_connection(int fd);

// Registers a descriptor, which children of fork then close. Frameworks fork helpers that outlive a
// PE, and a connection must end with the process that made it.
void keep_from_children(int fd);
void close_kept_from_children(int fd);

}  // namespace meshmem

#endif  // MESHMEM_BOOTSTRAP_UNIQUEID_MESSAGES_HPP_
