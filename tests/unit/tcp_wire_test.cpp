// SPDX-License-Identifier: Apache-2.0
//
// Strangers at the port of the TCP wire: whatever they send or hold, they reach nobody, and the
// job's ends go on.
#include "transport/tcp/tcp_wire.hpp"

#include <sys/resource.h>

#include <deque>

#include "tcp_stranger.hpp"
#include "transport/tcp/handshake.hpp"
#include "transport/tcp/parcels.hpp"

namespace meshmem {
namespace {

using namespace std::chrono_literals;

TEST(TcpWire, TakesNobodyBeforeItKnowsTheKey) {
  End early("", 10, false), other;
  other.send(other.wire().connect(early.wire().address()), 100, true);
  const auto end = steady_clock::now() + 200ms;
  progress_until({&early, &other}, [&] { return steady_clock::now() > end; });
  EXPECT_EQ(early.taken(), 0u);
  early.wire().accept_connections(End::kKey);
  ASSERT_TRUE(progress_until({&early, &other}, [&] { return early.taken() == 1; }));
}

TEST(TcpWire, RefusesWhoDoesNotKnowTheKey) {
  End a, b;
  WireKey wrong = End::kKey;
  wrong.back() ^= 1;
  tcp::Greeting greeting{};
  const Stranger stranger(b);
  ASSERT_TRUE(stranger.hear(b, greeting));
  stranger.say(tcp::make_claim(wrong, greeting, address_of(a), address_of(b)));
  EXPECT_TRUE(stranger.is_sent_away(b)) << "without a byte that depends on the key";
  expect_to_go_on(a, b);
}

TEST(TcpWire, RefusesWhatWasSaidBefore) {
  End a, b;
  tcp::Greeting greeting{}, later{};
  const Stranger member(b);
  ASSERT_TRUE(member.hear(b, greeting));
  const auto claim = tcp::make_claim(End::kKey, greeting, address_of(a), address_of(b));
  member.say(claim);
  Digest answer{};
  ASSERT_TRUE(member.hear(b, answer));
  EXPECT_TRUE(is_same(answer, tcp::make_answer(End::kKey, greeting, claim, address_of(b))));
  const Stranger stranger(b);
  ASSERT_TRUE(stranger.hear(b, later));
  EXPECT_NE(greeting.nonce, later.nonce);
  stranger.say(claim);
  EXPECT_TRUE(stranger.is_sent_away(b));
  expect_to_go_on(a, b);
}

TEST(TcpWire, RefusesItsOwnWordsAndThoseForAnotherPort) {
  End a, b;
  tcp::Greeting greeting{};
  const Stranger first(b);
  ASSERT_TRUE(first.hear(b, greeting));
  tcp::Claim claim = tcp::make_claim(End::kKey, greeting, address_of(b), address_of(a));
  first.say(claim);
  EXPECT_TRUE(first.is_sent_away(b)) << "the claim is for a";
  const Stranger second(b);
  ASSERT_TRUE(second.hear(b, greeting));
  claim = tcp::make_claim(End::kKey, greeting, address_of(a), address_of(b));
  claim.proof = tcp::make_answer(End::kKey, greeting, claim, address_of(b));
  second.say(claim);
  EXPECT_TRUE(second.is_sent_away(b)) << "the proof is that of the other role";
  expect_to_go_on(a, b);
}

TEST(TcpWire, ReadsNothingThatIsNotProved) {
  End a, b;
  std::mt19937_64 random(5);
  for (int count = 0; count < 50; ++count) {
    const Stranger stranger(b);
    std::string bytes(random() % 4000, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random());
    stranger.say(bytes);
    for (int turn = 0; turn < 20; ++turn) b.progress();
  }
  EXPECT_EQ(b.taken(), 0u);
  expect_to_go_on(a, b);
}

TEST(TcpWire, EndsTheConnectionOfWhoSendsImpossibleLengths) {
  for (const tcp::Lengths& lengths :
       {tcp::Lengths{0, 65, 0, tcp::kMark}, tcp::Lengths{Wire::kMaxBodyBytes + 1, 8, 0, tcp::kMark},
        tcp::Lengths{0, 8, 2, tcp::kMark}, tcp::Lengths{0, 8, 0, 0}}) {
    End a, b;
    tcp::Greeting greeting{};
    const Stranger member(b);
    ASSERT_TRUE(member.hear(b, greeting));
    member.say(tcp::make_claim(End::kKey, greeting, address_of(a), address_of(b)));
    Digest answer{};
    ASSERT_TRUE(member.hear(b, answer));
    b.wire().connect(a.wire().address());
    member.say(lengths);
    EXPECT_TRUE(member.is_sent_away(b));
    EXPECT_EQ(b.lost(), std::vector<int>{0});
    EXPECT_EQ(b.why(), "it has sent an invalid message");
  }
}

TEST(TcpWire, DoesNotWaitForTheSlow) {
  End a, b;
  tcp::Greeting greeting{};
  const Stranger slow(b);
  ASSERT_TRUE(slow.hear(b, greeting));
  const auto claim = tcp::make_claim(End::kKey, greeting, address_of(a), address_of(b));
  const auto* bytes = reinterpret_cast<const char*>(&claim);
  const auto begin = steady_clock::now();
  bool is_there = true;
  for (std::size_t at = 0; is_there && at + 1 < sizeof claim; ++at) {
    is_there = slow.say(bytes[at]);
    const auto next = steady_clock::now() + 100ms;
    while (steady_clock::now() < next) {
      b.progress();
      usleep(5000);
    }
  }
  EXPECT_FALSE(is_there) << "each byte makes it wait longer";
  EXPECT_LT(steady_clock::now() - begin, 2 * TcpWire::kPatienceWithStrangers);
  expect_to_go_on(a, b);
}

TEST(TcpWire, HoldsFewStrangers) {
  End a, b;
  expect_to_go_on(a, b);
  constexpr int kMany = 600;
  std::deque<Stranger> strangers;
  for (int count = 0; count < kMany; ++count) {
    strangers.emplace_back(b);
    b.progress();
    if (count % 100 == 0) expect_to_go_on(a, b);
  }
  for (int turn = 0; turn < 200; ++turn) b.progress();
  EXPECT_LT(count_descriptors(), kMany + static_cast<int>(TcpWire::kMostStrangers) + 40);
  End c;
  c.send(c.wire().connect(b.wire().address()), 100, true);
  const std::uint64_t before = b.taken();
  ASSERT_TRUE(progress_until({&b, &c}, [&] { return b.taken() == before + 1; }));
  EXPECT_TRUE(c.lost().empty());
}

TEST(TcpWire, OutlivesTheLackOfDescriptors) {
  in_child([] {
    End a, b;
    expect_to_go_on(a, b);
    const rlimit few{static_cast<rlim_t>(count_descriptors()) + 20, 4096};
    setrlimit(RLIMIT_NOFILE, &few);
    std::vector<int> taken;
    for (int descriptor; (descriptor = dup(0)) >= 0;) taken.push_back(descriptor);
    ::close(taken.back());
    taken.pop_back();
    const Stranger stranger(b);  // which leaves no descriptor for its other end
    for (int turn = 0; turn < 100; ++turn) b.progress();
    expect_to_go_on(a, b);
    for (const int descriptor : taken) ::close(descriptor);
    tcp::Greeting greeting{};
    EXPECT_TRUE(stranger.hear(b, greeting));
  });
}

// There are enough descriptors to listen, but one more is needed.
TEST(TcpWire, IsNotOpenedWhereItCannotWatchConnections) {
  in_child([] {
    const rlimit few{static_cast<rlim_t>(count_descriptors()) + 20, 4096};
    setrlimit(RLIMIT_NOFILE, &few);
    std::vector<int> taken;
    for (int descriptor; (descriptor = dup(0)) >= 0;) taken.push_back(descriptor);
    ::close(taken.back());  // for the port
    std::string error;
    EXPECT_EQ(try_make_wire(WireKind::tcp, {0, nullptr, "lo", 10, false}, &error), nullptr);
    EXPECT_EQ(error, "cannot watch the connections of lo (127.0.0.1): too many open files");
    ::close(taken.front());
    error.clear();
    EXPECT_NE(try_make_wire(WireKind::tcp, {0, nullptr, "lo", 10, false}, &error), nullptr)
        << error;
  });
}

// Both ends send 20 messages to each other before either has made progress. `turn` chooses the end
// that makes progress. Returns the number of descriptors that this took.
template <typename Turn>
int dial_each_other(const Turn& turn) {
  End a, b;
  const int before = count_descriptors();
  const int b_of_a = a.wire().connect(b.wire().address());
  const int a_of_b = b.wire().connect(a.wire().address());
  for (int count = 0; count < 20; ++count) {
    a.send(b_of_a, 1000, count == 0);
    b.send(a_of_b, 1000, count == 0);
  }
  for (int count = 0; count < 100; ++count) (turn() ? a : b).progress();
  EXPECT_TRUE(progress_until({&a, &b}, [&] { return a.taken() == 20 && b.taken() == 20; }));
  for (int count = 0; count < 100; ++count) (count % 2 == 0 ? a : b).progress();
  EXPECT_EQ(a.wrong() + b.wrong(), 0);
  EXPECT_EQ(a.in_flight() + b.in_flight(), 0);
  EXPECT_TRUE(a.lost().empty() && b.lost().empty());
  return count_descriptors() - before;
}

TEST(TcpWire, CarriesBothDirectionsByOneConnection) {
  int count = 0;
  for (int round = 0; round < 20; ++round)
    EXPECT_EQ(dial_each_other([&] { return ++count % 2 == 0; }), 2);
}

TEST(TcpWire, KeepsTheOrderWhoeverIsProvedFirst) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 200; ++round)
    EXPECT_EQ(dial_each_other([&] { return random() % 2 == 0; }), 2);
}

TEST(TcpWire, FindsAnotherProcessInThePlaceOfAPeer) {
  End a, b;
  WireKey other = End::kKey;
  other.front() ^= 1;
  End impostor("", 10, false);
  impostor.wire().accept_connections(other);
  const int peer = a.wire().connect(impostor.wire().address());
  a.send(peer, 100, true);
  const auto patience = steady_clock::now() + 15s;
  progress_until({&a, &impostor},
                 [&] { return !a.lost().empty() || steady_clock::now() > patience; });
  EXPECT_EQ(a.lost(), std::vector<int>{peer});
  EXPECT_EQ(impostor.taken(), 0u);
  EXPECT_EQ(a.in_flight(), 0);
}

}  // namespace
}  // namespace meshmem

int main(int argc, char** argv) { return meshmem::run_wire_tests(argc, argv); }
