// SPDX-License-Identifier: Apache-2.0
//
// The operations of NetworkTransport, one after the other, and what they cost in messages.
// Invariant: PEs are threads, so that a sanitizer sees both sides.
#include "transport/network/network_transport.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "base/waiting/wait.hpp"
#include "network_pes.hpp"
#include "transport/network/format.hpp"

namespace meshmem {
namespace {

using device::AtomicOp;
using std::uint64_t;

constexpr std::size_t kMost = network::kMostCombined;  // longer data goes in chunks
using Sizes = std::initializer_list<std::size_t>;

RemotePlace heap_of(int pe, std::size_t offset) { return {pe, RemoteSegment::heap, offset}; }

uint64_t now(const uint64_t* word) { return __atomic_load_n(word, __ATOMIC_ACQUIRE); }

void wait_for(NetworkTransport& transport, const uint64_t* word, uint64_t value) {
  wait_until_ready(
      [&] {
        transport.progress();
        return now(word) == value;
      },
      [] { return "a word of a test"; });
}

std::vector<std::byte> pattern(std::size_t bytes, unsigned seed) {
  std::vector<std::byte> data(bytes);
  for (std::size_t i = 0; i < bytes; ++i) data[i] = static_cast<std::byte>(i * 7 + seed + i / 251);
  return data;
}

class Network : public testing::TestWithParam<unsigned> {
 protected:
  unsigned slowness() const { return GetParam(); }
};
INSTANTIATE_TEST_SUITE_P(SlowAndFast, Network, testing::Values(1u, 4u));

TEST_P(Network, PutsOfAnyLengthArriveByQuiet) {
  NetworkPes job({.nodes = 2, .pes_of_node = 1, .heap_bytes = 3 << 20, .slowness = slowness()});
  NetworkTransport& transport = job.of(0);
  for (const std::size_t bytes :
       Sizes{0, 1, 2, 3, 4, 7, 8, 9, kMost - 1, kMost, kMost + 1, 262144, 262145, 2 << 20}) {
    const auto data = pattern(bytes, static_cast<unsigned>(bytes));
    for (const bool nonblocking : {false, true}) {
      const std::size_t offset = nonblocking ? 1 : 64;
      std::fill_n(job.heap(1), job.heap_bytes(), std::byte{0xee});
      nonblocking ? transport.put_nbi(heap_of(1, offset), data.data(), bytes)
                  : transport.put(heap_of(1, offset), data.data(), bytes);
      transport.complete();
      EXPECT_TRUE(std::equal(data.begin(), data.end(), job.heap(1) + offset)) << bytes;
      EXPECT_EQ(job.heap(1)[offset - 1], std::byte{0xee});
      EXPECT_EQ(job.heap(1)[offset + bytes], std::byte{0xee});
    }
  }
}

TEST_P(Network, GetsOfAnyLength) {
  NetworkPes job({.nodes = 2, .pes_of_node = 1, .heap_bytes = 3 << 20, .slowness = slowness()});
  NetworkTransport& transport = job.of(0);
  const auto all = pattern(job.heap_bytes(), 3);
  std::copy(all.begin(), all.end(), job.heap(1));
  for (const std::size_t bytes :
       Sizes{0, 1, 2, 3, 4, 7, 8, 9, kMost, kMost + 1, 262144, 262145, 2 << 20}) {
    for (const bool nonblocking : {false, true}) {
      const std::size_t offset = nonblocking ? 1 : 64;
      std::vector<std::byte> seen(bytes + 1, std::byte{0xee});
      nonblocking ? transport.get_nbi(seen.data(), heap_of(1, offset), bytes)
                  : transport.get(seen.data(), heap_of(1, offset), bytes);
      if (nonblocking) transport.complete();
      EXPECT_TRUE(std::equal(seen.begin(), seen.end() - 1, job.heap(1) + offset)) << bytes;
      EXPECT_EQ(seen[bytes], std::byte{0xee});
    }
  }
}

TEST_P(Network, AtomicsOfBothWidths) {
  NetworkPes job({.nodes = 2, .pes_of_node = 2, .slowness = slowness()});
  NetworkTransport& transport = job.of(0);
  const auto fetch = [&](AtomicOp op, std::size_t width, uint64_t operand, uint64_t condition = 0) {
    return transport.atomic(heap_of(3, 40), {op, width, operand, condition, true});
  };
  const uint64_t high = 0xfedcba9876543210;
  auto* const word = job.heap_of<uint64_t>(3) + 5;
  *word = high;
  EXPECT_EQ(fetch(AtomicOp::fetch, 8, 0), high);
  EXPECT_EQ(fetch(AtomicOp::swap, 8, 10), high);
  EXPECT_EQ(fetch(AtomicOp::add, 8, high), 10u);
  EXPECT_EQ(fetch(AtomicOp::compare_swap, 8, 1, 0), high + 10);
  EXPECT_EQ(fetch(AtomicOp::compare_swap, 8, 0xf0, high + 10), high + 10);
  EXPECT_EQ(fetch(AtomicOp::bit_or, 8, 0x0f), 0xf0u);
  EXPECT_EQ(fetch(AtomicOp::bit_and, 8, 0x3c), 0xffu);
  EXPECT_EQ(fetch(AtomicOp::bit_xor, 8, 0xff), 0x3cu);
  EXPECT_EQ(fetch(AtomicOp::fetch, 8, 0), 0xc3u);
  *word = high;
  EXPECT_EQ(fetch(AtomicOp::add, 4, 0xffffffff), high & 0xffffffff);
  EXPECT_EQ(*word, (high & ~0xffffffffull) | ((high - 1) & 0xffffffff));
  transport.atomic(heap_of(3, 40), {AtomicOp::set, 8, 7, 0, false});
  transport.atomic(heap_of(3, 40), {AtomicOp::add, 8, 8, 0, false});
  transport.complete();
  EXPECT_EQ(now(word), 15u);
}

// Also of two that are under way together.
TEST_P(Network, AMarkIsDoneWhenWhatCameBeforeItIs) {
  NetworkPes job({.nodes = 2, .pes_of_node = 2, .slowness = slowness()});
  NetworkTransport& transport = job.of(0);
  auto* const word = job.heap_of<uint64_t>(3) + 5;
  uint64_t got = 0, before[2] = {1, 1};
  EXPECT_TRUE(transport.mark()->is_done());
  const auto add = [&](uint64_t* was) {
    transport.fetch_nbi(heap_of(3, 40), {AtomicOp::add, 8, 1, 0, true}, was);
    return transport.mark();
  };
  const uint64_t high = 0xfedcba9876543210;
  transport.put(heap_of(3, 40), &high, sizeof high);
  transport.get_nbi(&got, heap_of(3, 40), sizeof got);
  const auto first = add(&before[0]), second = add(&before[1]);
  while (!second->is_done()) std::this_thread::yield();
  EXPECT_TRUE(first->is_done());
  EXPECT_EQ(got, high);
  EXPECT_EQ(before[0], high);
  EXPECT_EQ(before[1], high + 1);
  EXPECT_EQ(now(word), high + 2);
}

TEST_P(Network, AllSegmentsOfAllPesOfANode) {
  NetworkPes job({.nodes = 2, .pes_of_node = 3, .slowness = slowness()});
  job.run([&](int me) {
    for (int pe = 0; pe < job.n(); ++pe) {
      if (pe / 3 == me / 3) continue;
      for (const auto segment :
           {RemoteSegment::heap, RemoteSegment::statics, RemoteSegment::control}) {
        const uint64_t value =
            static_cast<uint64_t>(me * 100 + pe * 10) + static_cast<uint64_t>(segment);
        job.of(me).put({pe, segment, static_cast<std::size_t>(me) * 8}, &value, sizeof value);
      }
    }
    job.of(me).complete();
  });
  for (int pe = 0; pe < job.n(); ++pe) {
    for (int from = 0; from < job.n(); ++from) {
      for (const auto segment :
           {RemoteSegment::heap, RemoteSegment::statics, RemoteSegment::control}) {
        const auto seen = reinterpret_cast<uint64_t*>(job.base_of(pe, segment))[from];
        EXPECT_EQ(seen, pe / 3 == from / 3 ? 0
                                           : static_cast<uint64_t>(from * 100 + pe * 10) +
                                                 static_cast<uint64_t>(segment));
      }
    }
  }
}

TEST_P(Network, ASignalComesAfterItsDataAndAllBeforeIt) {
  NetworkPes job({.nodes = 2, .pes_of_node = 1, .heap_bytes = 3 << 20, .slowness = slowness()});
  const std::vector<std::size_t> lengths{0, 8, kMost, kMost + 1, 65536, 262144, 262145, 1 << 20};
  job.run([&](int me) {
    auto* const signal = reinterpret_cast<uint64_t*>(job.base_of(me, RemoteSegment::statics));
    for (std::size_t i = 0; i < lengths.size(); ++i) {
      const auto data = pattern(lengths[i], static_cast<unsigned>(i));
      if (me == 0) {
        const uint64_t before = i;
        job.of(0).put(heap_of(1, 0), &before, sizeof before);
        job.of(0).order();
        job.of(0).put_signal(
            heap_of(1, 64), data.data(), data.size(),
            {RemoteSegment::statics, 8, i % 2 ? AtomicOp::add : AtomicOp::set, i % 2 ? 1 : i + 1});
      } else {
        wait_for(job.of(1), signal + 1, i + 1);
        EXPECT_EQ(*job.heap_of<uint64_t>(1), i);
        EXPECT_TRUE(std::equal(data.begin(), data.end(), job.heap(1) + 64));
      }
      job.meet();
    }
  });
}

TEST_P(Network, AStoreOfAFlagComesAfterTheDataBeforeIt) {
  NetworkPes job({.nodes = 2, .pes_of_node = 1, .slowness = slowness()});
  constexpr uint64_t kRounds = 300;
  job.run([&](int me) {
    auto* const mine = job.heap_of<uint64_t>(me);
    for (uint64_t round = 1; round <= kRounds; ++round) {
      if (me == 1) wait_for(job.of(me), mine + 8, round);
      if (me == 1) {
        EXPECT_EQ(mine[0], round);
        EXPECT_EQ(mine[1], ~round);
      }
      const uint64_t data[2] = {round, ~round};
      job.of(me).put(heap_of(1 - me, 0), data, sizeof data);
      job.of(me).order();
      job.of(me).put(heap_of(1 - me, 64), &round, sizeof round);
      if (me == 0) wait_for(job.of(me), mine + 8, round);
    }
  });
}

TEST_P(Network, AGetSeesThePutsBeforeIt) {
  NetworkPes job({.nodes = 2, .pes_of_node = 1, .heap_bytes = 1 << 20, .slowness = slowness()});
  for (unsigned i = 0; i < 20; ++i) {
    const std::size_t bytes = i % 2 ? 24 : 300000;
    const auto data = pattern(bytes, i);
    std::vector<std::byte> seen(bytes);
    job.of(0).put_nbi(heap_of(1, 8), data.data(), bytes);
    job.of(0).get(seen.data(), heap_of(1, 8), bytes);
    EXPECT_EQ(seen, data);
  }
  job.of(0).complete();
}

TEST_P(Network, MessagesAreReceivedInAnyOrder) {
  NetworkPes job({.nodes = 3, .pes_of_node = 2, .slowness = slowness()});
  const std::vector<std::size_t> lengths{0, 1, 64, kMost, kMost + 1, 300000, 700001};
  job.run([&](int me) {
    const auto key = [](std::size_t i) {
      return MessageKey{static_cast<int>(i % 3), 1ull << 40, static_cast<int>(i)};
    };
    for (int pe = 0; pe < job.n(); ++pe) {
      if (pe / 2 == me / 2) continue;
      for (std::size_t i = 0; i < lengths.size(); ++i) {
        const auto data = pattern(lengths[i], static_cast<unsigned>(me));
        job.of(me).send(pe, key(i), data.data(), data.size());
      }
    }
    for (std::size_t i = lengths.size(); i-- > 0;) {
      for (int pe = 0; pe < job.n(); ++pe) {
        if (pe / 2 == me / 2) continue;
        std::vector<std::byte> seen(lengths[i]);
        job.of(me).receive(pe, key(i), {seen.data(), seen.size()}, [] { return "a message"; });
        EXPECT_EQ(seen, pattern(lengths[i], static_cast<unsigned>(pe)));
      }
    }
  });
}

// The bytes that a sink has taken, and whether its pieces were as promised.
class Collected : public MessageSink {
 public:
  void take(std::size_t offset, const std::byte* data, std::size_t bytes) override {
    EXPECT_EQ(offset, seen.size());
    EXPECT_EQ(offset % kPieceGrain, 0u);
    seen.insert(seen.end(), data, data + bytes);
  }
  std::vector<std::byte> seen;
};

TEST_P(Network, ASinkTakesAMessageWhileItArrives) {
  NetworkPes job({.nodes = 2, .pes_of_node = 1, .slowness = slowness()});
  const std::vector<std::size_t> lengths{0, 1, 64, kMost, kMost + 1, 300000, 700001};
  const auto key = [](std::size_t i) { return MessageKey{1, 7, static_cast<int>(i)}; };
  job.run([&](int me) {
    std::vector<Collected> sinks(lengths.size());
    const auto expect = [&](std::size_t i) { job.of(1).expect(0, key(i), {sinks[i], lengths[i]}); };
    // For every second message PE 1 says before it is sent who takes it, for the others afterwards.
    for (std::size_t i = 0; i < lengths.size() && me == 1; i += 2) expect(i);
    job.meet();
    for (std::size_t i = 0; i < lengths.size() && me == 0; ++i) {
      const auto data = pattern(lengths[i], static_cast<unsigned>(i));
      job.of(0).send(1, key(i), data.data(), data.size());
    }
    if (me == 0) return;
    for (std::size_t i = 0; i < lengths.size(); ++i) {
      if (i % 2 == 1) expect(i);
      job.of(1).receive(0, key(i), {sinks[i], lengths[i]}, [] { return "a message"; });
      EXPECT_EQ(sinks[i].seen, pattern(lengths[i], static_cast<unsigned>(i))) << lengths[i];
    }
  });
}

// A PE that sends to one that does not receive waits.
TEST_P(Network, ASenderIsNotFarAhead) {
  NetworkPes job({.nodes = 2, .pes_of_node = 1, .slowness = slowness()});
  constexpr uint64_t kMessages = 200;
  const std::vector<std::byte> data(100000);
  std::atomic<uint64_t> sent{0};
  job.run([&](int me) {
    std::vector<std::byte> seen(data.size());
    for (uint64_t i = 0; i < kMessages; ++i) {
      if (me == 0) {
        job.of(0).send(1, {0, i, 0}, data.data(), data.size());
        ++sent;
      } else {
        if (i % 50 == 10) std::this_thread::sleep_for(std::chrono::milliseconds(20));
        job.of(1).receive(0, {0, i, 0}, {seen.data(), seen.size()}, [] { return "a message"; });
        EXPECT_LE((sent - i) * data.size(), std::size_t{8} << 20);
      }
    }
  });
  // Another team's messages are not held up by those that nobody receives.
  for (uint64_t i = 0; i < 42; ++i) job.of(0).send(1, {5, i, 0}, data.data(), data.size());
  job.run([&](int me) {
    uint64_t value = 4;
    if (me == 0) job.of(0).send(1, {6, 1, 0}, &value, sizeof value);
    if (me == 1)
      job.of(1).receive(0, {6, 1, 0}, {&value, sizeof value}, [] { return "a message"; });
  });
}

// How many messages `issue` and a quiet after it take. Nothing is acknowledged before the quiet:
// otherwise, on a slow machine, records that wait for others could leave early.
std::size_t messages_of(NetworkPes& job, const std::function<void()>& issue) {
  const auto before = job.wire(0).n_sent();
  job.wire(0).hold_back(true);
  issue();
  job.wire(0).hold_back(false);
  job.of(0).complete();
  return job.wire(0).n_sent() - before;
}

TEST(NetworkCost, SmallPutsTravelTogether) {
  NetworkPes job({.nodes = 2, .pes_of_node = 1});
  const uint64_t value = 1ull << 63;
  const auto puts = [&] {
    for (std::size_t i = 0; i < 1000; ++i) job.of(0).put(heap_of(1, i * 8), &value, sizeof value);
  };
  EXPECT_LE(messages_of(job, puts), 30u);
  EXPECT_EQ(std::count(job.heap_of<uint64_t>(1), job.heap_of<uint64_t>(1) + 1000, value), 1000);
  const auto adds = [&] {
    for (int i = 0; i < 1000; ++i) job.of(0).atomic(heap_of(1, 0), {AtomicOp::add, 8, 1, 0, false});
  };
  EXPECT_LE(messages_of(job, adds), 30u);
  EXPECT_EQ(*job.heap_of<uint64_t>(1), value + 1000);
  std::vector<uint64_t> seen(1000);
  const auto before_gets = job.wire(0).n_sent();
  for (std::size_t i = 0; i < 1000; ++i) job.of(0).get_nbi(&seen[i], heap_of(1, 8), 8);
  job.of(0).complete();
  EXPECT_EQ(std::count(seen.begin(), seen.end(), value), 1000);
  EXPECT_LE(job.wire(0).n_sent() - before_gets, 200u);
}

TEST(NetworkCost, ASignalWithItsDataIsOneMessage) {
  NetworkPes job({.nodes = 2, .pes_of_node = 1});
  const std::vector<std::byte> data(4096);
  job.of(0).put_signal(heap_of(1, 64), data.data(), 8, {RemoteSegment::heap, 0, AtomicOp::set, 1});
  job.of(0).complete();
  const auto before = job.wire(0).n_sent();
  job.of(0).put_signal(heap_of(1, 64), data.data(), 8, {RemoteSegment::heap, 0, AtomicOp::set, 2});
  EXPECT_EQ(job.wire(0).n_sent() - before, 1u);
  job.of(0).put_signal(heap_of(1, 64), data.data(), data.size(),
                       {RemoteSegment::heap, 0, AtomicOp::set, 3});
  EXPECT_EQ(job.wire(0).n_sent() - before, 2u);
  job.of(0).complete();
  EXPECT_EQ(now(job.heap_of<uint64_t>(1)), 3u);
}

// Nobody but the threads of the transports makes progress: all of this PE's threads wait.
TEST_P(Network, WhatIsCombinedLeavesWithoutAWait) {
  NetworkPes job({.nodes = 2, .pes_of_node = 1, .slowness = slowness()});
  for (uint64_t i = 1; i <= 100; ++i) job.of(0).put(heap_of(1, 8), &i, sizeof i);
  while (now(job.heap_of<uint64_t>(1) + 1) != 100) std::this_thread::yield();
}

// A PE that polls takes in messages and goes on to compute, while the thread sleeps. The thread has
// to acknowledge what the PE has taken, since records of the sender wait for that.
TEST(NetworkThread, AcknowledgesWhatAPollerHasTaken) {
  NetworkPes job({.nodes = 2, .pes_of_node = 1, .opens = false});
  job.of(0).open(job.plan(0));
  NetworkPlan plan = job.plan(1);
  plan.longest_sleep_ms = 1'000'000;
  job.of(1).open(std::move(plan));
  uint64_t value = 1;
  job.of(0).put(heap_of(1, 0), &value, sizeof value);
  job.of(0).complete();
  job.wire(1).wake_nobody();
  std::this_thread::sleep_for(std::chrono::milliseconds(50));  // it falls asleep
  for (value = 2; value <= 4; ++value) job.of(0).put(heap_of(1, 0), &value, sizeof value);
  while (!job.wire(1).has_taken_all()) job.of(1).progress();
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  const auto has_last = [&] {
    return !job.wire(1).has_taken_all() || now(job.heap_of<uint64_t>(1)) == 4;
  };
  while (!has_last() && std::chrono::steady_clock::now() < end) std::this_thread::yield();
  EXPECT_TRUE(has_last());
}

// A PE that polls takes in a request whose answer needs the device, and goes on to compute while
// the thread sleeps. The thread has to wake up to send what the device has read.
TEST(NetworkThread, AnswersOfADeviceWhenAPollerHasTakenTheRequest) {
  NetworkPes job({.nodes = 2, .pes_of_node = 1, .opens = false, .has_device = true});
  job.of(0).open(job.plan(0));
  NetworkPlan plan = job.plan(1);
  plan.longest_sleep_ms = 1'000'000;
  job.of(1).open(std::move(plan));
  uint64_t value = 1;
  const auto get = [&] { job.of(0).get(&value, {1, RemoteSegment::device, 0}, sizeof value); };
  get();
  job.wire(1).wake_nobody();
  for (int round = 0; round < 3 && !HasFailure(); ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));  // it falls asleep
    std::atomic<bool> is_done{false};
    std::thread getter([&] {
      get();
      is_done = true;
    });
    while (job.wire(1).has_taken_all() && !is_done) std::this_thread::yield();
    while (!job.wire(1).has_taken_all()) job.of(1).progress();
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!is_done && std::chrono::steady_clock::now() < end) std::this_thread::yield();
    EXPECT_TRUE(is_done);
    while (!is_done) job.of(1).progress();
    getter.join();
  }
}

