// SPDX-License-Identifier: Apache-2.0
//
// The wire of UCX, over this machine's TCP: order, contents, introductions, sleep and loss. Each
// test runs in children of its own, so that no process forks after it has loaded UCX. Ends with 77
// where UCX is not installed.
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "base/network_library.hpp"
#include "child.hpp"
#include "transport/wire_library.hpp"

namespace meshmem {
namespace {

using std::chrono::seconds;
using std::chrono::steady_clock;

struct Head {
  std::uint64_t number;
  std::uint64_t body_bytes;
  std::uint64_t seed;
};

// Bytes that follow from a seed and differ from place to place.
void fill(std::vector<std::byte>& body, std::uint64_t seed) {
  std::uint64_t value = seed * 0x9E3779B97F4A7C15u + 1;
  for (std::size_t place = 0; place < body.size(); place += sizeof value) {
    value = value * 6364136223846793005u + 1442695040888963407u;
    std::memcpy(&body[place], &value, std::min(sizeof value, body.size() - place));
  }
}

// One end: a wire and what it has been told.
class End : public WireListener {
 public:
  explicit End(const char* device = "", double keepalive = 10) {
    std::string error;
    wire_ = try_make_wire("ucx", {0, this, device, keepalive, false}, &error);
    EXPECT_NE(wire_, nullptr) << error;
  }

