// SPDX-License-Identifier: Apache-2.0
//
// Random one-sided operations of several threads of each PE, compared with a model of what each
// thread has written; and counters that all threads change. With a device also on its memory.
// Invariant: a thread has a place of its own in every PE's memory, so its model is exact.
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

#include "gpu/device_target.hpp"
#include "network_pes.hpp"
#include "transport/network/format.hpp"
#include "transport/network/segments.hpp"

namespace meshmem {
namespace {

constexpr std::size_t kPlaceBytes = 1 << 19;  // of a thread, in each heap
constexpr std::size_t kCounterBytes = 64;

struct Case {
  int nodes, pes_of_node, threads;
  unsigned slowness;
  bool has_device = false;
};

class Player {
 public:
  Player(NetworkPes& job, int me, int thread, const Case& shape)
      : job_(job),
        transport_(job.of(me)),
        me_(me),
        shape_(shape),
        place_(kCounterBytes + static_cast<std::size_t>(me * shape.threads + thread) * kPlaceBytes),
        random_(static_cast<unsigned>(me * 16 + thread)),
        model_(static_cast<std::size_t>(2 * job.n())) {
    for (auto& heap : model_) heap.resize(kPlaceBytes);
  }

  void play(int n_operations) {
    for (int i = 0; i < n_operations; ++i) {
      do pe_ = static_cast<int>(below(static_cast<std::size_t>(job_.n())));
      while (pe_ / shape_.pes_of_node == me_ / shape_.pes_of_node);
      choose_memory();
      step();
    }
    quiet();
    for (pe_ = 0; pe_ < job_.n(); ++pe_) {
      for (const auto segment : {RemoteSegment::heap, RemoteSegment::device}) {
        segment_ = segment;
        if (segment == RemoteSegment::heap || shape_.has_device) check_all();
      }
    }
  }
  std::uint64_t added() const { return added_; }

 private:
  std::size_t below(std::size_t n) { return random_() % n; }
  void choose_memory() {
    const bool on_device = shape_.has_device && below(2);
    segment_ = on_device ? RemoteSegment::device : RemoteSegment::heap;
  }
  std::vector<std::byte>& model() {
    return model_[static_cast<std::size_t>(pe_ * 2 + (segment_ == RemoteSegment::heap ? 0 : 1))];
  }
  RemotePlace at(std::size_t offset) const { return {pe_, segment_, place_ + offset}; }
  std::size_t random_length() {
    constexpr std::size_t kLengths[] = {
        1, 2, 4, 8, 16, 100, network::kMostCombined, network::kMostCombined + 1, 9000, 300000};
    const std::size_t length = kLengths[below(std::size(kLengths))];
    return below(2) ? length : 1 + below(length);
  }

  // The source of a nonblocking get does not change before it is complete.
  void step() {
    const std::size_t what = below(8);
    if (what != 3 && what != 4 && !wanted_.empty()) quiet();
    switch (what) {
      case 0:
      case 1:
      case 2:
        return put();
      case 3:
      case 4:
        return get();
      case 5:
        return change();
      case 6:
        return add_to_counter();
      case 7:
        return below(4) == 0 ? quiet() : transport_.order();
    }
  }

