// SPDX-License-Identifier: Apache-2.0
//
// Work on device memory for threads that do not wait for a device: pieces of copies, and operations
// in batches. Invariant: where devices are processors, their memory is the test's own.
#include "gpu/staged_access.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <deque>
#include <thread>
#include <vector>

#include "base/waiting/wait.hpp"
#include "gpu/device_target.hpp"
#include "gpu/host_stores.hpp"

namespace meshmem {
namespace {

class Staged : public testing::Test {
 protected:
  void SetUp() override {
    if (!kDevicesAreProcessors) GTEST_SKIP() << "the test reads device memory";
    access.open(0);
  }
  DeviceWork& submit_operation(device::AtomicOp op, void* there, std::size_t bytes,
                               std::uint64_t operand, std::uint64_t condition = 0) {
    DeviceWork& work = works.emplace_back();
    work.there = static_cast<std::byte*>(there);
    work.bytes = bytes;
    work.op = op;
    work.operand = operand;
    work.condition = condition;
    access.submit(work);
    return work;
  }
  DeviceWork& submit_write(std::byte* there, std::byte value, std::size_t bytes) {
    DeviceWork& work = works.emplace_back();
    work.kind = DeviceWork::Kind::write;
    work.there = there;
    access.take_room(work, bytes);
    std::memset(work.data, static_cast<int>(value), bytes);
    access.submit(work);
    return work;
  }
  DeviceWork& submit_read(std::byte* there, std::size_t bytes) {
    DeviceWork& work = works.emplace_back();
    work.kind = DeviceWork::Kind::read;
    work.there = there;
    work.bytes = bytes;
    access.submit(work);
    return work;
  }
  void finish(const DeviceWork& work) {
    wait_until_ready(
        [&] {
          access.drive();
          return work.is_done.load(std::memory_order_acquire);
        },
        [] { return "work of a test"; });
  }

