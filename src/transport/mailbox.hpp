// SPDX-License-Identifier: Apache-2.0
//
// Messages that have arrived, and those that somebody waits for already: these go straight to where
// they are wanted.
// Invariant: pieces of a message come in order; it is there when all of them are. No message is
// there twice. Used by transports, from any thread.
#ifndef MESHMEM_TRANSPORT_MAILBOX_HPP_
#define MESHMEM_TRANSPORT_MAILBOX_HPP_

#include <array>
#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "transport/transport.hpp"

namespace meshmem {

class Mailbox {
 public:
  struct Piece {
    std::size_t total;  // bytes of the whole message
    const std::byte* data;
    std::size_t bytes;
  };
  // False: it does not fit what has come of the message; it is dropped.
  bool deliver(int from, const MessageKey& key, const Piece& piece);
  // Where it is wanted, before try_take() with the same dest: it is filled from now on.
  void expect(int from, const MessageKey& key, void* dest, std::size_t bytes);
  // The same by whom it is wanted, before try_end().
  void expect(int from, const MessageKey& key, MessageSink& sink, std::size_t bytes);
  // The message, out of the box; false if it is not there. Until it has been taken, the same caller
  // asks again with the same dest, which may be filled from now on.
  bool try_take(int from, const MessageKey& key, void* dest, std::size_t bytes);
  // Whether its sink has taken all of it. If so, the box forgets it.
  bool try_end(int from, const MessageKey& key);

 private:
  struct Message {
    int from;
    MessageKey key;
    bool has_begun;  // total is known
    std::size_t total;
    std::size_t arrived;
    MessageSink* sink;
    std::byte* dest;  // with no sink; nullptr: nobody has asked
    std::size_t dest_bytes;
    std::vector<std::byte> data;  // what came before somebody asked
    Message* next;
  };
  Message** find(int from, const MessageKey& key);
  Message& add(Message** place, int from, const MessageKey& key);
  void remove(Message** place);
  // Notes who wants the message, or where. Bytes that have come already go there.
  Message** want(int from, const MessageKey& key, MessageSink* sink, void* dest, std::size_t bytes);
  bool try_remove(Message** place);

  std::mutex mutex_;
  std::array<Message*, 256> chains_{};
  Message* free_ = nullptr;
  std::vector<std::unique_ptr<Message>> all_;
};

}  // namespace meshmem

#endif  // MESHMEM_TRANSPORT_MAILBOX_HPP_