  void put() {
    const std::size_t length = random_length(), offset = below(kPlaceBytes - length);
    std::vector<std::byte> data(length);
    for (std::byte& byte : data) byte = static_cast<std::byte>(random_());
    std::copy(data.begin(), data.end(), model().begin() + static_cast<std::ptrdiff_t>(offset));
    const std::size_t how = below(3);
    if (how == 0) {
      lent_.push_back(std::move(data));
      transport_.put_nbi(at(offset), lent_.back().data(), length);
    } else if (how == 1) {
      transport_.put(at(offset), data.data(), length);
      std::fill(data.begin(), data.end(), std::byte{0});
    } else {
      put_signal(offset, data);
    }
  }
  // The signal is the first word of the place, in the same memory or the other.
  void put_signal(std::size_t offset, std::vector<std::byte>& data) {
    const std::uint64_t value = random_();
    const RemotePlace dest = at(offset);
    choose_memory();
    transport_.put_signal(dest, data.data(), data.size(),
                          {segment_, place_, device::AtomicOp::set, value});
    std::memcpy(model().data(), &value, sizeof value);
  }
  void get() {
    const std::size_t length = random_length(), offset = below(kPlaceBytes - length);
    const auto begin = model().begin() + static_cast<std::ptrdiff_t>(offset);
    Wanted wanted{std::vector<std::byte>(length),
                  {begin, begin + static_cast<std::ptrdiff_t>(length)}};
    if (below(2)) {
      transport_.get(wanted.seen.data(), at(offset), length);
      ASSERT_TRUE(wanted.seen == wanted.expected);
    } else {
      wanted_.push_back(std::move(wanted));
      transport_.get_nbi(wanted_.back().seen.data(), at(offset), length);
    }
  }
  void change() {
    const std::size_t width = below(2) ? 4 : 8, offset = below(kPlaceBytes / 8) * 8;
    AtomicRequest request{static_cast<device::AtomicOp>(below(8)), width, random_(), random_(),
                          below(2) == 0};
    if (request.op == device::AtomicOp::fetch) request.fetches = true;
    alignas(8) std::byte word[8];
    std::memcpy(word, model().data() + offset, sizeof word);
    const std::uint64_t before = network::execute(request, word);
    std::memcpy(model().data() + offset, word, sizeof word);
    const std::uint64_t answer = transport_.atomic(at(offset), request);
    ASSERT_EQ(answer, request.fetches ? before : 0);
  }
  void add_to_counter() {
    const std::uint64_t value = random_();
    if (me_ < shape_.pes_of_node) return;  // PE 0 is near
    transport_.atomic({0, counter_segment(), 0}, {device::AtomicOp::add, 8, value, 0, false});
    added_ += value;
  }
  void quiet() {
    transport_.complete();
    for (const Wanted& wanted : wanted_) ASSERT_TRUE(wanted.seen == wanted.expected);
    wanted_.clear();
    lent_.clear();
  }
  void check_all() {
    ASSERT_EQ(std::memcmp(job_.base_of(pe_, segment_) + place_, model().data(), kPlaceBytes), 0);
  }
  RemoteSegment counter_segment() const {
    return shape_.has_device ? RemoteSegment::device : RemoteSegment::heap;
  }

  struct Wanted {
    std::vector<std::byte> seen, expected;
  };
  NetworkPes& job_;
  NetworkTransport& transport_;
  const int me_;
  const Case shape_;
  const std::size_t place_;
  int pe_ = 0;
  RemoteSegment segment_ = RemoteSegment::heap;
  std::minstd_rand random_;
  std::vector<std::vector<std::byte>> model_;
  std::vector<std::vector<std::byte>> lent_;
  std::vector<Wanted> wanted_;
  std::uint64_t added_ = 0;
};

class RandomOperations : public testing::TestWithParam<Case> {};
INSTANTIATE_TEST_SUITE_P(Shapes, RandomOperations,
                         testing::Values(Case{2, 1, 1, 1}, Case{2, 1, 3, 3}, Case{3, 2, 2, 2},
                                         Case{5, 1, 2, 4}));
// The test reads it by the processor.
INSTANTIATE_TEST_SUITE_P(OnDevices, RandomOperations,
                         testing::Values(Case{2, 1, 1, 1, kDevicesAreProcessors},
                                         Case{3, 2, 2, 2, kDevicesAreProcessors}));

TEST_P(RandomOperations, AreWhatEachThreadHasMeant) {
  const Case& shape = GetParam();
  const int n_threads = shape.nodes * shape.pes_of_node * shape.threads;
  NetworkPes job({.nodes = shape.nodes,
                  .pes_of_node = shape.pes_of_node,
                  .heap_bytes = kCounterBytes + static_cast<std::size_t>(n_threads) * kPlaceBytes,
                  .slowness = shape.slowness,
                  .has_device = shape.has_device});
  std::atomic<std::uint64_t> added{0};
  job.run([&](int me) {
    std::vector<std::thread> threads;
    for (int thread = 0; thread < shape.threads; ++thread) {
      threads.emplace_back([&, thread] {
        Player player(job, me, thread, shape);
        player.play(400);
        added += player.added();
      });
    }
    for (std::thread& thread : threads) thread.join();
  });
  const auto counters = shape.has_device ? RemoteSegment::device : RemoteSegment::heap;
  EXPECT_EQ(*reinterpret_cast<std::uint64_t*>(job.base_of(0, counters)), added.load());
}

}  // namespace
}  // namespace meshmem
