// SPDX-License-Identifier: Apache-2.0
//
// The table of nodes, filled card by card. PE 0 is the first PE of its node. The smallest PE that
// no card has named yet is the first of the next node.
#include "core/nodes.hpp"

#include <fmt/format.h>

#include "base/error.hpp"

namespace meshmem {

Nodes::Nodes(int n_pes, int my_pe, int my_index)
    : my_pe_(my_pe),
      my_index_(my_index),
      next_pe_(0),
      place_of_pe_(static_cast<std::size_t>(n_pes)) {}

std::optional<std::string> Nodes::add(const NodeCard& card) {
  if (card.pes.empty() || card.pes.front() != next_pe_) return "is not that of the node's first PE";
  for (const int pe : card.pes)
    if (place_of(pe).node >= 0) return fmt::format("names PE {}, which is on another node", pe);
  int index = 0;
  for (const int pe : card.pes) place_of_pe_[static_cast<std::size_t>(pe)] = {n(), index++};
  const std::size_t server = static_cast<std::size_t>(my_index_) % card.pes.size();
  const std::string& address = card.addresses[server];
  nodes_.push_back({.first_pe = card.pes.front(),
                    .server = card.pes[server],
                    .text_at = static_cast<std::uint32_t>(texts_.size()),
                    .address_bytes = static_cast<std::uint16_t>(address.size()),
                    .host_bytes = static_cast<std::uint16_t>(card.host.size())});
  texts_ += address;
  texts_ += card.host;
  while (next_pe_ < n_pes() && place_of(next_pe_).node >= 0) ++next_pe_;
  if (next_pe_ < n_pes()) return std::nullopt;
  next_pe_ = -1;
  nodes_.shrink_to_fit();
  texts_.shrink_to_fit();
  return std::nullopt;
}

std::string_view Nodes::address_of_server(int pe) const {
  const Node& node = of(node_of(pe));
  return std::string_view(texts_).substr(node.text_at, node.address_bytes);
}

std::string_view Nodes::host_of(int pe) const {
  const Node& node = of(node_of(pe));
  return std::string_view(texts_).substr(node.text_at + node.address_bytes, node.host_bytes);
}

std::string Nodes::name_of(int pe) const {
  return fmt::format("PE {} on host {}", pe, host_of(pe));
}

std::size_t Nodes::bytes() const {
  return place_of_pe_.capacity() * sizeof(Place) + nodes_.capacity() * sizeof(Node) +
         texts_.capacity();
}

}  // namespace meshmem
