// SPDX-License-Identifier: Apache-2.0
//
// The TCP wire reads the connection that had something several times in a row without asking about
// the others. They wait no longer for that than microseconds, whatever it brings, and it may end.
// Also tests what the wire does while epoll has no room.
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "wire_ends.hpp"

static bool epoll_has_room = true;

// Instead of the C library's.
extern "C" int epoll_ctl(int epoll, int operation, int descriptor, epoll_event* event) noexcept {
  if (operation != EPOLL_CTL_ADD || epoll_has_room)
    return static_cast<int>(syscall(SYS_epoll_ctl, epoll, operation, descriptor, event));
  errno = ENOSPC;
  return -1;
}

namespace meshmem {
namespace {

constexpr int kFewCalls = 200;

// Three ends. `middle` hears the talker often, and the quiet one seldom.
class TcpWireSteady : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(tested_wire(), WireKind::tcp);
    middle.answer_introductions();
    introduce(talker);
    introduce(quiet);
  }
  // The answer says that the message has been taken.
  void introduce(End& end) {
    const std::uint64_t before = end.taken();
    say(end, true);
    ASSERT_TRUE(progress_until({&middle, &end}, [&] { return end.taken() == before + 1; }));
  }
  void say(End& end, bool introduces) {
    end.send(end.wire().connect(middle.wire().address()), 8, introduces);
  }
  void get_used_to_talker() {
    for (int count = 0; count < 10; ++count) {
      const std::uint64_t before = middle.taken();
      say(talker, false);
      ASSERT_TRUE(progress_until({&middle}, [&] { return middle.taken() == before + 1; }));
    }
  }
  bool has_something() {
    pollfd ready{middle.wire().event_fd(), POLLIN, 0};
    return poll(&ready, 1, 10'000) == 1;
  }

  End middle, talker, quiet;
};

// A PE that waits naps between two looks, and so does the thread that waits for a device.
TEST_F(TcpWireSteady, TakesWhatAnotherHasSentWithTheFirstLookAfterANap) {
  for (int round = 0; round < 20; ++round) {
    get_used_to_talker();
    middle.progress();
    const std::uint64_t before = middle.taken();
    say(quiet, false);
    ASSERT_TRUE(has_something());
    usleep(1000);
    ASSERT_TRUE(middle.progress());
    ASSERT_EQ(middle.taken(), before + 1);
  }
}

TEST_F(TcpWireSteady, SendsOnWithTheFirstLookAfterANap) {
  const int to_talker = middle.wire().connect(talker.wire().address());
  get_used_to_talker();
  for (int count = 0; count < 100; ++count) middle.send(to_talker, Wire::kMaxBodyBytes, false);
  int rounds = 0;
  for (; middle.in_flight() > 0; ++rounds) {
    while (talker.progress()) {
    }
    usleep(1000);
    ASSERT_TRUE(has_something()) << "it waits for room";
    ASSERT_TRUE(middle.progress());
  }
  EXPECT_GT(rounds, 0) << "sockets have held everything";
}

TEST_F(TcpWireSteady, WakesTheThreadThatSleepsForWhatTheTalkerSends) {
  get_used_to_talker();
  ASSERT_FALSE(middle.progress());
  ASSERT_TRUE(middle.wire().arm());
  const std::uint64_t before = middle.taken();
  say(talker, false);
  ASSERT_TRUE(has_something());
  ASSERT_TRUE(middle.progress());
  EXPECT_EQ(middle.taken(), before + 1);
}

TEST_F(TcpWireSteady, TakesASingleMessageBesideAStream) {
  for (int round = 0; round < 20; ++round) {
    get_used_to_talker();
    const std::uint64_t before = quiet.taken();
    say(quiet, true);
    int calls = 0;
    for (; quiet.taken() == before && calls < kFewCalls; ++calls) {
      say(talker, false);
      middle.progress();
      quiet.progress();
    }
    ASSERT_LT(calls, kFewCalls);
  }
}

TEST_F(TcpWireSteady, AdmitsWhoDialsBesideAStream) {
  get_used_to_talker();
  End late;
  say(late, true);
  int calls = 0;
  for (; late.taken() == 0 && calls < kFewCalls; ++calls) {
    say(talker, false);
    middle.progress();
    late.progress();
  }
  EXPECT_LT(calls, kFewCalls);
}

TEST_F(TcpWireSteady, TakesWhatAnotherHasSentWhenItsConnectionEnds) {
  get_used_to_talker();
  const std::uint64_t before = middle.taken();
  say(quiet, false);
  talker.close();
  ASSERT_TRUE(progress_until(
      {&middle}, [&] { return middle.taken() == before + 1 && !middle.lost().empty(); }));
  EXPECT_EQ(middle.lost().size(), 1u);
  introduce(quiet);
}

TEST_F(TcpWireSteady, StaysSoWhileEpollHasNoRoom) {
  const int to_talker = middle.wire().connect(talker.wire().address());
  get_used_to_talker();
  epoll_has_room = false;
  EXPECT_FALSE(middle.wire().arm());
  std::uint64_t taken = middle.taken();
  for (End* end : {&quiet, &talker}) {
    say(*end, false);
    ++taken;
    EXPECT_TRUE(progress_until({&middle}, [&] { return middle.taken() == taken; }));
  }
  for (int count = 0; count < 100; ++count) middle.send(to_talker, Wire::kMaxBodyBytes, false);
  EXPECT_TRUE(progress_until({&middle, &talker}, [&] { return middle.in_flight() == 0; }));
  for (int count = 0; count < 100; ++count) middle.send(to_talker, Wire::kMaxBodyBytes, false);
  epoll_has_room = true;
  ASSERT_TRUE(middle.wire().arm());
  while (talker.progress()) {
  }
  EXPECT_TRUE(has_something()) << "it waits for room";
}

TEST_F(TcpWireSteady, DoesNotReadWhatHasEnded) {
  get_used_to_talker();
  talker.close();
  ASSERT_TRUE(progress_until({&middle}, [&] { return !middle.lost().empty(); }));
  for (int count = 0; count < 20; ++count) EXPECT_FALSE(middle.progress());
  introduce(quiet);
}

TEST(TcpWireWithoutRoom, DoesNotOpen) {
  epoll_has_room = false;
  std::string error;
  EXPECT_EQ(try_make_wire(WireKind::tcp, {0, nullptr, "lo", 10, false}, &error), nullptr);
  EXPECT_EQ(error, "cannot watch the connections of lo (127.0.0.1): no space left on device");
  epoll_has_room = true;
}

TEST(TcpWireWithoutRoom, LosesThePeerThatItDials) {
  End a, b;
  const int to_b = a.wire().connect(b.wire().address());
  epoll_has_room = false;
  a.send(to_b, 8, true);
  EXPECT_TRUE(progress_until({&a}, [&] { return !a.lost().empty(); }));
  epoll_has_room = true;
  EXPECT_EQ(a.why(), "its connection cannot be watched: no space left on device");
  EXPECT_EQ(a.in_flight(), 0);
}

TEST(TcpWireWithoutRoom, SendsAwayAPeerThatDialsAgain) {
  End a, b;
  a.send(a.wire().connect(b.wire().address()), 8, true);
  epoll_has_room = false;
  for (int turn = 0; turn < 100; ++turn) b.progress();
  epoll_has_room = true;
  EXPECT_TRUE(progress_until({&a, &b}, [&] { return b.taken() == 1 || !a.lost().empty(); }));
  EXPECT_EQ(b.taken(), 1u);
}

}  // namespace
}  // namespace meshmem

int main(int argc, char** argv) { return meshmem::run_wire_tests(argc, argv); }
