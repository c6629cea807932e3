// SPDX-License-Identifier: Apache-2.0
//
// When a flow's records leave: a put that something usually follows waits for it, and shares its
// message. And when an answer is expected, whose message also acknowledges. Time is a variable of
// the test.
#include <gtest/gtest.h>

#include <chrono>

#include "transport/network/flow.hpp"

namespace meshmem::network {
namespace {

using std::chrono::microseconds;

FollowUps::Clock::time_point time_now{std::chrono::hours(1)};

// Counts what it is given, which counts as sent at once.
class Counter : public Wire {
 public:
  std::string address() const override { return {}; }
  int connect(std::string_view) override { return 0; }
  void send(int, const Message& message) override {
    ++sent;
    head = *static_cast<const Head*>(message.head);
    body_bytes = message.body_bytes;
    asks = (head.flags & kAsks) != 0;
    time_now += takes;
    message.sent(message.argument);
  }
  bool progress() override { return false; }
  int event_fd() const override { return -1; }
  bool arm() override { return true; }
  std::string description() const override { return {}; }
  int sent = 0;
  // Of the last message:
  Head head{};
  std::size_t body_bytes = 0;
  bool asks = false;
  microseconds takes{0};  // how long sending takes
};

struct Sender {
  Counter wire;
  Outlet outlet;
  Flow flow{outlet, 1};
  std::uint64_t acknowledged = 0;

