// SPDX-License-Identifier: Apache-2.0
//
// Large blocks between all PEs of several nodes. Each PE sends its own blocks. Where PEs outnumber
// cores, a few PEs of each node, the carriers, send for all of the node. In a round a carrier sends
// a chunk of one block to a PE of each other node, which puts it in its own dest or a neighbour's.
// Invariant: all carriers go through the same rounds, and no carrier begins a round before it has
// received what the others sent it kRoundsAhead + 1 rounds earlier. So the carrier that is furthest
// behind waits for no other carrier, and unread data is bounded everywhere.
#include <optional>
#include <vector>

#include "collectives/between_nodes/algorithms.hpp"
#include "collectives/between_nodes/choice.hpp"
#include "collectives/between_nodes/operation.hpp"
#include "collectives/data_movement.hpp"
#include "collectives/team_steps.hpp"
#include "memory/copy.hpp"

namespace meshmem::between_nodes {
namespace {

// Above this size a core's writes to the dests of its node no longer fit in its caches. With 8 MiB
// copies past the caches took a tenth longer, with 16 MiB a tenth less.
constexpr std::size_t kMostInCaches = 12 * 1024 * kKiB;
using Copy = void (*)(void* dest, const void* source, std::size_t bytes);

// A sink that takes arriving data of a block straight to its place.
class Arrival : public MessageSink {
 public:
  void go_to(std::byte* place, Copy copy) {
    place_ = place;
    copy_ = copy;
  }
  void take(std::size_t offset, const std::byte* data, std::size_t bytes) override {
    copy_(place_ + offset, data, bytes);
  }

 private:
  std::byte* place_;
  Copy copy_;
};

// kRoundsAhead: how many rounds a PE may be ahead of another. With messages of at most kMoveChunk
// that is far less than the transport allows. kRoundsExpected: how many rounds ahead a receiver
// tells the transport where a message goes.
constexpr int kRoundsAhead = 2, kRoundsExpected = 8;
constexpr int kRoundsKept = kRoundsExpected + kRoundsAhead + 1;

class Exchange {
 public:
  Exchange(Team& team, const Collective& call)
      : team_(team),
        operation_(team),
        dest_{static_cast<std::byte*>(call.dest), call.dest_stride},
        source_{static_cast<std::byte*>(const_cast<void*>(call.source)), call.source_stride},
        call_(call),
        most_elems_(std::max<std::size_t>(1, kMoveChunk / call.elem_bytes)),
        rounds_of_chunk_(count_rounds_of_chunk()),
        n_senders_(count_senders()),
        arrivals_(kRoundsKept * n_senders_),
        copy_(bytes_of_a_core() > kMostInCaches ? copy_past_caches : copy_buffer),
        room_(make_room(std::min(most_elems_, call.count) * call.elem_bytes)) {}

  void run() {
    NodeTeam& node = team_.node;
    const std::uint64_t sequence = begin_operation(node);
    announce(node, sequence);  // this PE's source is ready, and its dest may be written
    await_all_announced(node, sequence);
    if (node.me < carriers_of(team_.my_node)) {
      carry();
    } else {
      copy_near();
    }
    finish_together(node, sequence);
  }

 private:
  // A chunk of the block that a PE of one node has for a PE of another one. `from` and `to` are
  // indices among the members of their nodes.
  struct Item {
    int from, to;
    std::size_t first;  // element
  };

  void carry() {
    const long rounds =
        rounds_of_chunk_ * static_cast<long>((call_.count + most_elems_ - 1) / most_elems_);
    for (long round = 0; round < std::min<long>(rounds, kRoundsExpected); ++round) expect(round);
    for (long round = 0; round < rounds + kRoundsAhead; ++round) {
      if (round + kRoundsExpected < rounds) expect(round + kRoundsExpected);
      if (round < rounds) send(round);
      if (round == std::min<long>(rounds, kRoundsAhead) - 1) copy_near();
      if (round >= kRoundsAhead) receive(round - kRoundsAhead);
    }
  }

  // The first members of a node are its carriers. With n of them, carrier i sends for members i,
  // i+n, i+2n, ...
  int carriers_of(int node) const {
    return std::min(count_members(node_at(team_, node)), team_.fewest_cores);
  }
  int count_carried(int node, int carrier) const {
    const int carriers = carriers_of(node);
    return (count_members(node_at(team_, node)) - carrier + carriers - 1) / carriers;
  }
  std::size_t bytes_of_a_core() const {
    const auto members = static_cast<std::size_t>(team_.node.n);
    return members * static_cast<std::size_t>(team_.n) * call_.count * call_.elem_bytes /
           static_cast<std::size_t>(carriers_of(team_.my_node));
  }
  // How many rounds a chunk of all blocks takes: the same for all carriers, some of which send
  // nothing in some rounds.
  long count_rounds_of_chunk() const {
    long most = 0, most_near = 0;
    for (int node = 0; node < count_nodes(team_); ++node) {
      most = std::max<long>(most, count_carried(node, 0));
      most_near = std::max<long>(most_near, count_members(node_at(team_, node)));
    }
    return most * most_near;
  }
  // The item that the carrier sends in this round from `node` to node `there`; nullopt if it sends
  // nothing.
  std::optional<Item> item(long round, int node, int carrier, int there) const {
    const long each = rounds_of_chunk_, number = round % each;
    const int members = count_members(node_at(team_, there));
    const auto carried = static_cast<int>(number / members);
    if (carried >= count_carried(node, carrier)) return std::nullopt;
    return Item{carrier + carried * carriers_of(node), static_cast<int>(number % members),
                static_cast<std::size_t>(round / each) * most_elems_};
  }
  // Rounds under way at the same time have different steps.
  static int step(long round) { return static_cast<int>(round % (1 << 24)); }

