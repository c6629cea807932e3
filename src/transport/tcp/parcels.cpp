// SPDX-License-Identifier: Apache-2.0
//
// Sends several parcels with one call, and splits received bytes into parcels. An incomplete parcel
// has a buffer of its own, into which the rest is read straight. The same call reads data behind it
// into the buffer that all connections share.
#include "transport/tcp/parcels.hpp"

#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

namespace meshmem::tcp {
namespace {

constexpr std::size_t kMostAtOnce = 16;  // parcels that one call sends
constexpr std::size_t kFewBytes = 256;   // a parcel of at most this length is copied first

// Stores the parts of a parcel at *to and behind it, without the `n_sent` bytes that have left
// already. Returns the end of the parts.
iovec* add_parts(iovec* to, const Lengths& lengths, const Wire::Message& message,
                 std::size_t n_sent) {
  const iovec parts[] = {{const_cast<Lengths*>(&lengths), sizeof lengths},
                         {const_cast<void*>(message.head), message.head_bytes},
                         {const_cast<void*>(message.body), message.body_bytes}};
  for (const iovec& part : parts) {
    const std::size_t gone = std::min(n_sent, part.iov_len);
    n_sent -= gone;
    if (gone == part.iov_len) continue;
    *to++ = {static_cast<char*>(part.iov_base) + gone, part.iov_len - gone};
  }
  return to;
}

// Returns the number of bytes sent (0: the socket is full), or -errno.
long send_parts(int descriptor, iovec* parts, std::size_t n) {
  msghdr header{};
  header.msg_iov = parts;
  header.msg_iovlen = n;
  constexpr int kFlags = MSG_NOSIGNAL | MSG_DONTWAIT;
  for (;;) {
    const ssize_t sent = n == 1 ? ::send(descriptor, parts->iov_base, parts->iov_len, kFlags)
                                : ::sendmsg(descriptor, &header, kFlags);
    if (sent >= 0) return sent;
    if (errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOBUFS) return 0;
    if (errno != EINTR) return -errno;
  }
}

std::size_t bytes_of(const Lengths& lengths) {
  return sizeof lengths + lengths.head_bytes + lengths.body_bytes;
}

// Copies the parcel to one buffer: the kernel sends one buffer .2 us faster than a list of them.
long send_few(int descriptor, const Lengths& lengths, const Wire::Message& message) {
  std::array<std::byte, kFewBytes> room;
  std::byte* end = room.data();
  const auto append = [&](const void* from, std::size_t bytes) {
    if (bytes > 0) std::memcpy(end, from, bytes);
    end += bytes;
  };
  append(&lengths, sizeof lengths);
  append(message.head, lengths.head_bytes);
  append(message.body, lengths.body_bytes);
  iovec whole{room.data(), bytes_of(lengths)};
  return send_parts(descriptor, &whole, 1);
}

long send_whole(int descriptor, const Lengths& lengths, const Wire::Message& message) {
  if (bytes_of(lengths) <= kFewBytes) return send_few(descriptor, lengths, message);
  std::array<iovec, 3> parts;
  const iovec* const end = add_parts(parts.data(), lengths, message, 0);
  return send_parts(descriptor, parts.data(), static_cast<std::size_t>(end - parts.data()));
}

void hand_on(const std::byte* parcel, const Lengths& lengths, const TakeParcel& take) {
  const std::byte* const head = parcel + sizeof lengths;
  take(lengths, head, head + lengths.head_bytes);
}

}  // namespace

Lengths lengths_of(const Wire::Message& message) {
  return {.body_bytes = static_cast<std::uint32_t>(message.body_bytes),
          .head_bytes = static_cast<std::uint8_t>(message.head_bytes),
          .introduces = message.introduces,
          .mark = kMark};
}

bool are_possible(const Lengths& lengths) {
  return lengths.mark == kMark && lengths.head_bytes <= Wire::kMaxHeadBytes &&
         lengths.body_bytes <= Wire::kMaxBodyBytes && lengths.introduces <= 1;
}

// ---- Outgoing

int Outgoing::send(int descriptor, const Wire::Message& message) {
  const Lengths lengths = lengths_of(message);
  if (!waiting_.empty()) {
    waiting_.push_back({message, lengths, 0});
    return 0;
  }
  const long sent = send_whole(descriptor, lengths, message);
  const auto n_sent = static_cast<std::size_t>(std::max(sent, 0L));
  if (n_sent == bytes_of(lengths)) {
    message.sent(message.argument);
    return 0;
  }
  waiting_.push_back({message, lengths, n_sent});
  return sent < 0 ? static_cast<int>(-sent) : 0;
}

int Outgoing::flush(int descriptor) {
  while (!waiting_.empty()) {
    std::array<iovec, 3 * kMostAtOnce> parts;
    iovec* end = parts.data();
    const std::size_t n = std::min(waiting_.size(), kMostAtOnce);
    std::size_t asked = 0;
    for (std::size_t i = 0; i < n; ++i) {
      end = add_parts(end, waiting_[i].lengths, waiting_[i].message, waiting_[i].n_sent);
      asked += bytes_of(waiting_[i].lengths) - waiting_[i].n_sent;
    }
    const long sent =
        send_parts(descriptor, parts.data(), static_cast<std::size_t>(end - parts.data()));
    if (sent < 0) return static_cast<int>(-sent);
    note_sent(static_cast<std::size_t>(sent));
    if (static_cast<std::size_t>(sent) < asked) return 0;
  }
  return 0;
}

// sent() may call send(), which adds messages behind those that wait.
void Outgoing::note_sent(std::size_t bytes) {
  while (bytes > 0) {
    Waiting& first = waiting_.front();
    const std::size_t left = bytes_of(first.lengths) - first.n_sent;
    if (bytes < left) {
      first.n_sent += bytes;
      return;
    }
    bytes -= left;
    const Wire::Message message = first.message;
    waiting_.pop_front();
    message.sent(message.argument);
  }
}

void Outgoing::give_back() {
  for (const Waiting& one : std::exchange(waiting_, {})) one.message.sent(one.message.argument);
}

// ---- Incoming

long Incoming::read_some(int descriptor, std::vector<std::byte>& room) {
  iovec parts[2];
  std::size_t n = 0;
  if (parcel_bytes_ != 0) {
    parts[n++] = {parcel_.get() + n_received_, parcel_bytes_ - n_received_};
    parts[n++] = {room.data(), room.size()};
  } else {
    if (n_received_ != 0) std::memcpy(room.data(), parcel_.get(), n_received_);
    parts[n++] = {room.data() + n_received_, room.size() - n_received_};
  }
  msghdr header{};
  header.msg_iov = parts;
  header.msg_iovlen = n;
  for (;;) {
    const ssize_t got = n == 1
                            ? ::recv(descriptor, parts[0].iov_base, parts[0].iov_len, MSG_DONTWAIT)
                            : ::recvmsg(descriptor, &header, MSG_DONTWAIT);
    if (got >= 0 || errno != EINTR) return got;
  }
}

Incoming::Got Incoming::read(int descriptor, std::vector<std::byte>& room, const TakeParcel& take) {
  const long got = read_some(descriptor, room);
  if (got == 0) return Got::end;
  if (got < 0) return errno == EAGAIN || errno == EWOULDBLOCK ? Got::nothing : Got::failure;
  auto bytes = static_cast<std::size_t>(got);
  if (parcel_bytes_ != 0) {
    const std::size_t missing = parcel_bytes_ - n_received_;
    if (bytes < missing) {
      n_received_ += bytes;
      return Got::something;
    }
    bytes -= missing;
    Lengths lengths;
    std::memcpy(&lengths, parcel_.get(), sizeof lengths);
    hand_on(parcel_.get(), lengths, take);
    parcel_bytes_ = 0;
  } else {
    bytes += n_received_;
  }
  n_received_ = 0;
  return take_all(room.data(), bytes, take) ? Got::something : Got::invalid;
}

bool Incoming::take_all(const std::byte* at, std::size_t bytes, const TakeParcel& take) {
  while (bytes >= sizeof(Lengths)) {
    Lengths lengths;
    std::memcpy(&lengths, at, sizeof lengths);
    if (!are_possible(lengths)) return false;
    const std::size_t whole = bytes_of(lengths);
    if (bytes < whole) {
      keep(at, bytes, whole);
      return true;
    }
    hand_on(at, lengths, take);
    at += whole;
    bytes -= whole;
  }
  keep(at, bytes, 0);
  return true;
}

void Incoming::keep(const std::byte* at, std::size_t bytes, std::size_t whole) {
  parcel_.reset();
  n_received_ = bytes;
  parcel_bytes_ = whole;
  if (bytes == 0) return;
  parcel_ = std::make_unique_for_overwrite<std::byte[]>(std::max(whole, sizeof(Lengths)));
  std::memcpy(parcel_.get(), at, bytes);
}

}  // namespace meshmem::tcp
