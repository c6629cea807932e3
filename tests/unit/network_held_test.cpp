// SPDX-License-Identifier: Apache-2.0
//
// The device of a PE gets data that arrives, and at the right time. The device is one that does
// something only when the test says so.
#include <gtest/gtest.h>

#include <mutex>
#include <string>
#include <vector>

#include "base/waiting/wait.hpp"
#include "network_pes.hpp"
#include "transport/network/held.hpp"

namespace meshmem {
namespace {

using network::Record;
using network::RecordKind;
using std::uint64_t;

class ToldDevice : public DeviceAccess {
 public:
  void take_room(DeviceWork& work, std::size_t bytes) override {
    work.own_data = std::make_unique_for_overwrite<std::byte[]>(bytes);
    work.data = work.own_data.get();
  }
  void submit(DeviceWork& work) override {
    const std::lock_guard lock(mutex_);
    works_.push_back(&work);
  }
  void release(DeviceWork&) override {}
  bool drive() override { return false; }

  // The work that it has got: w for a write, o for an operation. Then it does all of it.
  std::string take_all() {
    const std::lock_guard lock(mutex_);
    std::string kinds;
    for (DeviceWork* const work : works_) {
      kinds += work->is_operation() ? 'o' : 'w';
      work->is_done = true;
    }
    works_.clear();
    return kinds;
  }

 private:
  std::mutex mutex_;
  std::vector<DeviceWork*> works_;
};

struct Receiver {
  ToldDevice device;
  network::Outlet outlet;
  network::Flow flow{outlet, 1};
  network::HeldRecords held;
  uint64_t memory[64] = {}, signals[8] = {};
  int executed = 0;  // on the host

  Receiver() {
    held.use(&device);
    held.use([this](network::Flow&, const Record&, const std::byte*) { ++executed; });
  }
  std::byte* place(int i) { return reinterpret_cast<std::byte*>(memory + 4 * i); }
  void put(int i, bool follows_fence = false) {
    const std::byte data[24] = {};
    held.add(flow, {.kind = RecordKind::put, .follows_fence = follows_fence, .bytes = sizeof data},
             data, place(i));
  }
  void update(std::byte* there, bool follows_fence = false) {
    held.add(flow, {.kind = RecordKind::atomic, .follows_fence = follows_fence, .width = 8},
             nullptr, there);
  }
  void signal(int i, bool follows_fence = false) {
    update(reinterpret_cast<std::byte*>(signals + i), follows_fence);
  }
  void put_signal(int i, bool follows_fence = false) {
    put(i, follows_fence);
    signal(i, follows_fence);
  }
  void put_to_host() {
    const std::byte data[24] = {};
    held.add(flow, {.kind = RecordKind::put, .bytes = sizeof data}, data, nullptr);
  }
  std::string next() {
    held.advance();
    return device.take_all();
  }
};

TEST(HeldRecords, SignalsOfManyPutsAreGivenTogether) {
  Receiver receiver;
  for (int i = 0; i < 3; ++i) {
    receiver.put_signal(i);
    receiver.held.end_parcel(receiver.flow, 0);
  }
  EXPECT_EQ(receiver.next(), "www");
  EXPECT_EQ(receiver.next(), "ooo");
  EXPECT_EQ(receiver.next(), "");
  EXPECT_TRUE(receiver.held.is_empty());
}

TEST(HeldRecords, OperationsFollowAllBefore) {
  Receiver receiver;
  receiver.signal(0);
  receiver.put(1);
  receiver.signal(1);
  EXPECT_EQ(receiver.next(), "wo");
  receiver.put(2);
  receiver.signal(2);
  EXPECT_EQ(receiver.next(), "wo");
  EXPECT_EQ(receiver.next(), "o");
}

TEST(HeldRecords, NothingOvertakesAcrossAFence) {
  Receiver receiver;
  receiver.put_signal(0);
  receiver.put_signal(1, true);
  receiver.put_signal(2);
  EXPECT_EQ(receiver.next(), "w");
  EXPECT_EQ(receiver.next(), "o");
  EXPECT_EQ(receiver.next(), "ww");
  EXPECT_EQ(receiver.next(), "oo");
  receiver.signal(0);
  receiver.signal(1, true);  // the fence is between the first and the copy
  receiver.put(2);
  EXPECT_EQ(receiver.next(), "oo");
  EXPECT_EQ(receiver.next(), "w");
  EXPECT_EQ(receiver.next(), "");
  EXPECT_TRUE(receiver.held.is_empty());
}

TEST(HeldRecords, ACopyToThePlaceOfAnOperationFollowsIt) {
  Receiver receiver;
  receiver.update(receiver.place(1) + 16);
  receiver.put(1);
  receiver.put(2);
  EXPECT_EQ(receiver.next(), "o");
  EXPECT_EQ(receiver.next(), "ww");
}

TEST(HeldRecords, ForTheHostAreBetweenThoseBeforeAndBehind) {
  Receiver receiver;
  receiver.put_signal(0);
  receiver.put_to_host();
  receiver.put_signal(1);
  EXPECT_EQ(receiver.next(), "w");
  EXPECT_EQ(receiver.next(), "o");
  EXPECT_EQ(receiver.executed, 0);
  EXPECT_EQ(receiver.next(), "w");
  EXPECT_EQ(receiver.executed, 1);
  EXPECT_EQ(receiver.next(), "o");
}

TEST(HeldRecords, ASignalWithoutDataFollowsTheFence) {
  EXPECT_TRUE(
      network::signal_of({.kind = RecordKind::put_signal, .follows_fence = 1}).follows_fence);
}

// Two nodes of one PE each. Data for the device of PE 1 goes to `device`.
class TwoNodes : public NetworkPes {
 public:
  explicit TwoNodes(DeviceAccess& device)
      : NetworkPes({.nodes = 2, .pes_of_node = 1, .opens = false, .has_device = true}) {
    NetworkPlan plan_of_1 = plan(1);
    plan_of_1.device = &device;
    of(0).open(plan(0));
    of(1).open(std::move(plan_of_1));
  }
};

// From the sender's order() to the device of the other.
TEST(HeldRecords, OfASenderKeepItsFences) {
  ToldDevice device;
  TwoNodes job(device);
  const std::vector<std::byte> data(24);
  for (std::size_t i = 0; i < 4; ++i) {
    if (i == 2) job.of(0).order();
    const std::size_t place = i * 64;
    job.of(0).put_signal({1, RemoteSegment::device, place}, data.data(), data.size(),
                         {RemoteSegment::device, place + 32, device::AtomicOp::set, 1});
  }
  const auto mark = job.of(0).mark();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));  // so that all are there
  std::string kinds;
  wait_until_ready(
      [&] {
        kinds += device.take_all();
        job.of(0).progress();
        return mark->is_done();
      },
      [] { return "what a device is given"; });
  EXPECT_EQ(kinds, "wwoowwoo");
}

