// SPDX-License-Identifier: Apache-2.0
//
// Large blocks to all PEs of several nodes, chunk by chunk. A block goes over the network once for
// each node, from the PE that brings it to one PE there, in whose dest its neighbours read it.
// Invariant: a PE's dest is written by that PE alone, and its source is read by it alone: PEs of a
// collect may have different sources. No PE begins a chunk before it has received the one before
// from all PEs that send to it, so the PE that is furthest behind never waits to send.
#include "collectives/between_nodes/algorithms.hpp"
#include "collectives/between_nodes/choice.hpp"
#include "collectives/between_nodes/operation.hpp"
#include "collectives/team_steps.hpp"
#include "memory/copy.hpp"

namespace meshmem::between_nodes {
namespace {

class Gathering {
 public:
  Gathering(Team& team, const Layout& layout, void* dest, const void* source)
      : team_(team),
        operation_(team),
        layout_(layout),
        dest_(static_cast<std::byte*>(dest)),
        source_(static_cast<const std::byte*>(source)) {
    chunk_ = std::max(kMoveChunk, layout.largest() / kMostChunks + 1);
  }

  void run() {
    NodeTeam& node = team_.node;
    const std::uint64_t sequence = begin_operation(node);
    const int chunks = static_cast<int>((layout_.largest() + chunk_ - 1) / chunk_);
    expect(0);
    for (int chunk = 0; chunk < chunks; ++chunk) {
      if (chunk + 1 < chunks) expect(chunk + 1);
      send(chunk);
      if (chunk == 0 && layout_.size(team_.me) > 0)
        copy_buffer(dest_ + layout_.begin(team_.me), source_, layout_.size(team_.me));
      receive(chunk);
      publish(node.my_area().chunks, chunk_epoch(sequence, chunk + 1));
      for (int i = 1; i < node.n; ++i) {
        const int near = (node.me + i) % node.n;
        await(node, node.area_of(near).chunks, chunk_epoch(sequence, chunk + 1), near);
        copy_from(near, chunk);
      }
    }
    finish_together(node, sequence);
  }

 private:
  std::size_t offset(int chunk) const { return static_cast<std::size_t>(chunk) * chunk_; }
  std::size_t length(int pe, int chunk) const { return layout_.length(pe, offset(chunk), chunk_); }
  std::byte* place(int pe, int chunk) const { return dest_ + layout_.begin(pe) + offset(chunk); }

  void send(int chunk) {
    const std::size_t bytes = length(team_.me, chunk);
    if (bytes == 0) return;
    for_other_nodes(team_, [&](int node) {
      operation_.send(partner_on(team_, node), source_ + offset(chunk), bytes, chunk);
    });
  }

  // Tells the transport beforehand where a chunk goes, which saves a copy.
  void expect(int chunk) {
    for_partners_of(team_, team_.node.me, [&](int pe) {
      const std::size_t bytes = length(pe, chunk);
      if (bytes > 0) operation_.expect(pe, {place(pe, chunk), bytes}, chunk);
    });
  }
  void receive(int chunk) {
    for_partners_of(team_, team_.node.me, [&](int pe) {
      const std::size_t bytes = length(pe, chunk);
      if (bytes > 0) operation_.receive(pe, {place(pe, chunk), bytes}, chunk);
    });
  }

  // Copies what another member of this node brings, and what it has received.
  void copy_from(int near, int chunk) {
    const NodeTeam& node = team_.node;
    const int pe = member(my_node(team_), near);
    const auto copy = [&](int from) {
      std::byte* const to = place(from, chunk);
      const std::size_t bytes = length(from, chunk);
      if (bytes > 0) copy_buffer(to, node.translate(to, bytes, near), bytes);
    };
    copy(pe);
    for_partners_of(team_, near, copy);
  }

  Team& team_;
  const Operation operation_;
  const Layout& layout_;
  std::byte* const dest_;
  const std::byte* const source_;
  std::size_t chunk_;
};

}  // namespace

void gather_direct(Team& team, const Layout& layout, void* dest, const void* source) {
  Gathering(team, layout, dest, source).run();
}

}  // namespace meshmem::between_nodes