  // `count` elements, from `first` on, of the block of PE `block`, in member `index`'s copy of a
  // buffer.
  Strided elements(const Strided& buffer, int block, std::size_t first, std::size_t count,
                   int index) const {
    const auto elem =
        static_cast<std::ptrdiff_t>(static_cast<std::size_t>(block) * call_.count + first);
    std::byte* begin =
        buffer.begin + elem * buffer.stride * static_cast<std::ptrdiff_t>(call_.elem_bytes);
    const std::size_t span =
        ((count - 1) * static_cast<std::size_t>(buffer.stride) + 1) * call_.elem_bytes;
    const NodeTeam& node = team_.node;
    return {index == node.me ? begin : node.translate(begin, span, index), buffer.stride};
  }
  std::size_t length(const Item& item) const {
    return std::min(most_elems_, call_.count - item.first);
  }
  std::size_t bytes(const Item& item) const { return length(item) * call_.elem_bytes; }

  void send(long round) {
    for_other_nodes(team_, [&](int there) {
      const auto what = item(round, team_.my_node, team_.node.me, there);
      if (!what) return;
      const Team::Node& node = node_at(team_, there);
      const Strided block =
          elements(source_, member(node, what->to), what->first, length(*what), what->from);
      const bool is_dense = block.stride == 1;
      if (!is_dense) copy_elements({room_.get(), 1}, block, call_.elem_bytes, length(*what), copy_);
      operation_.send(member(node, team_.node.me % carriers_of(there)),
                      is_dense ? block.begin : room_.get(), bytes(*what), step(round));
    });
  }

  // Calls run(node, carrier) for all carriers that send to this PE.
  template <typename Run>
  void for_senders(const Run& run) const {
    for (int i = 1; i < count_nodes(team_); ++i) {
      const int there = node_after(team_, -i);
      for (int carrier = team_.node.me; carrier < carriers_of(there);
           carrier += carriers_of(team_.my_node))
        run(there, carrier);
    }
  }
  std::size_t count_senders() const {
    std::size_t n = 0;
    for_senders([&](int, int) { ++n; });
    return n;
  }

  // Calls run(carrier's PE, item, its place in the dest) for what this PE receives in a round, for
  // itself or a neighbour.
  template <typename Run>
  void for_arrivals(long round, const Run& run) const {
    for_senders([&](int there, int carrier) {
      const auto what = item(round, there, carrier, team_.my_node);
      if (!what) return;
      const Team::Node& node = node_at(team_, there);
      run(member(node, carrier), *what,
          elements(dest_, member(node, what->from), what->first, length(*what), what->to));
    });
  }

  Arrival* first_arrival(long round) {
    return arrivals_.data() + static_cast<std::size_t>(round % kRoundsKept) * n_senders_;
  }
  // Tells the transport beforehand where a round's data goes, which saves a copy.
  void expect(long round) {
    if (dest_.stride != 1) return;
    Arrival* arrival = first_arrival(round);
    for_arrivals(round, [&](int pe, const Item& what, const Strided& place) {
      arrival->go_to(place.begin, copy_);
      operation_.expect(pe, {*arrival++, bytes(what)}, step(round));
    });
  }

  void receive(long round) {
    Arrival* arrival = first_arrival(round);
    for_arrivals(round, [&](int pe, const Item& what, const Strided& place) {
      if (place.stride == 1) return operation_.receive(pe, {*arrival++, bytes(what)}, step(round));
      operation_.receive(pe, {room_.get(), bytes(what)}, step(round));
      copy_elements(place, {room_.get(), 1}, call_.elem_bytes, length(what), copy_);
    });
  }

  void copy_near() {
    const NodeTeam& node = team_.node;
    for (int i = 0; i < node.n; ++i) {
      const int index = (node.me + i) % node.n;
      copy_elements(elements(dest_, member(my_node(team_), index), 0, call_.count, node.me),
                    elements(source_, team_.me, 0, call_.count, index), call_.elem_bytes,
                    call_.count, copy_);
    }
  }

  Team& team_;
  const Operation operation_;
  const Strided dest_;
  const Strided source_;
  const Collective& call_;
  const std::size_t most_elems_;  // of a message
  const long rounds_of_chunk_;
  const std::size_t n_senders_;
  std::vector<Arrival> arrivals_;  // of the rounds that are expected, from each sender
  const Copy copy_;
  const Room room_;
};

}  // namespace

void alltoall_direct(Team& team, const Collective& call) { Exchange(team, call).run(); }

}  // namespace meshmem::between_nodes
