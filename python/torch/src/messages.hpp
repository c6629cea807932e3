// SPDX-License-Identifier: Apache-2.0
//
// Messages between two members (send, recv) for tensors of the processor. Each member has an inbox
// with two slots for each other member. A message travels in chunks, each of which fills a slot.
// Invariant: chunks from a member arrive and are taken in order. The sender fills a slot only after
// the receiver has said that it has taken the chunk that was there.
#pragma once
#include <atomic>
#include <deque>
#include <memory>
#include <vector>

#include "collectives.hpp"
#include "work.hpp"

namespace meshmem::pytorch {

constexpr int kAnyRank = -1;

class Messages;

class MessageWork final : public TensorWork {
 public:
  MessageWork(std::shared_ptr<Messages> messages, int me, c10d::OpType type, const char* name,
              int peer, int tag, const at::Tensor& tensor, Milliseconds timeout);
  bool wait(Milliseconds timeout = kNoTimeout) override;
  int sourceRank() const override { return source_; }

 private:
  friend class Messages;
  std::exception_ptr late(Milliseconds time) const;

  std::shared_ptr<Messages> messages_;
  at::Tensor tensor_;
  Span data_;
  std::size_t n_moved_ = 0;
  const int peer_;
  std::atomic<int> source_;  // of a message from any member: known when it is there
  const int tag_;
  const Milliseconds timeout_;
  const Clock::time_point begun_ = Clock::now();
};
using MessageWorkPtr = c10::intrusive_ptr<MessageWork>;

class Messages final : public Crew {
 public:
  explicit Messages(std::shared_ptr<Group> group);
  void stop();  // fails messages that are not done

  void send(const MessageWorkPtr& work);
  void receive(const MessageWorkPtr& work);
  // Moves what can be moved; true if anything was. The caller need not have a lock.
  bool progress();

 private:
  // Of the stage, for each other member.
  struct alignas(64) Words {
    std::uint64_t n_arrived;  // chunks from that member
    std::uint64_t n_taken;    // chunks that the member has taken from this one
  };
  struct ChunkHeader {
    std::uint64_t bytes;  // of the message
    std::int64_t tag;
  };
  // A message that arrives, into a tensor or, if no tensor waits for it yet, into `kept`.
  struct Arriving {
    MessageWorkPtr receiver;
    std::vector<char> kept;
    std::size_t bytes = 0;
    std::size_t n_moved = 0;
    int from = 0;
    int tag = 0;
    bool is_whole() const { return n_moved == bytes; }
  };
  struct Peer {
    std::uint64_t n_sent = 0, n_got = 0;
    std::deque<MessageWorkPtr> sends;
    std::shared_ptr<Arriving> arriving;
  };

  Words* words(int rank) const;
  char* slot(int rank, std::uint64_t chunk) const;
  bool send_chunk(int rank);
  bool take_chunk(int rank);
  std::shared_ptr<Arriving> begin_message(int rank, const ChunkHeader& header);
  void find_message(const MessageWorkPtr& work);
  void deliver(Arriving& message);
  MessageWorkPtr find_receiver(int from, int tag);
  bool has_receiver_for(int from) const;
  void finish(const MessageWorkPtr& work, const std::exception_ptr& error);
  bool move_chunks();
  // Fails receivers that have a future and get no message within their timeout.
  void fail_late_receivers();
  bool has_work() const override { return n_pending_ > 0; }
  bool do_some() override;

  char* area_;
  std::size_t slot_bytes_;
  int n_idle_ = 0;  // polls of the threads that moved nothing
  std::vector<Peer> peers_;
  std::deque<MessageWorkPtr> receivers_;              // that no message was found for yet
  std::deque<std::shared_ptr<Arriving>> unexpected_;  // without a receiver
  std::size_t n_pending_ = 0;
};

}  // namespace meshmem::pytorch
