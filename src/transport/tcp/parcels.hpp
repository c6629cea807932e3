// SPDX-License-Identifier: Apache-2.0
//
// Writes and reads messages as a stream of bytes. A parcel is its lengths, its head and its body.
// Invariant: head and body are sent from the caller's memory. Received lengths are checked before
// use, and a parcel is handed on when it is complete. Used by tcp/connection.
#ifndef MESHMEM_TRANSPORT_TCP_PARCELS_HPP_
#define MESHMEM_TRANSPORT_TCP_PARCELS_HPP_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "transport/wire.hpp"

namespace meshmem::tcp {

struct Lengths {
  std::uint32_t body_bytes;
  std::uint8_t head_bytes;
  std::uint8_t introduces;
  std::uint16_t mark;
};
// Lengths::mark of every parcel.
inline constexpr std::uint16_t kMark = 0x6d70;
Lengths lengths_of(const Wire::Message& message);
bool are_possible(const Lengths& lengths);

// Messages that wait for the socket to take them.
class Outgoing {
 public:
  // Sends as much as the socket takes at once, unless earlier messages wait, and keeps the rest.
  // Returns 0 or an errno.
  int send(int descriptor, const Wire::Message& message);
  // Keeps a message for a later flush().
  void keep(const Wire::Message& message) { waiting_.push_back({message, lengths_of(message), 0}); }
  // Sends kept messages until the socket is full. Returns 0 or an errno.
  int flush(int descriptor);
  bool is_empty() const { return waiting_.empty(); }
  // Drops the kept messages, and calls sent() for each.
  void give_back();

 private:
  struct Waiting {
    Wire::Message message;
    Lengths lengths;
    std::size_t n_sent;
  };
  void note_sent(std::size_t bytes);

  std::deque<Waiting> waiting_;
};

using TakeParcel =
    std::function<void(const Lengths& lengths, const std::byte* head, const std::byte* body)>;

class Incoming {
 public:
  enum class Got {
    nothing,    // no data has come
    something,  // data has come, perhaps not a whole parcel
    end,        // the other end has closed the connection
    failure,    // errno says why
    invalid,    // lengths that no parcel has
  };
  // Reads once, and hands on the complete parcels. `room`: a buffer that all connections share.
  Got read(int descriptor, std::vector<std::byte>& room, const TakeParcel& take);

 private:
  long read_some(int descriptor, std::vector<std::byte>& room);
  // Hands on the complete parcels in these bytes, and keeps the rest. False: invalid lengths.
  bool take_all(const std::byte* at, std::size_t bytes, const TakeParcel& take);
  void keep(const std::byte* at, std::size_t bytes, std::size_t whole);

  // The incomplete parcel, how much of it has come, and its length (0: not known yet).
  std::unique_ptr<std::byte[]> parcel_;
  std::size_t n_received_ = 0, parcel_bytes_ = 0;
};

}  // namespace meshmem::tcp

#endif  // MESHMEM_TRANSPORT_TCP_PARCELS_HPP_