// Whether PE 1 answers PE 0 while it computes. If not, it polls then.
bool answers_while_it_computes(NetworkPes& job) {
  std::atomic<bool> is_done{false};
  std::thread getter([&] {
    uint64_t value = 0;
    job.of(0).get(&value, heap_of(1, 0), sizeof value);
    is_done = true;
  });
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!is_done && std::chrono::steady_clock::now() < end) std::this_thread::yield();
  const bool answers = is_done;
  while (!is_done) job.of(1).progress();
  getter.join();
  return answers;
}

void pass_message(NetworkPes& job, uint64_t number) {
  uint64_t value = number;
  job.of(0).send(1, {5, number, 0}, &value, sizeof value);
  job.of(1).receive(0, {5, number, 0}, {&value, sizeof value}, [] { return "a message"; });
}

// A PE that polls takes in messages, and goes on to compute while the thread sleeps. The wire's
// promise to wake the thread ends with that, so the thread has to ask again.
TEST(NetworkThread, AnswersAfterAPollerHasTakenAMessage) {
  NetworkPes job({.nodes = 2, .pes_of_node = 1, .opens = false});
  job.of(0).open(job.plan(0));
  NetworkPlan plan = job.plan(1);
  plan.longest_sleep_ms = 1'000'000;
  job.of(1).open(std::move(plan));
  for (uint64_t round = 0; round < 3; ++round) {
    while (!job.wire(1).is_armed()) std::this_thread::yield();
    job.wire(1).wake_nobody();
    pass_message(job, round);
    job.wire(1).wake_nobody(false);
    ASSERT_TRUE(answers_while_it_computes(job));
  }
}