  Sender() {
    outlet.wire = &wire;
    outlet.wire_address_of = [](int) { return std::string(); };
    outlet.has_napping_thread = true;
    outlet.now = [] { return time_now; };
    put();
    answer();
  }
  // How many messages leave.
  int put() { return add(64, SendPolicy::when_followed); }
  int p() { return add(8, SendPolicy::when_few_are_under_way); }
  int add(std::size_t bytes, SendPolicy policy) {
    const std::byte data[64] = {};
    const int before = wire.sent;
    flow.add({.kind = RecordKind::put, .bytes = bytes}, data, policy);
    return wire.sent - before;
  }
  void answer() { EXPECT_TRUE(flow.note_acknowledged(flow.issued().n_sent)); }
  // A put and its flag, and the answer.
  void announce(microseconds between = microseconds(1)) {
    put();
    time_now += between;
    p();
    answer();
    time_now += microseconds(30);
  }
};

TEST(Flow, SendsOneRecordInTheHead) {
  Sender sender;
  EXPECT_EQ(sender.add(5, SendPolicy::at_once), 1);
  EXPECT_EQ(sender.wire.head.lone.kind, RecordKind::put);
  EXPECT_EQ(sender.wire.body_bytes, 5U) << "its data alone";
  sender.answer();
  sender.add(5, SendPolicy::with_others);
  EXPECT_EQ(sender.add(64, SendPolicy::at_once), 1);
  EXPECT_EQ(sender.wire.head.lone.kind, RecordKind::none);
  const std::size_t of_a_put = record_bytes(RecordKind::put);
  EXPECT_EQ(sender.wire.body_bytes, of_a_put + 8 + of_a_put + 64) << "both, padded";
}

TEST(Flow, SendsAPutWithTheFlagThatFollowsAsARule) {
  Sender sender;
  EXPECT_EQ(sender.put(), 1);
  EXPECT_EQ(sender.p(), 1);
  for (int i = 0; i < 4; ++i) sender.announce();
  EXPECT_EQ(sender.put(), 0);
  EXPECT_EQ(sender.p(), 1) << "one message for both";
  sender.answer();
  EXPECT_EQ(sender.put(), 0);
  EXPECT_EQ(sender.put(), 1) << "one is held at most";
  sender.answer();
  const int before = sender.wire.sent;
  EXPECT_EQ(sender.put(), 0);
  sender.outlet.send_open();
  EXPECT_EQ(sender.wire.sent, before + 1) << "as a thread that waits does";
}

TEST(Flow, CountsTheTimeFromWhenThePutHasLeft) {
  Sender sender;
  sender.wire.takes = microseconds(25);
  for (int i = 0; i < 4; ++i) sender.announce();
  EXPECT_EQ(sender.put(), 0);
}

// A flag, and quiet right after it.
void send_and_wait(Sender& sender, microseconds between = microseconds(1)) {
  sender.p();
  time_now += between;
  sender.flow.send_asking();
  sender.answer();
}

TEST(Flow, SendsAFlagWithTheQuestionOfTheQuietThatFollowsAsARule) {
  Sender sender;
  for (int i = 0; i < 4; ++i) send_and_wait(sender);
  EXPECT_EQ(sender.p(), 0);
  sender.flow.send_asking();
  EXPECT_TRUE(sender.wire.asks) << "one message for both";
  sender.answer();
  EXPECT_EQ(sender.p(), 0);
  EXPECT_EQ(sender.p(), 1) << "one is held at most";
  sender.answer();
  EXPECT_EQ(sender.p(), 1) << "another flag is no quiet";
}

// A signal for a kernel, and its answer.
void be_answered(Sender& sender, microseconds after = microseconds(8)) {
  sender.flow.note_signal();
  time_now += after;
  sender.p();
  sender.answer();
  time_now += microseconds(30);
}

TEST(Flow, ExpectsTheAnswerOfAKernelThatAnswersAsARule) {
  Sender kernel;
  for (int i = 0; i < 4; ++i) {
    EXPECT_FALSE(kernel.flow.expects_answer()) << i;
    be_answered(kernel);
  }
  EXPECT_FALSE(kernel.flow.expects_answer()) << "no signal has come";
  kernel.flow.note_signal();
  EXPECT_TRUE(kernel.flow.expects_answer());
  EXPECT_EQ(kernel.p(), 1);
  EXPECT_FALSE(kernel.flow.expects_answer()) << "it has come";
}

TEST(Flow, ExpectsNoAnswerThatComesLate) {
  Sender kernel;
  for (int i = 0; i < 10; ++i) be_answered(kernel, microseconds(25));
  kernel.flow.note_signal();
  EXPECT_FALSE(kernel.flow.expects_answer());
}

TEST(Flow, TakesAnotherSignalForNoAnswer) {
  Sender kernel;
  for (int i = 0; i < 10; ++i) kernel.flow.note_signal();
  EXPECT_FALSE(kernel.flow.expects_answer());
}

TEST(Flow, LearnsAnewWhenAnAnswerHasNotCome) {
  Sender kernel;
  for (int i = 0; i < 4; ++i) be_answered(kernel);
  for (int round = 0; round < 10; ++round) {
    kernel.flow.note_signal();
    EXPECT_TRUE(kernel.flow.expects_answer());
    kernel.flow.note_executed();
    kernel.outlet.note_unanswered();
    EXPECT_FALSE(kernel.flow.expects_answer());
    for (int i = 0; i < 4; ++i) {
      kernel.flow.note_signal();
      EXPECT_FALSE(kernel.flow.expects_answer()) << i;
      kernel.p();
      kernel.answer();
    }
  }
}

TEST(Flow, HoldsNoFlagThatQuietFollowsLate) {
  Sender sender;
  for (int i = 0; i < 10; ++i) send_and_wait(sender, microseconds(100));
  EXPECT_EQ(sender.p(), 1);
}

TEST(Flow, HoldsNoFlagThatSomethingElseFollows) {
  Sender sender;
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(sender.p(), 1);
    sender.put();
    sender.flow.send_asking();
    sender.answer();
  }
}

TEST(Flow, HoldsFlagsLaterAfterItHasHeldOneInVain) {
  Sender sender;
  for (int i = 0; i < 4; ++i) send_and_wait(sender);
  EXPECT_EQ(sender.p(), 0);
  time_now += microseconds(60);
  const int before = sender.wire.sent;
  sender.outlet.send_delayed();
  EXPECT_EQ(sender.wire.sent, before + 1);
  sender.answer();
  for (int i = 0; i < 8; ++i) {
    EXPECT_EQ(sender.p(), 1) << i;
    sender.flow.send_asking();
    sender.answer();
  }
  EXPECT_EQ(sender.p(), 0);
}

TEST(Flow, SendsAPutWithTheQuietThatFollowsAsARule) {
  Sender sender;
  for (int i = 0; i < 4; ++i) {
    time_now += microseconds(30);  // since the put before, which this one does not follow
    EXPECT_EQ(sender.put(), 1) << i;
    sender.flow.send_asking();
    sender.answer();
  }
  EXPECT_EQ(sender.put(), 0);
  sender.flow.send_asking();
  EXPECT_TRUE(sender.wire.asks);
}

TEST(Flow, HoldsNoPutThatNothingFollows) {
  Sender sender;
  for (int i = 0; i < 10; ++i) sender.announce(microseconds(100));
  EXPECT_EQ(sender.put(), 1);
}

TEST(Flow, HoldsNothingWhereNobodyWouldSendIt) {
  Sender sender;
  sender.outlet.has_napping_thread = false;
  for (int i = 0; i < 10; ++i) sender.announce();
  EXPECT_EQ(sender.put(), 1);
}

TEST(Flow, HoldsLaterAfterItHasHeldInVain) {
  Sender sender;
  for (int i = 0; i < 4; ++i) sender.announce();
  const int before = sender.wire.sent;
  EXPECT_EQ(sender.put(), 0);
  sender.outlet.send_delayed();
  EXPECT_EQ(sender.wire.sent, before) << "a flag may still come";
  time_now += microseconds(60);
  sender.outlet.send_delayed();
  EXPECT_EQ(sender.wire.sent, before + 1);
  sender.answer();
  for (int i = 0; i < 8; ++i) {
    EXPECT_EQ(sender.put(), 1) << i;
    EXPECT_EQ(sender.p(), 1) << i;
    sender.answer();
  }
  EXPECT_EQ(sender.put(), 0);
}

// Only records that touch memory: the others are in order anyway.
TEST(Flow, TheNextRecordTellsOfAFence) {
  Sender sender;
  const auto tells = [&] { return sender.wire.head.lone.follows_fence == 1; };
  sender.add(5, SendPolicy::at_once);
  EXPECT_FALSE(tells());
  sender.outlet.fences = 2;
  sender.flow.add({.kind = RecordKind::credit}, nullptr, SendPolicy::at_once);
  EXPECT_FALSE(tells());
  sender.add(5, SendPolicy::at_once);
  EXPECT_TRUE(tells());
  sender.add(5, SendPolicy::at_once);
  EXPECT_FALSE(tells());
  sender.outlet.fences = 3;
  const std::byte data[64] = {};
  sender.flow.send_lone({.kind = RecordKind::put, .bytes = sizeof data}, data, nullptr);
  EXPECT_TRUE(tells());
}

}  // namespace
}  // namespace meshmem::network
