// SPDX-License-Identifier: Apache-2.0
//
// Which PE is on which node, where it is in its node's arena, and whom to talk to on each node.
// Invariant: empty, and without memory, where all PEs are on one node. Else it has 8 bytes a PE,
// and a node's host name and the one wire address that this PE uses there. Filled by start-up.
#ifndef MESHMEM_CORE_NODES_HPP_
#define MESHMEM_CORE_NODES_HPP_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/node_card.hpp"

namespace meshmem {

class Nodes {
 public:
  Nodes() = default;
  // For a job over several nodes. On each node this PE talks to the PE that has its own index,
  // modulo the number of PEs there, so that the processes of a node share the work.
  Nodes(int n_pes, int my_pe, int my_index);

  // The caller adds the card of the node whose first PE is next_pe(), until next_pe() is -1.
  int next_pe() const { return next_pe_; }
  // nullopt, or why this cannot be the card of the next node.
  std::optional<std::string> add(const NodeCard& card);

  bool has_several() const { return nodes_.size() > 1; }
  int n_pes() const { return static_cast<int>(place_of_pe_.size()); }
  int n() const { return static_cast<int>(nodes_.size()); }
  int mine() const { return node_of(my_pe_); }
  int node_of(int pe) const { return has_several() ? place_of(pe).node : 0; }
  bool is_near(int pe) const { return !has_several() || place_of(pe).node == mine(); }

  // These may be called only if there are several nodes.
  int index_of(int pe) const { return place_of(pe).index; }  // among the PEs of its node
  int first_pe_of(int node) const { return of(node).first_pe; }
  // The PE on the node of `pe` that this PE talks to.
  int server_of(int pe) const { return of(node_of(pe)).server; }
  std::string_view address_of_server(int pe) const;
  std::string_view host_of(int pe) const;
  std::string name_of(int pe) const;  // "PE 3 on host b"

  std::size_t bytes() const;  // of memory, for a test

 private:
  struct Place {
    int node = -1;
    int index = 0;
  };
  struct Node {
    int first_pe;
    int server;
    std::uint32_t text_at;  // in texts_: the address, then the host
    std::uint16_t address_bytes;
    std::uint16_t host_bytes;
  };
  const Place& place_of(int pe) const { return place_of_pe_[static_cast<std::size_t>(pe)]; }
  const Node& of(int node) const { return nodes_[static_cast<std::size_t>(node)]; }

  int my_pe_ = 0;
  int my_index_ = 0;
  int next_pe_ = -1;
  std::vector<Place> place_of_pe_;
  std::vector<Node> nodes_;
  std::string texts_;
};

}  // namespace meshmem

#endif  // MESHMEM_CORE_NODES_HPP_
