// SPDX-License-Identifier: Apache-2.0
//
// Sending and taking of chunks, and which message a receiver gets: the first one with its tag.
#include "messages.hpp"

#include <algorithm>
#include <cstring>

namespace meshmem::pytorch {
namespace {

constexpr std::uint64_t kSlots = 2;
constexpr std::size_t kLeastSlot = 128;
constexpr int kPolls = 200;  // before a thread sleeps between polls
constexpr std::chrono::microseconds kPollInterval{50};

}  // namespace

MessageWork::MessageWork(std::shared_ptr<Messages> messages, int me, c10d::OpType type,
                         const char* name, int peer, int tag, const at::Tensor& tensor,
                         Milliseconds timeout)
    : TensorWork(me, type, name, {tensor}),
      messages_(std::move(messages)),
      tensor_(tensor),
      data_(span_of(tensor)),
      peer_(peer),
      source_(peer),
      tag_(tag),
      timeout_(timeout) {}

bool MessageWork::wait(Milliseconds timeout) {
  const Milliseconds longest =
      timeout == kNoTimeout ? timeout_ : std::min(timeout, kLongestTimeout);
  const auto end = Clock::now() + longest;
  for (int n_idle = 0; !is_finished();) {
    messages_->require_no_child();
    n_idle = messages_->progress() ? 0 : n_idle + 1;
    if (n_idle < kPolls)
      std::this_thread::yield();
    else
      wait_for_other(kPollInterval);
    if (!is_finished() && Clock::now() >= end) std::rethrow_exception(late(longest));
  }
  wait_for_future(*messages_);
  if (const auto error = exception()) std::rethrow_exception(error);
  return true;
}

std::exception_ptr MessageWork::late(Milliseconds time) const {
  const Group& group = messages_->group();
  const std::string peer =
      peer_ == kAnyRank ? "" : c10::str(" with PE ", group.pe(peer_), " (rank ", peer_, ")");
  return std::make_exception_ptr(c10::DistBackendError(
      {__func__, __FILE__, __LINE__},
      c10::str(group.text(), ": ", name_, peer, " was not done in ", time.count(), " ms")));
}

Messages::Messages(std::shared_ptr<Group> group)
    : Crew(std::move(group)), area_(group_->message_area()), peers_(group_->pes.size()) {
  const std::size_t most = group_->message_bytes() / peers_.size();  // for each member
  TORCH_CHECK(most >= sizeof(Words) + kSlots * kLeastSlot, "meshmem: a group of ", peers_.size(),
              " is too large");
  slot_bytes_ = (most - sizeof(Words)) / kSlots / 64 * 64;
}

Messages::Words* Messages::words(int rank) const { return reinterpret_cast<Words*>(area_) + rank; }

char* Messages::slot(int rank, std::uint64_t chunk) const {
  const std::size_t number = static_cast<std::size_t>(rank) * kSlots + chunk % kSlots;
  return area_ + peers_.size() * sizeof(Words) + number * slot_bytes_;
}

void Messages::send(const MessageWorkPtr& work) {
  require_no_child();
  {
    const std::lock_guard lock(mutex_);
    require_open();
    peers_[static_cast<std::size_t>(work->peer_)].sends.push_back(work);
    ++n_pending_;
    while (send_chunk(work->peer_)) {
    }
    if (has_work()) wake();
  }
  drop_finished();
}

void Messages::receive(const MessageWorkPtr& work) {
  require_no_child();
  {
    const std::lock_guard lock(mutex_);
    require_open();
    find_message(work);
    if (has_work()) wake();
  }
  drop_finished();
}

void Messages::find_message(const MessageWorkPtr& work) {
  ++n_pending_;
  const auto found = std::find_if(unexpected_.begin(), unexpected_.end(), [&](const auto& kept) {
    return kept->tag == work->tag_ && (work->peer_ == kAnyRank || work->peer_ == kept->from);
  });
  if (found == unexpected_.end()) {
    receivers_.push_back(work);
  } else {
    const std::shared_ptr<Arriving> message = *found;
    unexpected_.erase(found);
    message->receiver = work;
    if (message->is_whole()) deliver(*message);
  }
}

bool Messages::progress() {
  const bool has_moved = move_chunks();
  drop_finished();
  return has_moved;
}

bool Messages::do_some() {
  n_idle_ = move_chunks() ? 0 : n_idle_ + 1;
  if (n_idle_ > kPolls) {
    fail_late_receivers();
    std::this_thread::sleep_for(kPollInterval);
  } else if (n_idle_ > 0) {
    std::this_thread::yield();
  }
  return n_idle_ == 0;
}

void Messages::fail_late_receivers() {
  const std::lock_guard lock(mutex_);
  const auto now = Clock::now();
  std::erase_if(receivers_, [&](const MessageWorkPtr& work) {
    const bool is_late = now - work->begun_ > work->timeout_ && work->has_future();
    if (is_late) finish(work, work->late(work->timeout_));
    return is_late;
  });
}

bool Messages::move_chunks() {
  const std::lock_guard lock(mutex_);
  if (!memory().is_of_this_job()) return false;
  bool has_moved = false;
  for (int rank = 0; rank < group_->n(); ++rank) {
    while (send_chunk(rank)) has_moved = true;
    while (take_chunk(rank)) has_moved = true;
  }
  return has_moved;
}

void Messages::finish(const MessageWorkPtr& work, const std::exception_ptr& error) {
  --n_pending_;
  work->finish(error);
  hand_over(work);
}

// The slot is the one that the receiver has for this PE.
bool Messages::send_chunk(int rank) {
  Peer& peer = peers_[static_cast<std::size_t>(rank)];
  if (peer.sends.empty()) return false;
  if (peer.n_sent - shmem_signal_fetch(&words(rank)->n_taken) >= kSlots) return false;
  MessageWork& work = *peer.sends.front();
  const ChunkHeader header{work.data_.bytes, work.tag_};
  const std::size_t n =
      std::min(work.data_.bytes - work.n_moved_, slot_bytes_ - sizeof(ChunkHeader));
  char* there = slot(group_->me, peer.n_sent);
  const int pe = group_->pe(rank);
  if (n > 0) shmem_putmem(there + sizeof header, work.data_.data + work.n_moved_, n, pe);
  shmem_fence();
  shmem_putmem_signal(there, &header, sizeof header, &words(group_->me)->n_arrived, ++peer.n_sent,
                      SHMEM_SIGNAL_SET, pe);
  work.n_moved_ += n;
  if (work.n_moved_ < work.data_.bytes) return true;
  const MessageWorkPtr done = std::move(peer.sends.front());
  peer.sends.pop_front();
  finish(done, nullptr);
  return true;
}

// Leaves a message in its slots while nobody receives from that member.
bool Messages::take_chunk(int rank) {
  Peer& peer = peers_[static_cast<std::size_t>(rank)];
  if (n_pending_ == 0 || shmem_signal_fetch(&words(rank)->n_arrived) <= peer.n_got) return false;
  const char* chunk = slot(rank, peer.n_got);
  ChunkHeader header;
  std::memcpy(&header, chunk, sizeof header);
  if (!peer.arriving) peer.arriving = begin_message(rank, header);
  if (!peer.arriving) return false;
  Arriving& message = *peer.arriving;
  const std::size_t n =
      std::min(message.bytes - message.n_moved, slot_bytes_ - sizeof(ChunkHeader));
  char* to = message.kept.empty() ? message.receiver->data_.data : message.kept.data();
  if (n > 0) std::memcpy(to + message.n_moved, chunk + sizeof header, n);
  message.n_moved += n;
  shmem_signal_set(&words(group_->me)->n_taken, ++peer.n_got, group_->pe(rank));
  if (!message.is_whole()) return true;
  const std::shared_ptr<Arriving> whole = std::move(peer.arriving);
  if (whole->receiver) deliver(*whole);
  return true;
}

// Null if it has to wait.
std::shared_ptr<Messages::Arriving> Messages::begin_message(int rank, const ChunkHeader& header) {
  auto message = std::make_shared<Arriving>();
  message->bytes = header.bytes;
  message->from = rank;
  message->tag = static_cast<int>(header.tag);
  message->receiver = find_receiver(rank, message->tag);
  const bool fits = message->receiver && message->receiver->data_.bytes == header.bytes;
  if (!message->receiver && !has_receiver_for(rank)) return nullptr;
  if (!fits) message->kept.resize(std::max<std::size_t>(header.bytes, 1));
  if (!message->receiver) unexpected_.push_back(message);
  return message;
}

// It is whole and has a receiver, whose tensor may be of another size.
void Messages::deliver(Arriving& message) {
  MessageWork& work = *message.receiver;
  work.source_ = message.from;
  std::exception_ptr error;
  if (work.data_.bytes != message.bytes) {
    error = std::make_exception_ptr(std::invalid_argument(
        c10::str("tensor: ", work.data_.bytes, " bytes, but PE ", group_->pe(message.from),
                 " (rank ", message.from, ") has sent ", message.bytes)));
  } else if (!message.kept.empty() && message.bytes > 0) {
    std::memcpy(work.data_.data, message.kept.data(), message.bytes);
  }
  finish(message.receiver, error);
}

MessageWorkPtr Messages::find_receiver(int from, int tag) {
  const auto found = std::find_if(receivers_.begin(), receivers_.end(), [&](const auto& work) {
    return work->tag_ == tag && (work->peer_ == kAnyRank || work->peer_ == from);
  });
  if (found == receivers_.end()) return {};
  MessageWorkPtr receiver = *found;
  receivers_.erase(found);
  return receiver;
}

bool Messages::has_receiver_for(int from) const {
  return std::any_of(receivers_.begin(), receivers_.end(), [&](const auto& work) {
    return work->peer_ == kAnyRank || work->peer_ == from;
  });
}

void Messages::stop() {
  if (is_in_child()) return;
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
    const auto error = std::make_exception_ptr(
        std::runtime_error(group_->text() + ": the group ended before the message was done"));
    for (Peer& peer : peers_) {
      for (const MessageWorkPtr& work : peer.sends) finish(work, error);
      if (peer.arriving && peer.arriving->receiver) finish(peer.arriving->receiver, error);
      peer = {};
    }
    for (const MessageWorkPtr& work : receivers_) finish(work, error);
    receivers_.clear();
  }
  stop_threads();
  drop_finished();
}

}  // namespace meshmem::pytorch
