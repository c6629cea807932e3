// SPDX-License-Identifier: Apache-2.0
//
// The map of messages. Invariant: a message that is taken as another length than it was sent is a
// mistake of the library's, or of members that call differently: the job ends with a line.
#include "transport/mailbox.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace meshmem {

void Mailbox::deliver(int from, const MessageKey& key, const Piece& piece) {
  const std::lock_guard lock(mutex_);
  Message& message = messages_[{from, key}];
  message.data.resize(piece.total);
  std::copy_n(piece.data, piece.bytes,
              message.data.begin() + static_cast<std::ptrdiff_t>(piece.offset));
  message.arrived += piece.bytes;
}

bool Mailbox::try_take(int from, const MessageKey& key, void* dest, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  const auto found = messages_.find({from, key});
  if (found == messages_.end() || found->second.arrived < found->second.data.size()) return false;
  const Message& message = found->second;
  if (message.data.size() != bytes) {
    fatal(
        "a message of PE {} has {} bytes, and {} are expected; MESHMEM_CHECK=1 finds calls of a "
        "collective that differ",
        from, message.data.size(), bytes);
  }
  std::copy(message.data.begin(), message.data.end(), static_cast<std::byte*>(dest));
  messages_.erase(found);
  return true;
}

}  // namespace meshmem
