// SPDX-License-Identifier: Apache-2.0
//
// Messages between PEs and their meeting point. A PE first sends the token. Then a message is a
// kind and a body of numbers and texts.
// Invariant: both ends trust each other, but nothing is read beyond the bytes that came.
// Called by uniqueid_server.cpp and uniqueid_client.cpp.
#ifndef MESHMEM_BOOTSTRAP_UNIQUEID_MESSAGES_HPP_
#define MESHMEM_BOOTSTRAP_UNIQUEID_MESSAGES_HPP_

#include <cstdint>
#include <string>

#include "base/packed.hpp"

namespace meshmem {

// Each kind, with its body and the answer to it.
enum class MessageKind : std::uint32_t {
  // From a PE to the meeting point.
  hello,  // number of PEs, own number, 1 if in the meeting point's process, machine, name; answer:
          // welcome, when all have sent hello
  put,    // key, value; no answer
  get,    // PE, key; answer: value
  meet,   // nothing; answer: met, when all have sent meet
  missing,  // nothing; answer: absent
  abort,    // status; no answer
  active,   // nothing; no answer. From now on the end of a PE ends the job
  idle,     // nothing; answer: all_idle, when all have sent idle
  // From the meeting point to a PE.
  welcome,   // for each PE the number of its machine
  value,     // 1 and the value, or 0 if there is none
  met,       // nothing
  absent,    // a text: which PEs have not come to the meeting that this PE waits in
  all_idle,  // nothing
  ended,     // status, a text: the job is over. Comes unasked
};

struct Message {
  MessageKind kind;
  std::string body;
};

std::string pack_message(MessageKind kind, const Packed& body);

enum class Unpacked { whole, more_to_come, invalid };

// Takes the first message from the front of `bytes`.
Unpacked unpack_message(std::string& bytes, Message& message);

// Sets up a connection: it sends without delay, ends if the other machine is silent, and is closed
// in children of fork.
void set_up_connection(int fd);

// Registers a descriptor, which children of fork then close. Frameworks fork helpers that outlive a
// PE, and a connection must end with the process that made it.
void keep_from_children(int fd);
void close_kept_from_children(int fd);

}  // namespace meshmem

#endif  // MESHMEM_BOOTSTRAP_UNIQUEID_MESSAGES_HPP_
