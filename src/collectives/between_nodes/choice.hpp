// SPDX-License-Identifier: Apache-2.0
//
// Which way a collective between nodes takes: the limits, and why they are where they are.
// Invariant: an answer depends only on what all members have in common. Read by the files of this
// folder. The ways:
//   through leaders  one message between two leaders carries all that a node sends another
//   direct           every PE, or some of each node, sends large data from host memory
//   by puts          puts bring large data of device memory to its place (by_puts.cpp)
#ifndef MESHMEM_COLLECTIVES_BETWEEN_NODES_CHOICE_HPP_
#define MESHMEM_COLLECTIVES_BETWEEN_NODES_CHOICE_HPP_

#include <algorithm>
#include <cstddef>

#include "collectives/between_nodes/operation.hpp"
#include "core/team_area.hpp"
#include "memory/address_map.hpp"

namespace meshmem::between_nodes {

inline constexpr std::size_t kKiB = 1024;

// Up to this many nodes the leaders send to all others at once: one hop, and the operands stay in
// the order of nodes. With more nodes the number of messages matters most, so each leader sends
// about log2 of the number of nodes.
inline constexpr int kMostFlatNodes = 4;

// A scan goes from node to node, one hop for each. Beyond this many nodes small ones are gathered.
inline constexpr int kMostChainNodes = 8;

// A reduction up to this size goes through the leaders, each of which reads all of its node's data;
// a larger one is shared by columns.
inline constexpr std::size_t kReduceThroughLeaders = 16 * kKiB;
// The least share of a column. With less data in a message, its own cost outweighs that of the
// data.
inline constexpr std::size_t kLeastShare = 16 * kKiB;
// Two nodes exchange a column's whole share: one hop. More nodes each combine a part of it: two
// hops, and less work. For shares above this size two nodes do so too, if they combine the data in
// pinned memory.
inline constexpr std::size_t kStagedInOneHop = 64 * kKiB;
// The most bytes of one message of a reduction: few enough to stay in a core's cache until they are
// combined, and two of the network's chunks (60 KiB).
inline constexpr std::size_t kReduceMessage = 120 * kKiB;
// The room that a column keeps for one chunk from all other nodes. More, if messages would become
// smaller than kLeastShare.
inline constexpr std::size_t kReduceRoom = 1024 * kKiB;
// How many more chunks a PE sends before it waits for the others' data of a chunk.
inline constexpr int kChunksAhead = 2;
// The same for one hop. With more chunks under way, a chunk would leave its sender's cache before
// the other node's chunk arrives to be combined with it.
inline constexpr int kChunksAheadInOneHop = 1;

// A broadcast up to this size is one message, which the head of each node posts to its node.
inline constexpr std::size_t kBroadcastMessage = 32 * kKiB;
// A larger one travels in chunks of at least this size, which follow each other from node to node.
inline constexpr std::size_t kBroadcastChunk = 128 * kKiB;

// For fcollect and collect: if all blocks together have at most this size, they go through the
// leaders. Larger data does so too, in several batches, if no block is larger than kGatherBlock.
inline constexpr std::size_t kGatherThroughLeaders = kStageBytes;
inline constexpr std::size_t kGatherBlock = 2 * kKiB;
// For alltoall: the most that goes from one node to another through the leaders at once, unless an
// element is larger. More data, if it is in host memory, goes directly.
inline constexpr std::size_t kNodePairBytes = 64 * kKiB;
// The most bytes of a block that are sent at once.
inline constexpr std::size_t kMoveChunk = 120 * kKiB;

// Whether neither buffer is in device memory. If they are symmetric too, a processor reaches these
// buffers of all members of its node.
inline bool are_in_host_memory(const void* dest, const void* source) {
  return !any_on_device(dest, source);
}

inline bool is_symmetric(const Team& team, const void* address, std::size_t bytes) {
  return is_in_segment(*team.node.map, address, bytes) ||
         device_segments().find_offset(address, bytes).has_value();
}

inline int most_members(const Team& team) {
  int most = 1;
  for (const Team::Node& node : team.nodes) most = std::max(most, count_members(node));
  return most;
}
inline int fewest_members(const Team& team) {
  int fewest = team.n;
  for (const Team::Node& node : team.nodes) fewest = std::min(fewest, count_members(node));
  return fewest;
}

// How many PEs of each node share a reduction of `bytes`.
inline int count_columns(const Team& team, std::size_t bytes) {
  const auto shares = std::max<std::size_t>(bytes / kLeastShare, 1);
  return static_cast<int>(std::min(static_cast<std::size_t>(fewest_members(team)), shares));
}
// The same where processors combine: at most as many as a node has cores. With more, the PEs would
// take turns on the cores, and each message would wait for a turn.
inline int count_columns_of_processors(const Team& team, std::size_t bytes) {
  return std::min(count_columns(team, bytes), team.fewest_cores);
}

}  // namespace meshmem::between_nodes

#endif  // MESHMEM_COLLECTIVES_BETWEEN_NODES_CHOICE_HPP_
