// SPDX-License-Identifier: Apache-2.0
//
// Messages that no PE of the job sends. A message without the job's token or before a hello changes
// nothing; a known PE that asks for what cannot be ends the job with a line that names it.
// Invariant: tests that end a process run in a child.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "network_pes.hpp"
#include "transport/network/format.hpp"
#include "transport/network/segments.hpp"

namespace meshmem {
namespace {

using network::Head;
using network::Record;
using network::RecordKind;

struct Ears : WireListener {
  void handle_message(int, const std::byte*, std::size_t, const std::byte*, std::size_t) override {
    ++taken;
  }
  bool accepts_introduction(const std::byte*, std::size_t) override { return true; }
  void handle_loss(int, const std::string&, bool) override {}
  int taken = 0;
};

// Somebody on the network who speaks to PE 1 as PE 0 does, or not quite so.
class Stranger {
 public:
  explicit Stranger(NetworkPes& job) : wire_(job.network(), &ears_, 1), peer_(wire_.connect("1")) {}

  static Head head(const Record& lone = {}) {
    return {.token = NetworkPes::kToken[0],
            .source = 0,
            .version = network::kFormatVersion,
            .flags = 0,
            .unused = 0,
            .acknowledged = 0,
            .lone = lone};
  }
  void send(const Head& head, const void* body = nullptr, std::size_t bytes = 0,
            std::size_t head_bytes = sizeof(Head)) {
    wire_.send(peer_, {&head, head_bytes, body, bytes, true, [](void*) {}, nullptr});
  }
  void say_hello(std::uint64_t second = NetworkPes::kToken[1]) {
    send(head({.kind = RecordKind::hello, .first = second}));
  }
  void send_record(const Record& record, const void* data = nullptr) {
    std::vector<std::byte> body(network::packed_bytes(record));
    network::pack(body.data(), record, data);
    send(head(), body.data(), body.size());
  }

