// SPDX-License-Identifier: Apache-2.0
//
// Copies and rings in shared memory.
// Invariant: a frame, a header and up to kMostOfPiece bytes behind it, is read after `written` says
// that it is whole. A sender that finds no room takes in its own messages while it waits, so that
// two that send to each other do not wait for ever.
#include "transport/arena_transport.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>

#include "base/fence.hpp"
#include "base/pending_work.hpp"
#include "base/schedule_fuzzing.hpp"
#include "base/wait.hpp"
#include "transport/copy_bytes.hpp"

namespace meshmem {
namespace {

constexpr std::size_t kMostOfPiece = 16 * 1024;

// Into the ring or out of it, across its end.
void copy_in(Inbox& inbox, std::uint64_t at, const void* data, std::size_t bytes) {
  if (bytes == 0) return;  // of a message that only says that it has come; data may be null
  const std::size_t begin = at % kInboxBytes, first = std::min(bytes, kInboxBytes - begin);
  std::memcpy(inbox.bytes + begin, data, first);
  std::memcpy(inbox.bytes, static_cast<const std::byte*>(data) + first, bytes - first);
}
void copy_out(void* data, const Inbox& inbox, std::uint64_t at, std::size_t bytes) {
  if (bytes == 0) return;  // of a message that only says that it has come; data may be null
  const std::size_t begin = at % kInboxBytes, first = std::min(bytes, kInboxBytes - begin);
  std::memcpy(data, inbox.bytes + begin, first);
  std::memcpy(static_cast<std::byte*>(data) + first, inbox.bytes, bytes - first);
}

// Keeps other senders out. Held for a copy, never for a wait.
class InboxLock {
 public:
  explicit InboxLock(Inbox& inbox) : inbox_(inbox) {
    while (inbox_.lock.exchange(1, std::memory_order_acquire) != 0) yield_core();
  }
  ~InboxLock() { inbox_.lock.store(0, std::memory_order_release); }
  InboxLock(const InboxLock&) = delete;

 private:
  Inbox& inbox_;
};

}  // namespace

struct ArenaTransport::Frame {
  int from;
  MessageKey key;
  std::size_t total;
  std::size_t bytes;
};

void ArenaTransport::put(const RemotePlace& dest, const void* source, std::size_t bytes) {
  fuzz_schedule();
  copy_bytes(mapping_.address_of(dest), source, bytes);
  pending_work.count_issued();
}

void ArenaTransport::put_signal(const RemotePlace& dest, const void* source, std::size_t bytes,
                                const SignalUpdate& signal) {
  complete();  // what was issued before stays before the signal
  if (bytes > 0) put(dest, source, bytes);
  const RemotePlace place{dest.pe, signal.segment, signal.offset};
  atomic(place, {signal.op, sizeof(std::uint64_t), signal.value, 0, false});
}

void ArenaTransport::get(void* dest, const RemotePlace& source, std::size_t bytes) {
  fuzz_schedule();
  copy_bytes(dest, mapping_.address_of(source), bytes);
}

void ArenaTransport::put_nbi(const RemotePlace& dest, const void* source, std::size_t bytes) {
  defer(mapping_.address_of(dest), source, bytes);
}

void ArenaTransport::get_nbi(void* dest, const RemotePlace& source, std::size_t bytes) {
  defer(dest, mapping_.address_of(source), bytes);
}

void ArenaTransport::defer(void* to, const void* from, std::size_t bytes) {
  const std::lock_guard lock(deferred_mutex_);
  deferred_.push_back({to, from, bytes});
  pending_work.count_issued();
}

std::uint64_t ArenaTransport::atomic(const RemotePlace& dest, const AtomicRequest& request) {
  fuzz_schedule();
  return execute(request, mapping_.address_of(dest));
}

void ArenaTransport::complete() {
  const std::lock_guard lock(deferred_mutex_);
  for (const Deferred& copy : deferred_) copy_bytes(copy.to, copy.from, copy.bytes);
  deferred_.clear();
}

// No earlier than at the next look.
std::unique_ptr<CompletionMark> ArenaTransport::mark() {
  class Mark : public CompletionMark {
   public:
    explicit Mark(ArenaTransport& transport) : transport_(transport) {}
    bool is_done() override {
      transport_.complete();
      transport_.progress();
      return true;
    }

   private:
    ArenaTransport& transport_;
  };
  return std::make_unique<Mark>(*this);
}

void ArenaTransport::send(int pe, const MessageKey& key, const void* data, std::size_t bytes) {
  const auto* from = static_cast<const std::byte*>(data);
  std::size_t offset = 0;
  do {
    const std::size_t piece = std::min(bytes - offset, kMostOfPiece);
    send_piece(pe, {me_, key, bytes, piece}, from + offset);
    offset += piece;
  } while (offset < bytes);
}

void ArenaTransport::send_piece(int pe, const Frame& frame, const std::byte* data) {
  Inbox& inbox = *mapping_.inbox_of(pe);
  const std::size_t bytes = sizeof frame + frame.bytes;
  const auto try_write = [&] {
    const InboxLock lock(inbox);
    const std::uint64_t at = inbox.written.load(std::memory_order_relaxed);
    // Acquire: the owner has read what lay there before it says so.
    if (at + bytes - inbox.read.load(std::memory_order_acquire) > kInboxBytes) return false;
    copy_in(inbox, at, &frame, sizeof frame);
    copy_in(inbox, at + sizeof frame, data, frame.bytes);
    // Release: publishes the frame to the owner's progress().
    inbox.written.store(at + bytes, std::memory_order_release);
    return true;
  };
  fuzz_schedule();
  wait_until_ready(try_write, [&] { return fmt::format("PE {} to take in its messages", pe); });
}

void ArenaTransport::progress() {
  complete();
  const std::unique_lock lock(inbox_mutex_, std::try_to_lock);
  if (!lock) return;  // another thread of this PE does it
  Inbox& inbox = *mapping_.inbox_of(me_);
  std::uint64_t at = inbox.read.load(std::memory_order_relaxed);
  std::vector<std::byte> piece;
  while (at != inbox.written.load(std::memory_order_acquire)) {
    Frame frame;
    copy_out(&frame, inbox, at, sizeof frame);
    piece.resize(frame.bytes);
    copy_out(piece.data(), inbox, at + sizeof frame, frame.bytes);
    mailbox_.deliver(frame.from, frame.key, {frame.total, piece.data(), frame.bytes});
    at += sizeof frame + frame.bytes;
    inbox.read.store(at, std::memory_order_release);  // the room is a sender's again
  }
}

void ArenaTransport::expect(int pe, const MessageKey& key, void* dest, std::size_t bytes) {
  mailbox_.expect(pe, key, dest, bytes);
}

void ArenaTransport::receive(int pe, const MessageKey& key, void* dest, std::size_t bytes,
                             const std::function<std::string()>& what) {
  wait_until_ready(
      [&] {
        progress();
        return mailbox_.try_take(pe, key, dest, bytes);
      },
      what);
}

}  // namespace meshmem
