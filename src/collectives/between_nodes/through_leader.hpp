// SPDX-License-Identifier: Apache-2.0
//
// How a node's members work through their leader: each brings something to the leader, and takes
// what the leader hands out after it has exchanged messages with the other leaders. An object is
// one operation of the node.
// Invariant: the leader hands out nothing before all members have brought theirs. So a member that
// has taken what was handed out knows that all have started: all to all, in the sense of
// team_steps.hpp. No data is longer than kStageBytes. Used by the files of this folder.
#ifndef MESHMEM_COLLECTIVES_BETWEEN_NODES_THROUGH_LEADER_HPP_
#define MESHMEM_COLLECTIVES_BETWEEN_NODES_THROUGH_LEADER_HPP_

#include "collectives/message.hpp"

namespace meshmem::between_nodes {

class ThroughLeader {
 public:
  explicit ThroughLeader(NodeTeam& node) : node_(node), sequence_(begin_operation(node)) {}
  ~ThroughLeader() { note_all_started(node_, sequence_); }
  ThroughLeader(const ThroughLeader&) = delete;
  ThroughLeader& operator=(const ThroughLeader&) = delete;

  // For all members but the leader, which is member 0.
  void bring(const void* data, std::size_t bytes) { post_message(node_, sequence_, data, bytes); }
  void take(void* dest, std::size_t bytes) { take_range(dest, bytes, 0, bytes); }
  // Takes `length` bytes from `begin` on of the `bytes` that are handed out.
  void take_range(void* dest, std::size_t bytes, std::size_t begin, std::size_t length) {
    if (length > 0) {
      receive_range(node_, sequence_, dest, bytes, 0, begin, length);
    } else {  // only waits, so that the member knows that all have started
      await_message(node_, sequence_, bytes, 0, room_);
    }
  }

  // For the leader. The memory that brought_by() returns stays until the next call.
  const std::byte* brought_by(int index, std::size_t bytes) {
    return await_message(node_, sequence_, bytes, index, room_);
  }
  void hand_out(const void* data, std::size_t bytes) {
    if (node_.n > 1) post_message(node_, sequence_, data, bytes);
  }

 private:
  NodeTeam& node_;
  const std::uint64_t sequence_;
  MessageRoom room_;
};

}  // namespace meshmem::between_nodes

#endif  // MESHMEM_COLLECTIVES_BETWEEN_NODES_THROUGH_LEADER_HPP_
