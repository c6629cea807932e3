// SPDX-License-Identifier: Apache-2.0
//
// Acknowledgements that wait for the answer of a kernel: NetworkTransport::progress_for_kernels().
// Invariant: the network's threads sleep, so the test alone says who polls when.
#include <gtest/gtest.h>

#include <chrono>
#include <vector>

#include "network_pes.hpp"

namespace meshmem {
namespace {

constexpr auto kFlood = std::chrono::seconds(5);

// PE 1's kernel has answered each signal of PE 0 at once, so an acknowledgement waits for the next
// answer; that does not come. Messages that PE 2 sends meanwhile must not prolong the wait.
TEST(KernelAnswers, AreNotAwaitedLongerWhileAnotherPeSends) {
  NetworkPes job({.nodes = 3, .pes_of_node = 1});
  for (int pe = 0; pe < job.n(); ++pe) job.wire(pe).wake_nobody();
  const std::uint64_t value = 1;
  const SignalUpdate signal{RemoteSegment::heap, 8, device::AtomicOp::add, 1};
  const std::vector<std::byte> block(16384);
  const auto send_signal = [&] {
    job.of(0).put_signal({1, RemoteSegment::heap, 0}, &value, sizeof value, signal);
  };
  for (int i = 0; i < 40; ++i) {
    send_signal();
    job.of(1).progress_for_kernels();
    job.of(1).put({0, RemoteSegment::heap, 0}, &value, sizeof value);  // the answer
    job.of(0).progress();
  }
  send_signal();
  const auto mark = job.of(0).mark();
  const auto end = std::chrono::steady_clock::now() + kFlood;
  bool is_done = false;
  while (!is_done && std::chrono::steady_clock::now() < end) {
    job.of(2).put_nbi({1, RemoteSegment::heap, 1024}, block.data(), block.size());
    job.of(1).progress_for_kernels();
    is_done = mark->is_done();
  }
  EXPECT_TRUE(is_done);
  for (int pe = 0; pe < job.n(); ++pe) job.of(pe).complete();
}

}  // namespace
}  // namespace meshmem
