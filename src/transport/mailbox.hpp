// SPDX-License-Identifier: Apache-2.0
//
// The collectives' messages that have arrived or that a PE waits for. Data of a message whose dest
// is known goes straight there.
// Invariant: pieces of a message arrive in order. A key has one message at a time. Any thread may
// call it. Used by transports.
#ifndef MESHMEM_TRANSPORT_MAILBOX_HPP_
#define MESHMEM_TRANSPORT_MAILBOX_HPP_

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <vector>

namespace meshmem {

// Names a message: the team's slot, the number of the operation, and the step within it. Two
// messages from one PE that may be under way at once have different keys.
struct MessageKey {
  int slot = 0;
  std::uint64_t sequence = 0;
  int step = 0;
  auto operator<=>(const MessageKey&) const = default;
};

// The bytes of all pieces of a message but the last are a multiple of this, so that no element of a
// reduction lies in two pieces.
inline constexpr std::size_t kPieceGrain = 1024;

// Gets a message's data while it arrives, piece by piece in order. The thread that makes progress
// calls it. It must neither wait nor send.
class MessageSink {
 public:
  virtual ~MessageSink() = default;
  // `data` may have any alignment, and is valid until take() returns. `bytes` is never 0.
  virtual void take(std::size_t offset, const std::byte* data, std::size_t bytes) = 0;
};

// Where a message's data goes: to memory, or to a sink.
struct MessageDest {
  MessageDest(void* dest, std::size_t length)
      : memory(static_cast<std::byte*>(dest)), bytes(length) {}
  MessageDest(MessageSink& taker, std::size_t length) : sink(&taker), bytes(length) {}

  bool is_given() const { return memory || sink; }
  void take(std::size_t offset, const std::byte* data, std::size_t length) const {
    if (sink) return sink->take(offset, data, length);
    std::memcpy(memory + offset, data, length);
  }

  std::byte* memory = nullptr;
  MessageSink* sink = nullptr;
  std::size_t bytes;
};

class Mailbox {
 public:
  struct Piece {
    std::size_t total;  // bytes of the whole message
    const std::byte* data;
    std::size_t bytes;
  };
  // False: the piece contradicts the message's earlier pieces, and is dropped.
  bool deliver(int from, const MessageKey& key, const Piece& piece);
  // From now on the message's data goes straight to dest. The caller then calls try_take() with the
  // same dest.
  void expect(int from, const MessageKey& key, const MessageDest& dest);
  // True: dest has the whole message, and the mailbox forgets it. Otherwise the rest goes straight
  // to dest, and the caller asks again with the same dest.
  bool try_take(int from, const MessageKey& key, const MessageDest& dest);

 private:
  struct Message {
    int from;
    MessageKey key;
    bool has_begun;  // total is known
    std::size_t total;
    std::size_t arrived;
    MessageDest dest{nullptr, 0};  // neither memory nor sink: not known yet
    std::vector<std::byte> data;   // arrived before dest was known
    Message* next;
  };
  Message** find(int from, const MessageKey& key);
  Message& add(Message** place, int from, const MessageKey& key);
  void remove(Message** place);
  // Notes the message's dest, and moves data there that has already arrived. Returns the pointer
  // that leads to the message.
  Message** register_dest(int from, const MessageKey& key, const MessageDest& dest);

  std::mutex mutex_;
  std::array<Message*, 256> chains_{};
  Message* free_ = nullptr;
  std::vector<std::unique_ptr<Message>> all_;
};

}  // namespace meshmem

#endif  // MESHMEM_TRANSPORT_MAILBOX_HPP_