  StagedAccess access;
  std::deque<DeviceWork> works;
};

using StagedDeathTest = Staged;

TEST_F(StagedDeathTest, ADeviceThatReachesTheMemoryDoesOperations) {
  const std::vector<DeviceRoute> routes{{0, true}, {7, false}};
  access.open(0, &routes);
  std::uint64_t word = 0;
  const auto operate = [&] {
    finish(submit_operation(device::AtomicOp::add, &word, 8, 1));
    submit_operation(device::AtomicOp::add, &word, 8, 1).owner = 1;
    access.drive();
  };
  EXPECT_DEATH(operate(), "device 7");  // there is none
}

TEST_F(Staged, OperationsAreDoneInOrderAndAnswer) {
  alignas(8) std::uint64_t word = 5;
  EXPECT_FALSE(access.drive());
  const DeviceWork& swap = submit_operation(device::AtomicOp::swap, &word, 8, 9);
  const DeviceWork& missed = submit_operation(device::AtomicOp::compare_swap, &word, 8, 1, 7);
  const DeviceWork& taken = submit_operation(device::AtomicOp::compare_swap, &word, 8, 12, 9);
  const DeviceWork& narrow = submit_operation(device::AtomicOp::add, &word, 4, 0xffffffff);
  const DeviceWork& byte = submit_operation(device::AtomicOp::set, &word, 1, 0x40);
  const DeviceWork& last = submit_operation(device::AtomicOp::bit_or, &word, 8, 3);
  finish(last);
  EXPECT_EQ(swap.before, 5u);
  EXPECT_EQ(missed.before, 9u);
  EXPECT_EQ(taken.before, 9u);
  EXPECT_EQ(narrow.before, 12u);
  EXPECT_TRUE(byte.is_done);
  EXPECT_EQ(last.before, 0x40u);
  EXPECT_EQ(word, 0x43u);
  EXPECT_FALSE(access.drive());
}

TEST_F(Staged, MoreCopiesThanThereArePiecesKeepTheirOrder) {
  constexpr std::size_t kBytes = DeviceAccess::kPieceBytes;
  std::vector<std::byte> memory(kBytes + 1);
  for (int i = 1; i <= 40; ++i)
    submit_write(memory.data(), static_cast<std::byte>(i), i % 3 ? kBytes : 100);
  const DeviceWork& before = submit_read(memory.data(), 100);
  finish(submit_write(memory.data(), std::byte{77}, kBytes));
  EXPECT_EQ(before.data[0], std::byte{40});
  EXPECT_EQ(before.data[99], std::byte{40});
  EXPECT_EQ(memory[kBytes - 1], std::byte{77});
  EXPECT_EQ(memory[kBytes], std::byte{0});
}

// Stores count as pending work of this process until they have arrived; copies do not.
TEST_F(Staged, SmallWritesAreStoresWhereTheProcessorMayAndNoCopyIsBefore) {
  constexpr std::size_t kBytes = DeviceAccess::kPieceBytes;
  static std::vector<std::byte>& memory = *new std::vector<std::byte>(kBytes + 1);
  static std::uint64_t marker = 0;
  host_stores().add(memory.data(), kBytes, {&marker});
  const auto stores_of = [&](const auto& submit) {
    const std::uint64_t before = pending_work.issued.load();
    submit();
    finish(works.back());
    return pending_work.issued.load() - before;
  };
  EXPECT_EQ(stores_of([&] {
              for (int i = 1; i <= 3; ++i)
                submit_write(memory.data() + 5, static_cast<std::byte>(i), 4096);
            }),
            3u);
  EXPECT_EQ(memory[4], std::byte{0});
  EXPECT_EQ(memory[5], std::byte{3});
  EXPECT_EQ(memory[4100], std::byte{3});
  EXPECT_EQ(memory[4101], std::byte{0});

  EXPECT_EQ(stores_of([&] {
              submit_write(memory.data(), std::byte{4}, kBytes);
              submit_write(memory.data() + 1, std::byte{5}, 1);
            }),
            0u)
      << "behind a copy";
  EXPECT_EQ(memory[0], std::byte{4});
  EXPECT_EQ(memory[1], std::byte{5});
  const DeviceWork& last = submit_read(memory.data(), 2);
  finish(last);
  EXPECT_EQ(last.data[1], std::byte{5});
  for (int i = 10; i < 30; ++i) {
    const DeviceWork& large = submit_write(memory.data(), static_cast<std::byte>(i), kBytes);
    access.drive();  // under way, or over
    finish(submit_write(memory.data() + kBytes - 1, static_cast<std::byte>(i + 100), 1));
    finish(large);
    EXPECT_EQ(memory[kBytes - 1], static_cast<std::byte>(i + 100));
  }
  EXPECT_EQ(stores_of([&] { submit_operation(device::AtomicOp::set, memory.data(), 8, 6); }), 0u);
  EXPECT_EQ(memory[kBytes], std::byte{0});
}

// A read keeps its piece until it is released; writes find room all the same.
TEST_F(Staged, ReadsWaitForPiecesAndWritesDoNot) {
  std::vector<std::byte> memory(DeviceAccess::kPieceBytes, std::byte{1});
  std::vector<DeviceWork*> reads;
  for (int i = 0; i < 20; ++i) reads.push_back(&submit_read(memory.data(), memory.size()));
  for (DeviceWork* read : reads) {
    finish(*read);
    EXPECT_EQ(read->data[memory.size() - 1], std::byte{1});
    access.release(*read);
  }
  finish(submit_write(memory.data(), std::byte{2}, memory.size()));
  EXPECT_EQ(memory.back(), std::byte{2});
}

TEST_F(Staged, ThreadsShareIt) {
  constexpr int kThreads = 3, kAdds = 700;  // more than a page
  alignas(8) std::uint64_t counter = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      std::deque<DeviceWork> own;
      for (int n = 0; n < kAdds; ++n) {
        DeviceWork& work = own.emplace_back();
        work.there = reinterpret_cast<std::byte*>(&counter);
        work.bytes = 8;
        work.op = device::AtomicOp::add;
        work.operand = 1;
        access.submit(work);
      }
      for (const DeviceWork& work : own) finish(work);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(counter, std::uint64_t{kThreads * kAdds});
}

}  // namespace
}  // namespace meshmem
