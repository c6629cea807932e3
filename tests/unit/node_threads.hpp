// SPDX-License-Identifier: Apache-2.0
//
// PEs that are threads of one process, as if on several nodes: a PE has the heaps and areas of its
// own node's PEs, and messages for the others.
// Invariant: what is far is not mapped, so a collective that reaches for it ends the test. One job
// at a time. Included by the unit tests of collectives between nodes.
#ifndef MESHMEM_TESTS_UNIT_NODE_THREADS_HPP_
#define MESHMEM_TESTS_UNIT_NODE_THREADS_HPP_

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <mutex>
#include <numeric>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/waiting/wait.hpp"
#include "core/team.hpp"
#include "pe_threads.hpp"
#include "transport/transport.hpp"

namespace meshmem {

// Puts each message into the receiver's mailbox at once, in pieces.
class TransportOfThreads : public Transport {
 public:
  static constexpr int kMostPes = 64;
  static inline thread_local int me = -1;
  int sent = 0;
  // The most bytes that one PE had sent to another and that had not been received.
  std::size_t most_ahead = 0;

  void send(int pe, const MessageKey& key, const void* data, std::size_t bytes) override {
    {
      const std::lock_guard lock(mutex_);
      ++sent;
      most_ahead = std::max(most_ahead, ahead_[me][pe] += bytes);
    }
    const auto* const from = static_cast<const std::byte*>(data);
    std::size_t done = 0;
    do {
      const std::size_t length = std::min(bytes - done, 16 * kPieceGrain);
      EXPECT_TRUE(mailboxes_[pe].deliver(me, key, {bytes, from + done, length}));
      done += length;
    } while (done < bytes);
  }
  void expect(int pe, const MessageKey& key, const MessageDest& dest) override {
    mailboxes_[me].expect(pe, key, dest);
  }
  void receive(int pe, const MessageKey& key, const MessageDest& dest,
               const std::function<std::string()>& what) override {
    wait_until_ready([&] { return mailboxes_[me].try_take(pe, key, dest); }, what);
    const std::lock_guard lock(mutex_);
    ahead_[pe][me] -= dest.bytes;
  }

  void progress() override {}
  void progress_for_kernels() override {}
  void will_progress() override {}
  void put(const RemotePlace&, const void*, std::size_t) override { refuse(); }
  void get(void*, const RemotePlace&, std::size_t) override { refuse(); }
  void put_nbi(const RemotePlace&, const void*, std::size_t) override { refuse(); }
  void get_nbi(void*, const RemotePlace&, std::size_t) override { refuse(); }
  void put_signal(const RemotePlace&, const void*, std::size_t, const SignalUpdate&) override {
    refuse();
  }
  std::uint64_t atomic(const RemotePlace&, const AtomicRequest&) override { refuse(); }
  void fetch_nbi(const RemotePlace&, const AtomicRequest&, std::uint64_t*) override { refuse(); }
  void order() override { refuse(); }
  void complete() override { refuse(); }
  std::unique_ptr<CompletionMark> mark() override { refuse(); }

 private:
  [[noreturn]] static void refuse() { fatal("a collective here has messages only"); }

  std::mutex mutex_;
  std::size_t ahead_[kMostPes][kMostPes] = {};
  Mailbox mailboxes_[kMostPes];
};

class NodeThreads {
 public:
  using Pe = PeThreads::Pe;

  // PE i is on node node_of_pe[i].
  NodeThreads(std::vector<int> node_of_pe, std::size_t heap_bytes)
      : node_of_pe_(std::move(node_of_pe)),
        job_(static_cast<int>(node_of_pe_.size()), heap_bytes, 2),
        heaps_(node_of_pe_.size()) {
    the_transport = &transport_;
  }
  ~NodeThreads() { the_transport = nullptr; }

  // body(pe, the team of all) by all PEs, a thread each.
  void run(const std::function<void(Pe&, Team&)>& body) {
    job_.run([&](Pe& pe) {
      TransportOfThreads::me = pe.number;
      unmap_far_heaps(pe);
      std::vector<int> all(node_of_pe_.size());
      std::iota(all.begin(), all.end(), 0);
      Team world = team(pe, all, 0);
      body(pe, world);
    });
  }

  Team team(const Pe& pe, std::vector<int> pes, int slot) const {
    Team team = make_team(std::move(pes), pe.map, [this](int other) { return node_of(other); });
    for (const int near : team.node.pes) team.node.areas.push_back(job_.area(near, slot));
    team.slot = team.node.slot = slot;
    team.node.more_pes_than_cores = true;
    team.begin_call("a unit test");
    return team;
  }

  int messages() const { return transport_.sent; }
  std::size_t most_ahead() const { return transport_.most_ahead; }

 private:
  int node_of(int pe) const { return node_of_pe_[static_cast<std::size_t>(pe)]; }

  void unmap_far_heaps(Pe& pe) {
    std::vector<std::byte*>& heaps = heaps_[static_cast<std::size_t>(pe.number)];
    heaps.clear();
    for (int other = 0; other < static_cast<int>(node_of_pe_.size()); ++other) {
      std::byte* heap = const_cast<std::byte*>(job_.heap(other));
      heaps.push_back(node_of(other) == node_of(pe.number) ? heap : kFar);
    }
    pe.map.heap.copy_of_pe = heaps.data();
  }

  const std::vector<int> node_of_pe_;
  PeThreads job_;
  std::vector<std::vector<std::byte*>> heaps_;  // as each PE sees them
  TransportOfThreads transport_;
};

}  // namespace meshmem

#endif  // MESHMEM_TESTS_UNIT_NODE_THREADS_HPP_