  void take(int sender, const std::byte* head, std::size_t head_bytes, const std::byte* body,
            std::size_t body_bytes) override {
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

  void lose(int peer, const std::string& why) override {
    lost_.push_back(peer);
    why_ = why;
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
  bool answers_ = false;
  std::vector<int> lost_;
  std::string why_;
};

// Makes progress at all ends until `done`; a minute is for ever.
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

void tell(int fd, const std::string& text) {
  EXPECT_EQ(write(fd, text.data(), text.size()), static_cast<ssize_t>(text.size()));
}
std::string hear(int fd) {
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

std::size_t drawn_size(std::mt19937_64& random) {
  static constexpr std::size_t kSizes[] = {0, 1, 8, 64, 1000, 8192, 9000, 65536, 300000, 1 << 20};
  return kSizes[random() % std::size(kSizes)];
}

void exchange_many(End& end, int peer, std::uint64_t count, const std::vector<End*>& all) {
  std::mt19937_64 random(11);
  for (std::uint64_t number = 0; number < count; ++number) {
    end.send(peer, drawn_size(random), number == 0);
    ASSERT_TRUE(progress_until(all, [&] { return end.in_flight() < 16; }));
  }
}

TEST(UcxWire, KeepsOrderAndContentsBothWays) {
  constexpr std::uint64_t kMessages = 3000;
  const auto side = [](int fd) {
    End end;
    tell(fd, end.wire().address());
    const int peer = end.wire().connect(hear(fd));
    exchange_many(end, peer, kMessages, {&end});
    ASSERT_TRUE(
        progress_until({&end}, [&] { return end.taken() == kMessages && end.in_flight() == 0; }));
    EXPECT_EQ(end.wrong(), 0);
    tell(fd, "done");
    EXPECT_TRUE(sleep_until(end, [&] {  // the peer's last message may still need this end
      pollfd told{fd, POLLIN, 0};
      return poll(&told, 1, 0) == 1;
    }));
    EXPECT_TRUE(end.lost().empty() || hear(fd) == "done");
  };
  in_two_processes([&](int fd, pid_t) { side(fd); }, side);
}

TEST(UcxWire, TwoInOneProcessMeetInTheMiddle) {
  in_child([] {
    End a, b;
    const int to_b = a.wire().connect(b.wire().address());
    const int to_a = b.wire().connect(a.wire().address());
    std::mt19937_64 random(3);
    for (int number = 0; number < 300; ++number) {
      a.send(to_b, drawn_size(random), true);
      b.send(to_a, drawn_size(random), true);
      ASSERT_TRUE(progress_until({&a, &b}, [&] { return a.in_flight() + b.in_flight() < 8; }));
    }
    ASSERT_TRUE(progress_until({&a, &b}, [&] { return a.taken() == 300 && b.taken() == 300; }));
    EXPECT_EQ(a.wrong() + b.wrong(), 0);
    EXPECT_EQ(a.last_sender(), to_b);
    EXPECT_EQ(b.last_sender(), to_a);
  });
}

TEST(UcxWire, AnswersWhoIntroducedItself) {
  in_child([] {
    End a, b;
    b.answer_introductions();
    const int to_b = a.wire().connect(b.wire().address());
    a.send(to_b, 100, true);
    ASSERT_TRUE(progress_until({&a, &b}, [&] { return a.taken() == 1; }));
    EXPECT_EQ(b.last_sender(), 0);
    EXPECT_EQ(a.last_sender(), -1) << "an answer does not introduce";
    EXPECT_EQ(b.wire().connect(a.wire().address()), 0) << "an address is one peer";
    a.send(to_b, 0, false);
    ASSERT_TRUE(progress_until({&a, &b}, [&] { return b.taken() == 2 && b.in_flight() == 0; }));
    EXPECT_EQ(b.last_sender(), -1);
    EXPECT_EQ(a.wrong() + b.wrong(), 0);
  });
}

TEST(UcxWire, WakesWhoSleepsOnItsDescriptor) {
  in_two_processes(
      [](int fd, pid_t) {
        End end;
        tell(fd, end.wire().address());
        for (std::uint64_t count = 1; count <= 20; ++count) {
          ASSERT_TRUE(sleep_until(end, [&] { return end.taken() == count; }));
          tell(fd, "next");
        }
        EXPECT_EQ(end.wrong(), 0);
      },
      [](int fd) {
        End end;
        const int peer = end.wire().connect(hear(fd));
        for (int count = 0; count < 20; ++count) {
          usleep(5000);
          end.send(peer, count % 2 == 0 ? 8 : 500000, false);
          EXPECT_TRUE(sleep_until(end, [&] { return end.in_flight() == 0; }));
          EXPECT_EQ(hear(fd), "next");
        }
      });
}

// How long it takes is printed: the kernel closes a killed process's connections at once.
void lose_a_killed_peer(bool introduced) {
  in_two_processes(
      [=](int fd, pid_t other) {
        End end;
        end.answer_introductions();
        tell(fd, end.wire().address());
        const std::string address = hear(fd);
        int peer = -1;
        if (!introduced) {
          peer = end.wire().connect(address);
          end.send(peer, 8, true);
        }
        ASSERT_TRUE(sleep_until(end, [&] { return end.taken() == 1 && end.in_flight() == 0; }));
        if (introduced) peer = end.last_sender();
        kill(other, SIGKILL);
        const auto killed = steady_clock::now();
        ASSERT_TRUE(sleep_until(end, [&] { return !end.lost().empty(); }));
        const std::chrono::duration<double, std::milli> took = steady_clock::now() - killed;
        std::printf("lost after %.1f ms: %s\n", took.count(), end.why().c_str());
        EXPECT_EQ(end.lost(), std::vector<int>{peer});
        for (int count = 0; count < 3; ++count) end.send(peer, 1 << 20, false);
        ASSERT_TRUE(sleep_until(end, [&] { return end.in_flight() == 0; }));
        EXPECT_EQ(end.lost().size(), 1u);
      },
      [=](int fd) {
        End end;
        end.answer_introductions();
        const std::string address = hear(fd);
        tell(fd, end.wire().address());
        if (introduced) end.send(end.wire().connect(address), 8, true);
        progress_until({&end}, [] { return false; });
      });
}

TEST(UcxWire, LosesAKilledPeerThatItConnectedTo) { lose_a_killed_peer(false); }
TEST(UcxWire, LosesAKilledPeerThatIntroducedItself) { lose_a_killed_peer(true); }

TEST(UcxWire, GivesBackWhatIsInFlightToAKilledPeer) {
  in_two_processes(
      [](int fd, pid_t other) {
        End end;
        const int peer = end.wire().connect(hear(fd));
        for (int count = 0; count < 100; ++count) end.send(peer, 1 << 20, true);
        ASSERT_TRUE(progress_until({&end}, [&] { return end.in_flight() < 100; }));
        kill(other, SIGKILL);
        ASSERT_TRUE(sleep_until(end, [&] { return !end.lost().empty() && end.in_flight() == 0; }));
      },
      [](int fd) {
        End end;
        tell(fd, end.wire().address());
        progress_until({&end}, [&] { return end.taken() == 3; });
        sleep(60);
      });
}

TEST(UcxWire, GivesBackWhatIsInFlightWhenItCloses) {
  in_child([] {
    End a, b;
    const int peer = a.wire().connect(b.wire().address());
    for (int count = 0; count < 50; ++count) a.send(peer, 1 << 20, true);
    EXPECT_GT(a.in_flight(), 0);
    a.close();
    EXPECT_EQ(a.in_flight(), 0);
    EXPECT_TRUE(a.lost().empty()) << "nobody is lost to who closes";
  });
}

TEST(UcxWire, LosesWhoIsNotThere) {
  in_child([] {
    End end;
    std::string address;
    {
      End gone;
      address = gone.wire().address();
    }
    const int peer = end.wire().connect(address);
    end.send(peer, 1000, true);
    end.send(peer, 1 << 20, false);
    ASSERT_TRUE(sleep_until(end, [&] { return !end.lost().empty() && end.in_flight() == 0; }));
    EXPECT_EQ(end.lost(), std::vector<int>{peer});
    std::printf("%s\n", end.why().c_str());
  });
}

TEST(UcxWire, ReachesManyPeers) {
  in_child([] {
    constexpr int kPeers = 40;
    End hub;
    std::deque<End> others(kPeers);
    std::vector<End*> all = {&hub};
    for (End& other : others) {
      other.answer_introductions();
      all.push_back(&other);
      hub.send(hub.wire().connect(other.wire().address()), 3000, true);
    }
    // Each answer has its sender's number 0, so only the first is the one that hub expects.
    ASSERT_TRUE(progress_until(all, [&] { return hub.taken() == kPeers; }));
    for (const End& other : others) {
      EXPECT_EQ(other.taken(), 1u);
      EXPECT_EQ(other.wrong(), 0);
    }
  });
}

TEST(UcxWire, SaysWhichNetworksThereAre) {
  in_child([] {
    std::string error;
    End listener;
    const auto none = try_make_wire("ucx", {0, &listener, "no_such0", 10, false}, &error);
    EXPECT_EQ(none, nullptr);
    EXPECT_NE(error.find("no network device \"no_such0\"; it finds "), std::string::npos) << error;
    EXPECT_NE(error.find("tcp over "), std::string::npos) << error;
    EXPECT_NE(listener.wire().description().find(", UCX "), std::string::npos);
    End on_loopback("lo");
    EXPECT_EQ(on_loopback.wire().description().rfind("tcp over lo, UCX ", 0), 0u)
        << on_loopback.wire().description();
    End peer("lo");
    on_loopback.send(on_loopback.wire().connect(peer.wire().address()), 8, true);
    ASSERT_TRUE(progress_until({&on_loopback, &peer}, [&] { return peer.taken() == 1; }));
    EXPECT_EQ(on_loopback.wire().description().rfind("tcp over lo, UCX ", 0), 0u)
        << on_loopback.wire().description();
  });
}

TEST(UcxWire, RefusesAnotherVersion) {
  in_child([] {
    std::string error;
    void* library = open_network_library("ucx", false, &error);
    ASSERT_NE(library, nullptr) << error;
    const auto make = reinterpret_cast<MakeWire>(network_symbol(library, kMakeWireSymbol, &error));
    ASSERT_NE(make, nullptr) << error;
    End listener;
    EXPECT_EQ(make({kWireVersion + 1, &listener, "", 10, false}, &error), nullptr);
    EXPECT_NE(error.find("another version"), std::string::npos) << error;
    EXPECT_EQ(network_symbol(library, "meshmem_no_such", &error), nullptr);
  });
}

TEST(UcxWire, SaysWhatIsMissing) {
  in_child([] {
    std::string error;
    EXPECT_EQ(open_network_library("no_such", false, &error), nullptr);
    EXPECT_EQ(error.rfind("there is no libmeshmem_no_such.so beside the library: ", 0), 0u)
        << error;
  });
}

TEST(UcxWire, LeavesTheProcessAsItWas) {
  in_child([] {
    std::vector<struct sigaction> before(32), after(32);
    for (int signal = 1; signal < 32; ++signal) sigaction(signal, nullptr, &before[signal]);
    End end;
    for (int signal = 1; signal < 32; ++signal) {
      sigaction(signal, nullptr, &after[signal]);
      EXPECT_EQ(before[signal].sa_handler, after[signal].sa_handler) << signal;
    }
    EXPECT_EQ(std::getenv("UCX_HANDLE_ERRORS"), nullptr);
    EXPECT_EQ(std::getenv("UCX_LOG_LEVEL"), nullptr);
  });
}

}  // namespace
}  // namespace meshmem

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  const int can_be_loaded = meshmem::status_of_child([] {
    std::string error;
    if (meshmem::open_network_library("ucx", false, &error) != nullptr) return 0;
    std::printf("skipped: %s\n", error.c_str());
    std::fflush(stdout);
    return 77;
  });
  return can_be_loaded == 0 ? RUN_ALL_TESTS() : can_be_loaded;
}
