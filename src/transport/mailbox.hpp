// SPDX-License-Identifier: Apache-2.0
//
// Messages that have arrived and that nobody has asked for yet.
// Invariant: pieces of a message may come in any order; it is there when all of them are. Used by
// transports, from any thread.
#ifndef MESHMEM_TRANSPORT_MAILBOX_HPP_
#define MESHMEM_TRANSPORT_MAILBOX_HPP_

#include <cstddef>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "transport/transport.hpp"

namespace meshmem {

class Mailbox {
 public:
  struct Piece {
    std::size_t total;   // bytes of the whole message
    std::size_t offset;  // where the piece begins in it
    const std::byte* data;
    std::size_t bytes;
  };
  void deliver(int from, const MessageKey& key, const Piece& piece);
  // The message, out of the box; false if it is not there.
  bool try_take(int from, const MessageKey& key, void* dest, std::size_t bytes);

 private:
  struct Message {
    std::vector<std::byte> data;
    std::size_t arrived = 0;
  };
  std::mutex mutex_;
  std::map<std::pair<int, MessageKey>, Message> messages_;
};

}  // namespace meshmem

#endif  // MESHMEM_TRANSPORT_MAILBOX_HPP_
