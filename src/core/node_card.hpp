// SPDX-License-Identifier: Apache-2.0
//
// The text that a node tells the other nodes at start-up: who is on it, how to reach them, and what
// all PEs must have in common.
// Invariant: unpack_card() believes nothing: a text that is cut, too long or of another version is
// refused with a reason. The node's first PE makes the card, every PE of the job reads all.
#ifndef MESHMEM_CORE_NODE_CARD_HPP_
#define MESHMEM_CORE_NODE_CARD_HPP_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/machine/interfaces.hpp"
#include "memory/arena.hpp"

namespace meshmem {

// Facts about the PEs of a node, or of all nodes: a value that all have, or the least of their
// values.
struct NodeFacts {
  Settings settings;  // of the first PE
  std::uint64_t control_bytes = 0;
  std::uint64_t static_bytes = 0;
  std::uint64_t program = 0;  // 0: not all run the same
  std::uint64_t heap_alignment = 0;
  std::uint64_t is_checked = 0;           // a memory checker runs at least one PE
  std::array<std::uint64_t, 2> secret{};  // of the job, on the card of PE 0's node
  std::uint64_t heap_bytes() const { return settings.heap_bytes; }
};

NodeFacts facts_of_node(const DirectoryEntry* directory, const ArenaLayout& layout);
// Adds the facts of one more node, which has passed the comparison of settings.
void add_facts(NodeFacts& all, const NodeFacts& node);

struct NodeCard {
  std::vector<int> pes;                // of the world, ascending
  std::vector<std::string> addresses;  // the wire address of each
  std::string host;
  // Names the set of cores that the PEs run on, so that nodes of one machine that share its cores
  // have the same value. 0: unknown.
  std::uint64_t core_set = 0;
  std::uint32_t n_cores = 0;
  MachineAddresses machine;
  NodeFacts facts;
};

inline constexpr std::size_t kMostHostBytes = 255;

std::string pack_card(const NodeCard& card);
// Returns the name of the build that made the card. Empty: the text is not a card of this version.
std::string build_of_card(std::string_view text);
// Fills `card`. Returns nullopt, or why the text is not a card of this build in a job of `n_pes`.
std::optional<std::string> unpack_card(std::string_view text, int n_pes, NodeCard& card);

}  // namespace meshmem

#endif  // MESHMEM_CORE_NODE_CARD_HPP_
