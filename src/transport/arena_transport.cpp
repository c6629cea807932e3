// SPDX-License-Identifier: Apache-2.0
//
// Copies and rings in shared memory.
// Invariant: a frame, a header and up to kMostOfPiece bytes behind it, is read after `written` says
// that it is whole. A sender that finds no room takes in its own messages while it waits, so that
// two that send to each other do not wait for ever.
#include "transport/arena_transport.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>

#include "base/machine/copy_bytes.hpp"
#include "base/waiting/fence.hpp"
#include "base/waiting/pending_work.hpp"
#include "base/waiting/schedule_fuzzing.hpp"
#include "base/waiting/wait.hpp"

namespace meshmem {
namespace {

constexpr std::size_t kMostOfPiece = 16 * 1024;
static_assert(kMostOfPiece % kPieceGrain == 0);

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

namespace {

std::byte* without_const(const void* source) {
  return const_cast<std::byte*>(static_cast<const std::byte*>(source));
}

void let_do(DeviceAccess& device, DeviceWork& work) {
  work.is_done.store(false, std::memory_order_relaxed);
  device.submit(work);
  wait_until_ready(
      [&] {
        device.drive();
        return work.is_done.load(std::memory_order_acquire);
      },
      [] { return std::string("device memory of a PE of another fake node"); });
}

bool is_flag(const void* place, std::size_t bytes) {
  return bytes <= 8 && std::has_single_bit(bytes) &&
         reinterpret_cast<std::uintptr_t>(place) % bytes == 0;
}

std::uint64_t run(DeviceAccess& device, std::byte* there, const AtomicRequest& request) {
  DeviceWork work;
  work.kind = DeviceWork::Kind::operation;
  work.there = there;
  work.bytes = request.bytes;
  work.op = request.op;
  work.operand = request.operand;
  work.condition = request.condition;
  let_do(device, work);
  return work.before;
}

}  // namespace

void ArenaTransport::copy(const Deferred& copy) {
  if (copy.there.segment == RemoteSegment::device) return copy_on_device(copy);
  std::byte* const there = mapping_.address_of(copy.there);
  copy_bytes(copy.is_put ? there : copy.here, copy.is_put ? copy.here : there, copy.bytes);
}

void ArenaTransport::copy_on_device(const Deferred& copy) {
  DeviceAccess& device = *mapping_.device;
  std::byte* const there = mapping_.address_of(copy.there);
  if (copy.is_put && is_flag(there, copy.bytes)) {
    AtomicRequest store{device::AtomicOp::set, copy.bytes, 0, 0, false};
    std::memcpy(&store.operand, copy.here, copy.bytes);
    run(device, there, store);
    return;
  }
  for (std::size_t done = 0; done < copy.bytes; done += DeviceAccess::kPieceBytes) {
    DeviceWork work;
    work.kind = copy.is_put ? DeviceWork::Kind::write : DeviceWork::Kind::read;
    work.there = there + done;
    work.bytes = std::min(copy.bytes - done, DeviceAccess::kPieceBytes);
    if (copy.is_put) {
      device.take_room(work, work.bytes);
      std::memcpy(work.data, copy.here + done, work.bytes);
    }
    let_do(device, work);
    if (copy.is_put) continue;
    copy_bytes(copy.here + done, work.data, work.bytes);
    device.release(work);
  }
}

void ArenaTransport::put(const RemotePlace& dest, const void* source, std::size_t bytes) {
  fuzz_schedule();
  copy({true, dest, without_const(source), bytes});
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
  copy({false, source, static_cast<std::byte*>(dest), bytes});
}

void ArenaTransport::put_nbi(const RemotePlace& dest, const void* source, std::size_t bytes) {
  defer({true, dest, without_const(source), bytes});
}

void ArenaTransport::get_nbi(void* dest, const RemotePlace& source, std::size_t bytes) {
  defer({false, source, static_cast<std::byte*>(dest), bytes});
}

void ArenaTransport::defer(const Deferred& copy) {
  const std::lock_guard lock(deferred_mutex_);
  deferred_.push_back(copy);
  pending_work.count_issued();
}

std::uint64_t ArenaTransport::atomic(const RemotePlace& dest, const AtomicRequest& request) {
  fuzz_schedule();
  std::byte* const there = mapping_.address_of(dest);
  return dest.segment == RemoteSegment::device ? run(*mapping_.device, there, request)
                                               : execute(request, there);
}

void ArenaTransport::complete() {
  const std::lock_guard turn(completing_);
  std::vector<Deferred> copies;
  {
    const std::lock_guard lock(deferred_mutex_);
    copies.swap(deferred_);
  }
  for (const Deferred& one : copies) copy(one);
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

}  // namespace meshmem
