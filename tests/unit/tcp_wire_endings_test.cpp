// SPDX-License-Identifier: Apache-2.0
//
// Tests of the TCP wire when connections end, cannot be made, or are held by a child of fork.
#include <fmt/format.h>
#include <sys/resource.h>

#include <memory>
#include <set>
#include <vector>

#include "tcp_stranger.hpp"
#include "transport/tcp/tcp_wire.hpp"

namespace meshmem {
namespace {

using namespace std::chrono_literals;

// A second connection of `b` to `a` that has brought a message. Two can stay if both ends dial.
std::unique_ptr<Stranger> second_connection(End& a, End& b) {
  auto second = std::make_unique<Stranger>(a);
  tcp::Greeting greeting{};
  EXPECT_TRUE(second->hear(a, greeting));
  second->say(tcp::make_claim(End::kKey, greeting, address_of(b), address_of(a)));
  Digest answer{};
  EXPECT_TRUE(second->hear(a, answer));
  second->say(tcp::Lengths{0, sizeof(Head), 0, tcp::kMark});
  second->say(Head{0, 0, 0});
  EXPECT_TRUE(progress_until({&a}, [&] { return a.taken() == 1; }));
  return second;
}

TEST(TcpWireEndings, LosesAPeerAfterAllThatItHasSent) {
  in_child([] {
    End a, b;
    const int to_b = a.wire().connect(b.wire().address());
    a.send(to_b, 8, true);
    ASSERT_TRUE(progress_until({&a, &b}, [&] { return b.taken() == 1; }));
    auto second = second_connection(a, b);
    constexpr std::uint64_t kMessages = 1000;
    const std::vector<std::byte> body = [] {
      std::vector<std::byte> filled(1000);
      fill(filled, 1);
      return filled;
    }();
    for (std::uint64_t number = 1; number <= kMessages; ++number) {  // too many for one read
      second->say(tcp::Lengths{1000, sizeof(Head), 0, tcp::kMark});
      second->say(Head{number, body.size(), 1});
      second->say(std::string(reinterpret_cast<const char*>(body.data()), body.size()));
    }
    second.reset();
    b.close();
    ASSERT_TRUE(progress_until({&a}, [&] { return !a.lost().empty(); }));
    EXPECT_EQ(a.taken(), 1 + kMessages);
    EXPECT_EQ(a.wrong(), 0);
    EXPECT_EQ(a.lost(), std::vector<int>{to_b});
  });
}

TEST(TcpWireEndings, GivesBackWhatALostPeerDoesNotTake) {
  in_child([] {
    End a, b;
    const int to_b = a.wire().connect(b.wire().address());
    a.send(to_b, 8, true);
    ASSERT_TRUE(progress_until({&a, &b}, [&] { return b.taken() == 1; }));
    const auto second = second_connection(a, b);  // which goes on for longer
    for (int count = 0; count < 100; ++count) a.send(to_b, Wire::kMaxBodyBytes, false);
    ASSERT_GT(a.in_flight(), 0) << "more than sockets hold";
    b.close();
    ASSERT_TRUE(progress_until({&a}, [&] { return !a.lost().empty(); }));
    EXPECT_EQ(a.in_flight(), 0);
  });
}

// The first connection stays silent, as after a firewall has forgotten it.
TEST(TcpWireEndings, LosesAPeerByOneOfItsConnections) {
  in_child([] {
    End a, b;
    const int to_b = a.wire().connect(b.wire().address());
    a.send(to_b, 8, true);
    ASSERT_TRUE(progress_until({&a, &b}, [&] { return b.taken() == 1; }));
    second_connection(a, b);  // and it ends
    ASSERT_TRUE(progress_until({&a}, [&] { return !a.lost().empty(); }));
    EXPECT_EQ(a.lost(), std::vector<int>{to_b});
    ASSERT_TRUE(progress_until({&a, &b}, [&] { return !b.lost().empty(); }));
  });
}

// The child holds the socket too, so close() in the parent does not end the connection.
TEST(TcpWireEndings, ForgetsASocketThatAChildHolds) {
  in_child([] {
    End a, b;
    tcp::Greeting greeting{};
    const Stranger stranger(b);
    ASSERT_TRUE(stranger.hear(b, greeting));
    const pid_t child = fork();
    if (child == 0) {
      pause();
      _exit(0);
    }
    stranger.say(std::string(sizeof(tcp::Claim), 'x'));
    for (int turn = 0; turn < 20; ++turn) b.progress();
    stranger.say(std::string("more"));
    pollfd ready{b.wire().event_fd(), POLLIN, 0};
    EXPECT_EQ(poll(&ready, 1, 100), 0) << "it looks at what it has ended";
    EXPECT_TRUE(stranger.is_sent_away(b));
    expect_to_go_on(a, b);
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
  });
}

TEST(TcpWireEndings, SaysThatAPeerCannotBeReached) {
  in_child([] {
    sockaddr_storage nowhere{};
    auto& four = reinterpret_cast<sockaddr_in&>(nowhere);
    four.sin_family = AF_INET;
    four.sin_port = htons(1);
    four.sin_addr.s_addr = INADDR_BROADCAST;
    const tcp::Address address = tcp::make_address(nowhere);
    End end("lo");
    end.send(end.wire().connect(tcp::as_text(address)), 8, true);
    ASSERT_TRUE(progress_until({&end}, [&] { return !end.lost().empty(); }));
    EXPECT_EQ(end.why(), "network is unreachable") << "nobody has waited for it";
    EXPECT_FALSE(end.was_silent());
  });
}

TEST(TcpWireEndings, ConnectsWhenThereIsADescriptorAgain) {
  in_child([] {
    End a, b;
    const rlimit few{static_cast<rlim_t>(count_descriptors()) + 20, 4096};
    setrlimit(RLIMIT_NOFILE, &few);
    std::vector<int> taken;
    for (int descriptor; (descriptor = dup(0)) >= 0;) taken.push_back(descriptor);
    a.send(a.wire().connect(b.wire().address()), 100, true);
    for (int turn = 0; turn < 100; ++turn) a.progress();
    EXPECT_TRUE(a.lost().empty()) << a.why();
    for (const int descriptor : taken) ::close(descriptor);
    ASSERT_TRUE(progress_until({&a, &b}, [&] { return b.taken() == 1 || !a.lost().empty(); }));
    EXPECT_EQ(b.taken(), 1u);
  });
}

TEST(TcpWireEndings, ListensOnAFreePortOfARange) {
  in_child([] {
    const auto port_of = [](const Wire& wire) {
      sockaddr_storage at{};
      tcp::read_address(wire.address(), &at);
      return ntohs(reinterpret_cast<const sockaddr_in&>(at).sin_port);
    };
    End any("lo");  // so that its port is taken
    const int taken = port_of(any.wire());
    const auto first = static_cast<std::uint16_t>(std::min(taken, 65535 - 30));
    WireRequest request{0, &any, "lo", 10, false};
    request.first_port = first;
    request.last_port = first + 30;
    std::string error;
    std::set<int> ports = {taken};
    std::vector<std::unique_ptr<Wire>> wires;
    while (auto wire = try_make_wire(WireKind::tcp, request, &error)) {
      ASSERT_TRUE(ports.insert(port_of(*wire)).second) << "two listen on one port";
      wires.push_back(std::move(wire));
    }
    EXPECT_EQ(error, fmt::format("cannot listen on lo (127.0.0.1): no port from {} to {} is free "
                                 "(MESHMEM_TCP_PORT_RANGE)",
                                 first, first + 30));
    EXPECT_GE(*ports.begin(), first);
    EXPECT_LE(*ports.rbegin(), first + 30);
    EXPECT_GT(wires.size(), 5u);
    EXPECT_LE(wires.size(), 30u);
  });
}

// The process stops in the middle of the handshake, as under a debugger.
TEST(TcpWireEndings, ConnectsAfterALongStop) {
  in_child([] {
    End stopped, other;
    stopped.send(stopped.wire().connect(other.wire().address()), 100, true);
    const auto end = steady_clock::now() + TcpWire::kPatienceWithStrangers + 200ms;
    while (steady_clock::now() < end) {
      other.progress();
      usleep(5000);
    }
    ASSERT_TRUE(progress_until({&stopped, &other},
                               [&] { return other.taken() == 1 || !stopped.lost().empty(); }));
    EXPECT_TRUE(stopped.lost().empty()) << stopped.why();
  });
}

}  // namespace
}  // namespace meshmem

int main(int argc, char** argv) { return meshmem::run_wire_tests(argc, argv); }
