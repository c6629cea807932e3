// SPDX-License-Identifier: Apache-2.0
//
// The table of messages. Invariant: the receiver expects the length that was sent. A different
// length ends the job with a line: it is a bug, or the PEs of a team have made different calls.
#include "transport/mailbox.hpp"

#include "base/error.hpp"

namespace meshmem {
namespace {

// A free entry keeps a buffer of up to this length for its next message.
constexpr std::size_t kMostKept = 64 * 1024;

void check_length(int from, std::size_t sent, std::size_t expected) {
  if (sent == expected) return;
  fatal(
      "a message of PE {} has {} bytes, and {} are expected; MESHMEM_CHECK=1 finds calls of a "
      "collective that differ",
      from, sent, expected);
}

}  // namespace

// Returns the pointer that leads to the message, or the null at the end of its chain.
Mailbox::Message** Mailbox::find(int from, const MessageKey& key) {
  const std::uint64_t mixed =
      (static_cast<std::uint64_t>(from) * 31 + static_cast<std::uint64_t>(key.slot)) * 31 +
      key.sequence + static_cast<std::uint64_t>(key.step) * 57;
  Message** link = &chains_[mixed % chains_.size()];
  while (*link && ((*link)->from != from || (*link)->key != key)) link = &(*link)->next;
  return link;
}

Mailbox::Message& Mailbox::add(Message** place, int from, const MessageKey& key) {
  if (!free_) free_ = all_.emplace_back(std::make_unique<Message>()).get();
  Message& message = *free_;
  free_ = message.next;
  message.from = from;
  message.key = key;
  message.has_begun = false;
  message.total = message.arrived = 0;
  message.dest = {nullptr, 0};
  message.data.clear();
  message.next = nullptr;
  return *(*place = &message);
}

void Mailbox::remove(Message** place) {
  Message& message = **place;
  *place = message.next;
  if (message.data.capacity() > kMostKept) message.data = {};
  message.next = free_;
  free_ = &message;
}

bool Mailbox::deliver(int from, const MessageKey& key, const Piece& piece) {
  const std::lock_guard lock(mutex_);
  Message** const link = find(from, key);
  Message& message = *link ? **link : add(link, from, key);
  const MessageDest& dest = message.dest;
  if (!message.has_begun) {
    message.has_begun = true;
    message.total = piece.total;
    if (dest.is_given()) check_length(from, message.total, dest.bytes);
  } else if (message.total != piece.total || message.arrived == message.total) {
    return false;
  }
  if (piece.bytes > message.total - message.arrived) return false;
  if (!dest.is_given()) {
    message.data.insert(message.data.end(), piece.data, piece.data + piece.bytes);
  } else if (piece.bytes > 0) {
    dest.take(message.arrived, piece.data, piece.bytes);
  }
  message.arrived += piece.bytes;
  return true;
}

Mailbox::Message** Mailbox::register_dest(int from, const MessageKey& key,
                                          const MessageDest& dest) {
  Message** const link = find(from, key);
  Message& message = *link ? **link : add(link, from, key);
  if (message.dest.is_given()) return link;
  if (message.has_begun) check_length(from, message.total, dest.bytes);
  message.dest = dest;
  if (dest.is_given() && !message.data.empty())
    dest.take(0, message.data.data(), message.data.size());
  return link;
}

void Mailbox::expect(int from, const MessageKey& key, const MessageDest& dest) {
  const std::lock_guard lock(mutex_);
  register_dest(from, key, dest);
}

bool Mailbox::try_take(int from, const MessageKey& key, const MessageDest& dest) {
  const std::lock_guard lock(mutex_);
  Message** const place = register_dest(from, key, dest);
  if (!(*place)->has_begun || (*place)->arrived < (*place)->total) return false;
  remove(place);
  return true;
}

}  // namespace meshmem
