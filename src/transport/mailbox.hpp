// SPDX-License-Identifier: Apache-2.0
//
// Messages that have arrived, and those that somebody waits for already: these go straight to where
// they are wanted.
// Invariant: pieces of a message come in order; it is there when all of them are. No message is
// there twice. Used by transports, from any thread.
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

// Which message of a collective: a team's slot, the operation's number, and the step within it. Two
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

// Takes a message in while it arrives, piece by piece in order, on whatever thread makes progress.
// It neither waits nor sends.
class MessageSink {
 public:
  virtual ~MessageSink() = default;
  // `data` may have any alignment, and is not to be read after take() has returned. No piece is
  // empty.
  virtual void take(std::size_t offset, const std::byte* data, std::size_t bytes) = 0;
};

// Where a message is wanted: in memory, or by a sink.
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
  // False: the piece does not fit those that have come of the message, and is dropped.
  bool deliver(int from, const MessageKey& key, const Piece& piece);
  // From now on the message goes straight to dest. try_take() with the same dest follows.
  void expect(int from, const MessageKey& key, const MessageDest& dest);
  // Whether dest has all of the message. If so, the mailbox forgets it. Otherwise the rest goes
  // straight to dest, and the same caller asks again with the same dest.
  bool try_take(int from, const MessageKey& key, const MessageDest& dest);

 private:
  struct Message {
    int from;
    MessageKey key;
    bool has_begun;  // total is known
    std::size_t total;
    std::size_t arrived;
    MessageDest dest{nullptr, 0};  // with neither sink nor memory: nobody has asked
    std::vector<std::byte> data;   // what came before somebody asked
    Message* next;
  };
  Message** find(int from, const MessageKey& key);
  Message& add(Message** place, int from, const MessageKey& key);
  void remove(Message** place);
  // Notes who wants the message, or where. Bytes that have come already go there.
  Message** want(int from, const MessageKey& key, const MessageDest& dest);

  std::mutex mutex_;
  std::array<Message*, 256> chains_{};
  Message* free_ = nullptr;
  std::vector<std::unique_ptr<Message>> all_;
};

}  // namespace meshmem

#endif  // MESHMEM_TRANSPORT_MAILBOX_HPP_
