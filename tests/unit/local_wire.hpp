// SPDX-License-Identifier: Apache-2.0
//
// A network within a process, whose PEs are threads. Messages wait at their sender and at their
// receiver for a random number of looks, and arrive in order for each pair.
// Invariant: a message's memory is read when it leaves, which sent() tells, and not before. So code
// that changes it too early is found. A wire wakes as Wire promises, and no more. Included by the
// tests of NetworkTransport.
#ifndef MESHMEM_TESTS_UNIT_LOCAL_WIRE_HPP_
#define MESHMEM_TESTS_UNIT_LOCAL_WIRE_HPP_

#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "transport/wire.hpp"

namespace meshmem {

class LocalWire;

// Where wires find one another. A wire's address is its number.
struct LocalNetwork {
  std::mutex mutex;
  std::vector<LocalWire*> wires;
};

class LocalWire : public Wire {
 public:
  // One of `slowness` looks finds something; 1: each.
  LocalWire(LocalNetwork& network, WireListener* listener, unsigned slowness)
      : network_(network),
        listener_(listener),
        slowness_(slowness),
        event_fd_(eventfd(0, EFD_NONBLOCK)) {
    const std::lock_guard lock(network_.mutex);
    number_ = static_cast<int>(network_.wires.size());
    random_.seed(static_cast<unsigned>(number_) + 1);
    network_.wires.push_back(this);
  }
  ~LocalWire() override { close(event_fd_); }

  std::string address() const override { return std::to_string(number_); }
  int connect(std::string_view address) override {
    return add_peer(std::stoi(std::string(address)));
  }

  void send(int peer, const Message& message) override {
    outbox_.push_back({peers_[static_cast<std::size_t>(peer)], message});
    if (is_lucky()) leave();
    if (!outbox_.empty()) wake();
  }

  bool progress() override {
    bool any = false;
    while (!outbox_.empty() && is_lucky()) any = leave();
    tell_losses();
    for (Arrived arrived; try_take(arrived); any = true) {
      const bool is_admitted = arrived.introduces && listener_->accepts_introduction(
                                                         arrived.head.data(), arrived.head.size());
      const int sender = is_admitted ? add_peer(arrived.from) : -1;
      listener_->handle_message(sender, arrived.head.data(), arrived.head.size(),
                                arrived.body.data(), arrived.body.size());
      const std::lock_guard lock(mutex_);
      --n_in_hand_;
    }
    return any;
  }

  int event_fd() const override { return event_fd_; }
  bool arm() override {
    const std::lock_guard lock(mutex_);
    std::uint64_t count;
    [[maybe_unused]] const ssize_t n = read(event_fd_, &count, sizeof count);
    is_armed_ = outbox_.empty() && n_arrived_ == 0;
    return is_armed_;
  }
  std::string description() const override { return "a local wire"; }

  // The peer with this number is reported as lost.
  void lose(int number, const std::string& why, bool was_silent) {
    const std::lock_guard lock(mutex_);
    lost_.push_back({number, why, was_silent});
    wake();
  }
  // Whether the listener is done with all that has arrived.
  bool has_taken_all() {
    const std::lock_guard lock(mutex_);
    return n_arrived_ + n_in_hand_ == 0;
  }
  std::size_t n_sent() const { return n_sent_; }
  std::size_t n_peers() const { return peers_.size(); }
  // Whether an arrival wakes a sleeper: arm() has said so, and nothing has been taken since.
  bool is_armed() {
    const std::lock_guard lock(mutex_);
    return is_armed_;
  }
  // An arrival wakes nobody: a PE that polls is always faster than the thread that sleeps.
  void wake_nobody(bool is_so = true) { wakes_ = !is_so; }
  // While held back, messages neither leave nor arrive here.
  void hold_back(bool holds) { holds_back_ = holds; }

 private:
  struct Leaving {
    int to;
    Message message;
  };
  struct Arrived {
    int from;
    bool introduces;
    std::vector<std::byte> head, body;
  };

  struct Lost {
    int number;  // of the wire
    std::string why;
    bool was_silent;
  };

  bool is_lucky() { return !holds_back_ && (slowness_ <= 1 || random_() % slowness_ == 0); }
  int add_peer(int number) {
    peers_.push_back(number);
    return static_cast<int>(peers_.size()) - 1;
  }
  void wake() const {
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t n = write(event_fd_, &one, sizeof one);
  }

  bool leave() {
    const Leaving leaving = outbox_.front();
    outbox_.pop_front();
    const Message& message = leaving.message;
    const auto bytes = [](const void* data, std::size_t n) {
      const auto* begin = static_cast<const std::byte*>(data);
      return std::vector<std::byte>(begin, begin + n);
    };
    wire(leaving.to)
        .arrive({number_, message.introduces, bytes(message.head, message.head_bytes),
                 bytes(message.body, message.body_bytes)});
    ++n_sent_;
    message.sent(message.argument);
    return true;
  }
  void tell_losses() {
    std::vector<Lost> lost;
    {
      const std::lock_guard lock(mutex_);
      lost.swap(lost_);
    }
    for (const auto& [number, why, was_silent] : lost) {
      for (std::size_t peer = 0; peer < peers_.size(); ++peer) {
        if (peers_[peer] == number) listener_->handle_loss(static_cast<int>(peer), why, was_silent);
      }
    }
  }
  LocalWire& wire(int number) {
    const std::lock_guard lock(network_.mutex);
    return *network_.wires[static_cast<std::size_t>(number)];
  }
  void arrive(Arrived message) {
    const std::lock_guard lock(mutex_);
    inbox_[message.from].push_back(std::move(message));
    ++n_arrived_;
    if (wakes_ && is_armed_) wake();
  }
  bool try_take(Arrived& message) {
    const std::lock_guard lock(mutex_);
    for (auto& [from, queue] : inbox_) {
      if (queue.empty() || !is_lucky()) continue;
      message = std::move(queue.front());
      queue.pop_front();
      --n_arrived_;
      ++n_in_hand_;
      is_armed_ = false;
      return true;
    }
    return false;
  }

  LocalNetwork& network_;
  WireListener* const listener_;
  const unsigned slowness_;
  const int event_fd_;
  int number_;
  std::minstd_rand random_;
  std::vector<int> peers_;  // numbers of wires
  std::deque<Leaving> outbox_;
  std::size_t n_sent_ = 0;
  std::atomic<bool> holds_back_{false}, wakes_{true};

  std::mutex mutex_;
  std::vector<Lost> lost_;
  std::map<int, std::deque<Arrived>> inbox_;
  std::size_t n_arrived_ = 0, n_in_hand_ = 0;
  bool is_armed_ = false;
};

}  // namespace meshmem

#endif  // MESHMEM_TESTS_UNIT_LOCAL_WIRE_HPP_
