// SPDX-License-Identifier: Apache-2.0
//
// Messages as a stream of bytes: each is a parcel of its lengths, its head and its body.
// Invariant: what is sent leaves from where it lies. Received data is believed only as far as its
// lengths are possible, and a parcel is handed on when it is whole. Used by tcp/connection.
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
inline constexpr std::uint16_t kMark = 0x6d70;
Lengths lengths_of(const Wire::Message& message);
bool are_possible(const Lengths& lengths);

// Messages that wait for the socket to take them.
class Outgoing {
 public:
  // Sends what the socket takes at once, if nothing waits, and keeps the rest. Returns an errno.
  int send(int descriptor, const Wire::Message& message);
  // The socket is not there yet.
  void keep(const Wire::Message& message) { waiting_.push_back({message, lengths_of(message), 0}); }
  int flush(int descriptor);
  bool is_empty() const { return waiting_.empty(); }
  // All have been sent as far as their owners are concerned.
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
  enum class Got { nothing, something, end, failure, nonsense };
  // Reads once, and hands on what is whole. `room`: for what is read, of anybody.
  Got read(int descriptor, std::vector<std::byte>& room, const TakeParcel& take);

 private:
  long read_some(int descriptor, std::vector<std::byte>& room);
  // The whole parcels of these bytes; false: nonsense. The bytes behind them are kept.
  bool take_all(const std::byte* at, std::size_t bytes, const TakeParcel& take);
  void keep(const std::byte* at, std::size_t bytes, std::size_t whole);

  // Of one parcel: what has come, and how long it is; 0: not even its lengths have come.
  std::unique_ptr<std::byte[]> part_;
  std::size_t n_here_ = 0, whole_ = 0;
};

}  // namespace meshmem::tcp

#endif  // MESHMEM_TRANSPORT_TCP_PARCELS_HPP_