// A device that does nothing for a while.
class BusyDevice : public DeviceAccess {
 public:
  std::atomic<bool> is_busy{true};
  void take_room(DeviceWork&, std::size_t) override {}
  void submit(DeviceWork& work) override { work_ = &work; }
  void release(DeviceWork& work) override { work.data = nullptr; }
  bool drive() override {
    DeviceWork* const work = is_busy ? nullptr : work_.exchange(nullptr);
    if (!work) return false;
    work->data = reinterpret_cast<std::byte*>(value_);
    work->is_done = true;
    return true;
  }

 private:
  std::atomic<DeviceWork*> work_{nullptr};
  uint64_t value_[1] = {5};
};

// Puts behind the get are kept until the device has answered, so they must not be many.
TEST(HeldRecords, BehindAGetOfDeviceMemoryAreLimited) {
  constexpr int kPuts = 400;
  BusyDevice device;
  TwoNodes job(device);
  uint64_t value = 0;
  std::atomic<int> n_put{0};
  std::thread sender([&] {
    const std::vector<std::byte> data(16 << 10);
    job.of(0).get_nbi(&value, {1, RemoteSegment::device, 0}, sizeof value);
    for (; n_put < kPuts; ++n_put)
      job.of(0).put_nbi({1, RemoteSegment::heap, 0}, data.data(), data.size());
    job.of(0).complete();
  });
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(500);
  while (n_put < kPuts && std::chrono::steady_clock::now() < end) std::this_thread::yield();
  EXPECT_LT(n_put, kPuts / 2);
  device.is_busy = false;
  sender.join();
  EXPECT_EQ(value, 5u);
}

}  // namespace
}  // namespace meshmem
