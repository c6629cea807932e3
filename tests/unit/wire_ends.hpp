// SPDX-License-Identifier: Apache-2.0
//
// Two ends of a wire, over this machine's TCP, which check what they take. TEST_WIRE=ucx means
// UCX's wire, otherwise it is meshmem's own.
// Invariant: each test runs in children of its own, so that no process forks after it has loaded
// UCX. Included by the tests of the wires, which end with 77 where UCX is asked for and not there.
#ifndef MESHMEM_TESTS_UNIT_WIRE_ENDS_HPP_
#define MESHMEM_TESTS_UNIT_WIRE_ENDS_HPP_

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "base/machine/interfaces.hpp"
#include "base/machine/loaded_libraries.hpp"
#include "child.hpp"
#include "transport/wire_library.hpp"

namespace meshmem {

using std::chrono::seconds;
using std::chrono::steady_clock;

struct Head {
  std::uint64_t number;
  std::uint64_t body_bytes;
  std::uint64_t seed;
};

// Bytes that follow from a seed and differ from place to place.
inline void fill(std::vector<std::byte>& body, std::uint64_t seed) {
  std::uint64_t value = seed * 0x9E3779B97F4A7C15u + 1;
  for (std::size_t place = 0; place < body.size(); place += sizeof value) {
    value = value * 6364136223846793005u + 1442695040888963407u;
    std::memcpy(&body[place], &value, std::min(sizeof value, body.size() - place));
  }
}

inline WireKind tested_wire() {
  const char* name = std::getenv("TEST_WIRE");
  return name != nullptr && std::string(name) == "ucx" ? WireKind::ucx : WireKind::tcp;
}

// One end: a wire and what it has been told.
class End : public WireListener {
 public:
  static constexpr WireKey kKey = {1, 2, 3};

  explicit End(const char* device = "", double keepalive = 10, bool admits_the_job = true) {
    std::string error;
    wire_ = try_make_wire(tested_wire(), {0, this, device, keepalive, false}, &error);
    EXPECT_NE(wire_, nullptr) << error;
    if (wire_ != nullptr) wire_->admit_only(own_addresses().all);
    if (wire_ != nullptr && admits_the_job) wire_->accept_connections(kKey);
  }

  void handle_message(int sender, const std::byte* head, std::size_t head_bytes,
                      const std::byte* body, std::size_t body_bytes) override {
    ASSERT_EQ(head_bytes, sizeof(Head));
    Head said;
    std::memcpy(&said, head, sizeof said);
    if (said.number != taken_) ++wrong_;
    if (said.body_bytes != body_bytes) ++wrong_;
    std::vector<std::byte> expected(said.body_bytes);
    fill(expected, said.seed);
    if (body_bytes != 0 && std::memcmp(expected.data(), body, body_bytes) != 0) ++wrong_;
    ++taken_;
    last_sender_ = sender;
    if (answers_ && sender >= 0) send(sender, 8, false);
  }

  // Refuses those who introduce themselves from now on.
  void admit_nobody() { admits_ = false; }
  bool accepts_introduction(const std::byte*, std::size_t) override { return admits_; }

  void handle_loss(int peer, const std::string& why, bool was_silent) override {
    lost_.push_back(peer);
    why_ = why;
    was_silent_ = was_silent;
  }

  // The message of the next number to this peer; it keeps its body until it is sent.
  void send(int peer, std::size_t body_bytes, bool introduces) {
    if (numbers_.size() <= static_cast<std::size_t>(peer)) numbers_.resize(peer + 1);
    auto* kept = new Kept{this, {numbers_[peer]++, body_bytes, random_()}, {}};
    kept->body.resize(body_bytes);
    fill(kept->body, kept->head.seed);
    ++in_flight_;
    wire_->send(peer, {&kept->head, sizeof kept->head, kept->body.data(), body_bytes, introduces,
                       &Kept::forget, kept});
  }

  bool progress() { return wire_->progress(); }
  Wire& wire() { return *wire_; }
  void close() { wire_.reset(); }
  void answer_introductions() { answers_ = true; }

  std::uint64_t taken() const { return taken_; }
  int wrong() const { return wrong_; }
  int in_flight() const { return in_flight_; }
  int last_sender() const { return last_sender_; }
  const std::vector<int>& lost() const { return lost_; }
  const std::string& why() const { return why_; }
  bool was_silent() const { return was_silent_; }

 private:
  struct Kept {
    End* end;
    Head head;
    std::vector<std::byte> body;
    static void forget(void* argument) {
      auto* kept = static_cast<Kept*>(argument);
      --kept->end->in_flight_;
      delete kept;
    }
  };
  std::unique_ptr<Wire> wire_;
  std::mt19937_64 random_{7};
  std::vector<std::uint64_t> numbers_;
  std::uint64_t taken_ = 0;
  int wrong_ = 0, in_flight_ = 0, last_sender_ = -2;
  bool answers_ = false, admits_ = true, was_silent_ = false;
  std::vector<int> lost_;
  std::string why_;
};

// Makes progress at all ends until `done`; gives up after a minute.
template <typename Done>
bool progress_until(const std::vector<End*>& ends, const Done& done) {
  const auto end_of_patience = steady_clock::now() + seconds(60);
  while (!done()) {
    for (End* end : ends) end->progress();
    if (steady_clock::now() > end_of_patience) return false;
  }
  return true;
}

// Sleeps on the descriptor between messages, as the progress thread does.
template <typename Done>
bool sleep_until(End& end, const Done& done) {
  const auto end_of_patience = steady_clock::now() + seconds(60);
  while (!done()) {
    if (steady_clock::now() > end_of_patience) return false;
    if (end.progress() || !end.wire().arm()) continue;
    pollfd ready{end.wire().event_fd(), POLLIN, 0};
    poll(&ready, 1, 1000);
  }
  return true;
}

template <typename Body>
void in_child(const Body& body) {
  EXPECT_EQ(status_of_child([&] {
              body();
              std::fflush(stdout);
              return testing::Test::HasFailure() ? 1 : 0;
            }),
            0);
}

// ---- Two processes that exchange their addresses by a pair of sockets

inline void tell(int fd, const std::string& text) {
  EXPECT_EQ(write(fd, text.data(), text.size()), static_cast<ssize_t>(text.size()));
}
inline std::string hear(int fd) {
  char text[4096];
  const ssize_t bytes = read(fd, text, sizeof text);
  EXPECT_GT(bytes, 0);
  return {text, static_cast<std::size_t>(bytes < 0 ? 0 : bytes)};
}

// Runs `first` in a child with the other's socket and process id, `second` in another.
template <typename First, typename Second>
void in_two_processes(const First& first, const Second& second) {
  int sockets[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sockets), 0);
  const pid_t other = fork();
  if (other == 0) {
    second(sockets[1]);
    _exit(testing::Test::HasFailure() ? 1 : 0);
  }
  in_child([&] { first(sockets[0], other); });
  kill(other, SIGKILL);
  waitpid(other, nullptr, 0);
  ::close(sockets[0]);
  ::close(sockets[1]);
}

inline int run_wire_tests(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (tested_wire() == WireKind::tcp) return RUN_ALL_TESTS();
  const int can_be_loaded = status_of_child([] {
    std::string error;
    if (open_network_library("ucx", false, &error) != nullptr) return 0;
    std::printf("skipped: %s\n", error.c_str());
    std::fflush(stdout);
    return 77;
  });
  return can_be_loaded == 0 ? RUN_ALL_TESTS() : can_be_loaded;
}

}  // namespace meshmem

#endif  // MESHMEM_TESTS_UNIT_WIRE_ENDS_HPP_
