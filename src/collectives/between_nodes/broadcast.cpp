// SPDX-License-Identifier: Apache-2.0
//
// Broadcast between nodes. Words: a node's *head* is the root on its node, and the leader on the
// others. Heads pass the data on along a binomial tree of the nodes, or along a chain if there are
// many chunks. The other PEs take it from their node's head.
// Invariant: rooted in the sense of team_steps.hpp: all announce the operation. dest may be source.
#include "collectives/between_nodes/algorithms.hpp"
#include "collectives/between_nodes/choice.hpp"
#include "collectives/message.hpp"
#include "collectives/schedule.hpp"
#include "memory/copy.hpp"
#include "one_sided/one_sided.hpp"

namespace meshmem::between_nodes {
namespace {

// How this PE's node takes part in the broadcasts of one root. Nodes are numbered from the root's
// node on. In a chain each node passes the data on to the next.
class Tree {
 public:
  Tree(const Team& team, int root, bool is_chain)
      : team_(team), root_(root), is_chain_(is_chain), root_node_(node_of(team, root)) {
    const int n = count_nodes(team);
    mine_ = (team.my_node - root_node_ + n) % n;
    if (mine_ == 0) head = index_in(my_node(team), root);
    if (mine_ > 0) parent = head_of(is_chain ? mine_ - 1 : schedule::binomial_parent(mine_));
  }

  // Calls run(head) for the heads that this node passes the data on to.
  template <typename Run>
  void for_children(const Run& run) const {
    const int n = count_nodes(team_);
    if (!is_chain_) {
      schedule::for_binomial_children(n, mine_, [&](int number) { run(head_of(number)); });
    } else if (mine_ + 1 < n) {
      run(head_of(mine_ + 1));
    }
  }

  int parent = -1;  // the head that this node gets the data from; -1 on the root's node
  int head = 0;     // of this node: an index among its members

 private:
  int head_of(int number) const {
    return number == 0 ? root_
                       : node_at(team_, (root_node_ + number) % count_nodes(team_)).leader();
  }

  const Team& team_;
  const int root_;
  const bool is_chain_;
  const int root_node_;
  int mine_ = 0;  // the number of this node
};

// Broadcasts at most kStageBytes in host memory.
void broadcast_message(Team& team, const Tree& tree, void* dest, const void* source,
                       std::size_t bytes) {
  const Operation operation(team);
  NodeTeam& node = team.node;
  const std::uint64_t sequence = begin_operation(node);
  announce(node, sequence);
  if (node.me != tree.head) return receive_message(node, sequence, dest, bytes, tree.head);
  const bool is_root = tree.parent < 0;
  const void* data = is_root ? source : dest;
  if (!is_root) operation.receive(tree.parent, {dest, bytes});
  tree.for_children([&](int child) { operation.send(child, data, bytes); });
  if (node.n > 1) post_message(node, sequence, data, bytes);
  if (dest != data) std::memcpy(dest, data, bytes);
}

// Large data in host memory: the head receives it in its dest. The other members copy a chunk from
// there once the head's `chunks` line says that it has arrived.
class InChunks {
 public:
  InChunks(Team& team, void* dest, const void* source, std::size_t bytes)
      : team_(team), dest_(dest), source_(source), bytes_(bytes) {
    chunk_ = std::max(kBroadcastChunk, bytes / kMostChunks + 1);
    chunks_ = static_cast<int>((bytes + chunk_ - 1) / chunk_);
  }

  void run(int root) {
    const Operation operation(team_);
    const Tree tree(team_, root, chunks_ >= count_nodes(team_));
    NodeTeam& node = team_.node;
    const std::uint64_t sequence = begin_operation(node);
    announce(node, sequence);
    if (node.me == tree.head) {
      pass_on(operation, tree, sequence);
      for (int i = 0; i < node.n; ++i) {
        if (i != node.me) await(node, node.area_of(i).done, sequence, i);
      }
      return note_all_started(node, sequence);
    }
    // Within the root's node the data is in the root's source.
    copy_from(tree.head, node_of(team_, root) == team_.my_node ? source_ : dest_, sequence);
    publish(node.my_area().done, sequence);
  }

 private:
  std::size_t begin(int chunk) const { return static_cast<std::size_t>(chunk) * chunk_; }
  std::size_t length(int chunk) const { return std::min(chunk_, bytes_ - begin(chunk)); }

  void pass_on(const Operation& operation, const Tree& tree, std::uint64_t sequence) {
    const bool is_root = tree.parent < 0;
    const void* data = is_root ? source_ : dest_;
    const auto say = [&](int chunks) {
      publish(team_.node.my_area().chunks, chunk_epoch(sequence, chunks));
    };
    const auto expect = [&](int chunk) {  // saves a copy when the chunk arrives
      if (!is_root && chunk < chunks_)
        operation.expect(tree.parent, {at(dest_, begin(chunk)), length(chunk)}, chunk);
    };
    if (is_root) say(chunks_);
    expect(0);
    for (int chunk = 0; chunk < chunks_; ++chunk) {
      expect(chunk + 1);
      if (!is_root) {
        operation.receive(tree.parent, {at(dest_, begin(chunk)), length(chunk)}, chunk);
        say(chunk + 1);
      }
      tree.for_children(
          [&](int child) { operation.send(child, at(data, begin(chunk)), length(chunk), chunk); });
    }
    if (is_root && dest_ != source_) copy_buffer(dest_, source_, bytes_);
  }

  void copy_from(int head, const void* data, std::uint64_t sequence) {
    NodeTeam& node = team_.node;
    for (int chunk = 0; chunk < chunks_; ++chunk) {
      await(node, node.area_of(head).chunks, chunk_epoch(sequence, chunk + 1), head);
      copy_buffer(at(dest_, begin(chunk)),
                  node.translate(at(data, begin(chunk)), length(chunk), head), length(chunk));
    }
  }

  Team& team_;
  void* const dest_;
  const void* const source_;
  const std::size_t bytes_;
  std::size_t chunk_;
  int chunks_;
};

void broadcast_of_any_memory(Team& team, void* dest, const void* source, std::size_t bytes,
                             int root) {
  const Tree tree(team, root, false);
  const Room batch = make_room(std::min(bytes, kStageBytes));
  for (std::size_t offset = 0; offset < bytes; offset += kStageBytes) {
    const std::size_t length = std::min(kStageBytes, bytes - offset);
    if (team.me == root) copy_local(team.routine(), batch.get(), at(source, offset), length);
    broadcast_message(team, tree, batch.get(), batch.get(), length);
    if (team.me != root || dest != source)
      copy_local(team.routine(), at(dest, offset), batch.get(), length);
  }
}

}  // namespace

void broadcast(Team& team, const Collective& call) {
  const std::size_t bytes = call.bytes();
  void* const dest = call.dest_of_broadcast(team.me);
  if (bytes == 0) return;
  if (!are_in_host_memory(call.dest, call.source)) {
    // Puts need the same dest on all members, which an active set's root does not have.
    if (call.root_has_dest && bytes > kStageBytes && suits_puts(team, dest, bytes, bytes))
      return broadcast_by_puts(team, dest, call.source, bytes, call.root);
    return broadcast_of_any_memory(team, dest, call.source, bytes, call.root);
  }
  if (bytes <= kBroadcastMessage)
    return broadcast_message(team, Tree(team, call.root, false), dest, call.source, bytes);
  InChunks(team, dest, call.source, bytes).run(call.root);
}

}  // namespace meshmem::between_nodes
