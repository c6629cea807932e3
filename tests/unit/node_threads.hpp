// SPDX-License-Identifier: Apache-2.0
//
// PEs that are threads of one process, as if on several nodes: a PE has the heaps and areas of its
// own node's PEs, and messages for the others.
// Invariant: what is far is not mapped, so a collective that reaches for it ends the test. One job
// at a time. Included by the unit tests of collectives between nodes.
#ifndef MESHMEM_TESTS_UNIT_NODE_THREADS_HPP_
#define MESHMEM_TESTS_UNIT_NODE_THREADS_HPP_

#include <atomic>
#include <functional>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "core/team.hpp"
#include "pe_threads.hpp"
#include "transport/arena_transport.hpp"

namespace meshmem {

// Messages of whichever PE the calling thread is.
class TransportOfThread : public ArenaTransport {
 public:
  TransportOfThread() : ArenaTransport(-1, {}) {}
  static inline thread_local ArenaTransport* mine = nullptr;
  static inline thread_local int number = -1;
  static inline std::atomic<int> sent{0};
  // The most bytes that one PE had sent to another and that had not been received.
  static inline std::atomic<std::size_t> most_ahead{0};

  void send(int pe, const MessageKey& key, const void* data, std::size_t bytes) override {
    ++sent;
    const std::size_t now = ahead(number, pe).fetch_add(bytes) + bytes;
    for (std::size_t most = most_ahead; most < now && !most_ahead.compare_exchange_weak(most, now);)
      continue;
    mine->send(pe, key, data, bytes);
  }
  void expect(int pe, const MessageKey& key, const MessageDest& dest) override {
    mine->expect(pe, key, dest);
  }
  void receive(int pe, const MessageKey& key, const MessageDest& dest,
               const std::function<std::string()>& what) override {
    mine->receive(pe, key, dest, what);
    ahead(pe, number) -= dest.bytes;
  }
  void progress() override {
    if (mine) mine->progress();
  }

 private:
  static constexpr std::size_t kMostPes = 64;
  static std::atomic<std::size_t>& ahead(int from, int to) {
    static std::atomic<std::size_t> bytes[kMostPes][kMostPes];
    return bytes[from][to];
  }
};

class NodeThreads {
 public:
  using Pe = PeThreads::Pe;

  // PE i is on node node_of_pe[i].
  NodeThreads(std::vector<int> node_of_pe, std::size_t heap_bytes)
      : node_of_pe_(std::move(node_of_pe)),
        job_(static_cast<int>(node_of_pe_.size()), heap_bytes, 2),
        heaps_(node_of_pe_.size()) {
    if (!transport()) use_transport(std::make_unique<TransportOfThread>());
    TransportOfThread::sent = 0;
    TransportOfThread::most_ahead = 0;
    for (std::size_t pe = 0; pe < node_of_pe_.size(); ++pe)
      inboxes_.push_back(zeroed_memory(sizeof(Inbox)));
    const ArenaTransport::Mapping mapping{
        .address_of = [](const RemotePlace&) { return static_cast<std::byte*>(nullptr); },
        .inbox_of =
            [this](int pe) {
              return reinterpret_cast<Inbox*>(inboxes_[static_cast<std::size_t>(pe)].get());
            },
        .device = nullptr};
    for (std::size_t pe = 0; pe < node_of_pe_.size(); ++pe)
      transports_.push_back(std::make_unique<ArenaTransport>(static_cast<int>(pe), mapping));
  }

  // body(pe, the team of all) by all PEs, a thread each.
  void run(const std::function<void(Pe&, Team&)>& body) {
    job_.run([&](Pe& pe) {
      TransportOfThread::mine = transports_[static_cast<std::size_t>(pe.number)].get();
      TransportOfThread::number = pe.number;
      unmap_far_heaps(pe);
      std::vector<int> all(node_of_pe_.size());
      std::iota(all.begin(), all.end(), 0);
      Team world = team(pe, all, 0);
      body(pe, world);
      TransportOfThread::mine = nullptr;
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

  int messages() const { return TransportOfThread::sent; }
  std::size_t most_ahead() const { return TransportOfThread::most_ahead; }

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
  std::vector<Memory> inboxes_;
  std::vector<std::unique_ptr<ArenaTransport>> transports_;
};

}  // namespace meshmem

#endif  // MESHMEM_TESTS_UNIT_NODE_THREADS_HPP_