 private:
  Ears ears_;
  LocalWire wire_;
  const int peer_;
};

// The transport's own thread may take them in, too.
void let_arrive(NetworkPes& job) {
  do {
    job.of(1).progress();
  } while (!job.wire(1).has_taken_all());
}

constexpr std::uint64_t kValue = 0x5555;
constexpr Record kPut{.kind = RecordKind::put, .bytes = sizeof kValue};

// Lets PE 1 hear what `speak` says; it ends the process, or returns whether its heap has changed.
template <typename Speak>
bool changes(const Speak& speak) {
  NetworkPes job({.nodes = 2, .pes_of_node = 1, .opens = false});
  job.of(1).open(job.plan(1));
  Stranger stranger(job);
  speak(stranger);
  let_arrive(job);
  return __atomic_load_n(job.heap_of<std::uint64_t>(1), __ATOMIC_RELAXED) != 0;
}

TEST(Stranger, ChangesNothing) {
  EXPECT_TRUE(changes([](Stranger& s) {  // as a PE does
    s.say_hello();
    s.send_record(kPut, &kValue);
  }));
  EXPECT_FALSE(changes([](Stranger& s) { s.send_record(kPut, &kValue); }));
  EXPECT_FALSE(changes([](Stranger& s) {
    s.say_hello(NetworkPes::kToken[1] + 1);
    s.send_record(kPut, &kValue);
  }));
  EXPECT_FALSE(changes([](Stranger& s) {
    s.say_hello();
    Head head = Stranger::head(kPut);
    head.token ^= 1;
    s.send(head, &kValue, sizeof kValue);
  }));
  EXPECT_FALSE(changes([](Stranger& s) {
    for (const std::uint32_t source : {1u, 2u, 0x80000000u, 0xffffffffu}) {
      Head head = Stranger::head({.kind = RecordKind::hello, .first = NetworkPes::kToken[1]});
      head.source = source;
      s.send(head);
      head.lone = kPut;
      s.send(head, &kValue, sizeof kValue);
    }
  }));
  EXPECT_FALSE(changes([](Stranger& s) {
    s.say_hello();
    Head head = Stranger::head(kPut);
    head.version = network::kFormatVersion + 1;
    s.send(head, &kValue, sizeof kValue);
    s.send(head, nullptr, 0, sizeof(Head) - 8);
    s.send(head, nullptr, 0, 0);
  }));
}

TEST(Stranger, LeavesNoAddressBehind) {
  NetworkPes job({.nodes = 2, .pes_of_node = 1, .opens = false});
  job.of(1).open(job.plan(1));
  Stranger stranger(job);
  stranger.send_record(kPut, &kValue);
  stranger.say_hello(NetworkPes::kToken[1] + 1);
  let_arrive(job);
  EXPECT_EQ(job.wire(1).n_peers(), 0u);
  stranger.say_hello();
  let_arrive(job);
  EXPECT_EQ(job.wire(1).n_peers(), 1u);
}

template <typename Speak>
void expect_refused(const Speak& speak) {
  EXPECT_EXIT(changes([&](Stranger& s) {
                s.say_hello();
                speak(s);
              }),
              testing::ExitedWithCode(1), "PE 0 on host t has sent an invalid message");
}
void expect_refused(const Record& record) {
  const std::vector<std::byte> data(network::data_bytes(record) < 1000 ? 1000 : 0);
  expect_refused([&](Stranger& s) { s.send_record(record, data.data()); });
}

constexpr std::uint64_t kHuge = std::numeric_limits<std::uint64_t>::max();

TEST(KnownPe, MayNotLeaveTheSegments) {
  const std::uint64_t end = NetworkPes::Shape{}.heap_bytes;
  expect_refused({.kind = RecordKind::put, .offset = end - 7, .bytes = 8});
  expect_refused({.kind = RecordKind::put_signal, .bytes = 8, .first = end});
  expect_refused({.kind = RecordKind::atomic, .width = 8, .index = 1});
  expect_refused({.kind = RecordKind::fetch, .width = 8, .offset = end});
  expect_refused({.kind = RecordKind::get, .segment = 3, .bytes = 8});
  expect_refused({.kind = RecordKind::get, .bytes = kHuge});
  expect_refused({.kind = RecordKind::get, .bytes = network::kChunkBytes + 1});
}

TEST(KnownPe, MayNotAskForMoreOfADeviceThanAChunk) {
  const auto get = [](std::uint64_t bytes) {
    NetworkPes job({.nodes = 2,
                    .pes_of_node = 1,
                    .heap_bytes = 2 * network::kDeviceChunkBytes,
                    .opens = false,
                    .has_device = true});
    job.of(1).open(job.plan(1));
    Stranger stranger(job);
    stranger.say_hello();
    stranger.send_record({.kind = RecordKind::get, .segment = 3, .bytes = bytes});
    let_arrive(job);
  };
  // Each in a process of its own: a device has threads, and none may be there when a test forks.
  EXPECT_EXIT((get(network::kDeviceChunkBytes), std::exit(0)), testing::ExitedWithCode(0), "");
  EXPECT_EXIT(get(network::kDeviceChunkBytes + 1), testing::ExitedWithCode(1),
              "sent an invalid message: get");
}

TEST(LocalSegments, HaveBounds) {
  constexpr std::size_t kEnd = 64;
  alignas(8) std::byte memory[3][2 * kEnd] = {};
  network::LocalSegments segments;
  segments.map(
      1, [&](int, RemoteSegment segment) { return memory[static_cast<std::size_t>(segment)]; },
      {kEnd, kEnd, 0});
  const std::byte data[16] = {std::byte{1}, std::byte{2}};
  std::uint64_t before = 0;
  EXPECT_TRUE(segments.put({.offset = kEnd - 8, .bytes = 8}, data));
  EXPECT_TRUE(segments.put({.offset = kEnd, .bytes = 0}, data));
  for (Record r : {Record{.offset = kEnd, .bytes = 8}, Record{.offset = kEnd - 7, .bytes = 8},
                   Record{.offset = kHuge - 3, .bytes = 8}, Record{.offset = kHuge, .bytes = 1},
                   Record{.index = 1, .bytes = 8}, Record{.index = ~0u, .bytes = 8},
                   Record{.segment = 2, .bytes = 8}, Record{.segment = 3, .bytes = 8},
                   Record{.segment = 127, .bytes = 8}, Record{.bytes = kHuge}}) {
    EXPECT_FALSE(segments.put(r, data));
    EXPECT_FALSE(segments.put_signal(r, data));
    r.width = 8;
    const bool is_elsewhere = r.offset > 0 || r.segment > 0 || r.index > 0;
    EXPECT_EQ(segments.execute_atomic(r, &before), !is_elsewhere);
  }
  EXPECT_FALSE(segments.put_signal({.bytes = 8, .first = kEnd}, data));
  EXPECT_FALSE(segments.put_signal({.width = 3, .bytes = 8}, data));
  EXPECT_FALSE(segments.put_signal({.bytes = 8, .first = 4}, data));
  EXPECT_FALSE(segments.execute_atomic({.width = 2}, &before));
  EXPECT_FALSE(segments.execute_atomic({.width = 8, .offset = 4}, &before));
  EXPECT_FALSE(segments.execute_atomic({.op = 8, .width = 8}, &before));
  for (const auto& segment : memory) {
    for (std::size_t at = kEnd; at < 2 * kEnd; ++at) EXPECT_EQ(segment[at], std::byte{0});
  }
}

TEST(KnownPe, MayNotAskForWhatIsNoOperation) {
  expect_refused({.kind = RecordKind::atomic, .op = 8, .width = 8});
  expect_refused({.kind = RecordKind::reply, .bytes = 8, .first = 1ull << 32});
  expect_refused({.kind = RecordKind::reply, .bytes = 8, .first = kHuge});
  expect_refused({.kind = RecordKind::credit, .first = 1});
  expect_refused({.kind = RecordKind::hello});
  expect_refused({.kind = RecordKind::bye});
  expect_refused({.kind = RecordKind::none});
  expect_refused({.kind = static_cast<RecordKind>(200)});
  expect_refused({.kind = RecordKind::message, .bytes = 8, .second = 7});
  expect_refused([](Stranger& s) {
    Head head = Stranger::head();
    head.acknowledged = 1;  // nothing has been sent
    s.send(head);
  });
}

TEST(KnownPe, MayNotAskWhatNobodyAnswers) {
  expect_refused({.kind = RecordKind::question, .second = 8});
  const auto ask = [](std::uint64_t answer_bytes) {
    NetworkPes job({.nodes = 2, .pes_of_node = 1, .opens = false});
    job.of(1).open(job.plan(1));
    job.of(1).answer_with([](const std::byte*, std::size_t, std::byte*, std::size_t bytes) {
      return bytes != 3;  // as one that does not know the question
    });
    Stranger stranger(job);
    stranger.say_hello();
    stranger.send_record({.kind = RecordKind::question, .second = answer_bytes});
    let_arrive(job);
  };
  ask(kMostOfAnswer);
  for (const std::uint64_t bytes : {std::uint64_t{3}, std::uint64_t{kMostOfAnswer + 1}, kHuge})
    EXPECT_EXIT(ask(bytes), testing::ExitedWithCode(1), "sent an invalid message: question");
}

TEST(KnownPe, MayNotSendHalfOfARecord) {
  std::array<std::byte, 64> body{};
  network::pack(body.data(), kPut, &kValue);
  for (const std::size_t bytes : {1, 23, 31, 33})
    expect_refused([&](Stranger& s) { s.send(Stranger::head(), body.data(), bytes); });
  Record longer = kPut;
  for (const std::uint64_t bytes : {std::uint64_t{9}, kHuge, kHuge - 23}) {
    longer.bytes = bytes;
    std::memcpy(body.data(), &longer, network::record_bytes(RecordKind::put));
    expect_refused([&](Stranger& s) { s.send(Stranger::head(), body.data(), 32); });
    expect_refused([&](Stranger& s) { s.send(Stranger::head(longer), &kValue, 8); });
  }
}

TEST(LostPe, EndsTheJobWithALine) {
  const auto lose = [](bool was_silent) {
    NetworkPes job({.nodes = 2, .pes_of_node = 1});
    const std::uint64_t value = 1;
    job.of(0).put({1, RemoteSegment::heap, 0}, &value, sizeof value);
    job.of(0).complete();
    job.wire(0).lose(1, "a reason", was_silent);
    std::this_thread::sleep_for(std::chrono::seconds(100));  // the thread reports the loss
  };
  for (const bool was_silent : {false, true})
    EXPECT_EXIT(lose(was_silent), testing::ExitedWithCode(1), "lost PE 1 on host t: a reason");
}

TEST(LostPe, IsReportedByOnePeOfANode) {
  const auto lose = [] {
    NetworkPes job({.nodes = 2, .pes_of_node = 3});
    const std::uint64_t value = 1;
    for (const int pe : {0, 1, 2}) {
      job.of(pe).put({pe + 3, RemoteSegment::heap, 0}, &value, sizeof value);
      job.of(pe).complete();
    }
    for (const int pe : {0, 1, 2}) job.wire(pe).lose(pe + 3, "a reason", true);
    std::this_thread::sleep_for(std::chrono::seconds(100));  // the threads report the loss
  };
  EXPECT_EXIT(lose(), testing::ExitedWithCode(1),
              testing::MatchesRegex("meshmem: [^\n]*: lost PE [345] on host t: a reason\n"));
}

// A PE that has closed says so; then it may disappear, though others have not closed yet.
TEST(LostPe, IsNotMissedAfterItsBye) {
  NetworkPes job({.nodes = 2, .pes_of_node = 1});
  const std::uint64_t value = 1;
  job.of(0).put({1, RemoteSegment::heap, 0}, &value, sizeof value);
  job.of(0).complete();
  job.of(1).close();
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  job.wire(0).lose(1, "connection reset", false);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  job.of(0).close();
}

// A bye does not count once both have opened again, also if it is taken in after that.
TEST(LostPe, IsMissedWhenItHasOpenedAgain) {
  const auto lose = [] {
    NetworkPes job({.nodes = 2, .pes_of_node = 1});
    const std::uint64_t value = 1;
    job.of(0).put({1, RemoteSegment::heap, 0}, &value, sizeof value);
    job.of(0).complete();
    job.run([&](int me) { job.of(me).close(); });
    job.run([&](int me) { job.of(me).reopen(); });
    std::this_thread::sleep_for(std::chrono::milliseconds(50));  // the last bye is taken in
    job.wire(0).lose(1, "a reason", false);
    std::this_thread::sleep_for(std::chrono::seconds(20));  // the thread reports the loss
  };
  EXPECT_EXIT((lose(), std::_Exit(0)), testing::ExitedWithCode(1), "lost PE 1 on host t: a reason");
}

}  // namespace
}  // namespace meshmem