// The same with TCP's wire, which does not break its promise each time. Mostly the thread wakes up
// too late to see the first message.
TEST(NetworkThread, AnswersOverTcpAfterAPollerHasTakenMessages) {
  NetworkPes job({.nodes = 2, .pes_of_node = 1, .opens = false, .is_over_tcp = true});
  job.of(0).open(job.plan(0));
  NetworkPlan plan = job.plan(1);
  plan.longest_sleep_ms = 1'000'000;
  job.of(1).open(std::move(plan));
  uint64_t number = 0;
  for (int round = 0; round < 150; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));  // it falls asleep
    for (int count = 0; count <= round % 3; ++count) pass_message(job, number++);
    ASSERT_TRUE(answers_while_it_computes(job)) << round;
  }
}

// Each byte of the answer is the sum of the question's.
bool answer_with_sums(const std::byte* question, std::size_t bytes, std::byte* answer,
                      std::size_t answer_bytes) {
  unsigned sum = 0;
  for (std::size_t i = 0; i < bytes; ++i) sum += static_cast<unsigned>(question[i]);
  std::fill_n(answer, answer_bytes, static_cast<std::byte>(sum));
  return true;
}

TEST_P(Network, QuestionsAreAnsweredWhileTheOtherAsksOrDoesNothing) {
  NetworkPes job({.nodes = 2, .pes_of_node = 1, .slowness = slowness()});
  for (int pe = 0; pe < job.n(); ++pe) job.of(pe).answer_with(answer_with_sums);
  const auto ask = [&](int me) {
    for (const std::size_t bytes : Sizes{0, 1, 77, kMost, kMost + 1, kMostOfQuestion}) {
      for (const std::size_t answer_bytes : Sizes{0, 1, 78, kMostOfAnswer}) {
        const std::vector<std::byte> question(bytes, std::byte{3});
        std::vector<std::byte> answer(answer_bytes);
        job.of(me).ask(1 - me, question.data(), bytes, answer.data(), answer_bytes);
        EXPECT_EQ(answer, std::vector(answer_bytes, static_cast<std::byte>(3 * bytes)));
      }
    }
  };
  ask(0);
  job.run(ask);
}

TEST_P(Network, OpensAgain) {
  NetworkPes job({.nodes = 3, .pes_of_node = 1, .slowness = slowness()});
  for (uint64_t round = 1; round <= 3; ++round) {
    job.run([&](int me) {
      if (round > 1) job.of(me).reopen();
      job.meet();
      const int to = (me + 1) % job.n();
      job.of(me).put(heap_of(to, 0), &round, sizeof round);
      job.of(me).complete();
      job.meet();
      EXPECT_EQ(now(job.heap_of<uint64_t>(me)), round);
      job.of(me).close();
      job.meet();
    });
  }
}

// Messages of a PE that was faster wait until this one opens.
TEST(NetworkStart, APeOpensLate) {
  NetworkPes job({.nodes = 2, .pes_of_node = 1, .opens = false});
  job.of(0).open(job.plan(0));
  const uint64_t value = 77;
  job.of(0).put(heap_of(1, 0), &value, sizeof value);
  job.of(1).progress();
  EXPECT_EQ(*job.heap_of<uint64_t>(1), 0u);
  job.of(1).open(job.plan(1));
  job.of(0).complete();
  EXPECT_EQ(now(job.heap_of<uint64_t>(1)), value);
}

// A get of device memory takes a while there, and a later question takes no time.
TEST(Questions, EndNoMarkOfAnEarlierGet) {
  NetworkPes job({.nodes = 2, .pes_of_node = 1, .has_device = true});
  for (int pe = 0; pe < job.n(); ++pe) job.of(pe).answer_with(answer_with_sums);
  std::fill_n(job.device_memory(1), job.heap_bytes(), std::byte{7});
  const std::vector<std::byte> question(8);
  for (int i = 0; i < 200; ++i) {
    std::vector<std::byte> got(job.heap_bytes()), answer(8);
    job.of(0).get_nbi(got.data(), {1, RemoteSegment::device, 0}, got.size());
    const auto mark = job.of(0).mark();
    job.of(0).ask(1, question.data(), question.size(), answer.data(), answer.size());
    while (!mark->is_done()) {
    }
    ASSERT_EQ(got.back(), std::byte{7}) << "round " << i;
    job.of(0).complete();
  }
}

}  // namespace
}  // namespace meshmem
