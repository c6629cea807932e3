// SPDX-License-Identifier: Apache-2.0
//
// This PE's network, in jobs over several nodes: its wire, its transport, and the meetings of all
// nodes.
// Invariant: no PE stops before all have said that they come no more, so nobody is missed who ends
// as it should. Part of a JobConnection. The order of calls is that of these functions.
#ifndef MESHMEM_CORE_NETWORK_HPP_
#define MESHMEM_CORE_NETWORK_HPP_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/settings/environment.hpp"
#include "core/node_card.hpp"
#include "core/node_memory.hpp"
#include "core/nodes.hpp"
#include "transport/network/network_transport.hpp"
#include "transport/wire_library.hpp"

namespace meshmem {

class Network {
 public:
  // A failure on one PE of a node is one on all: the PE of `is_first` says it.
  void open_wire(const Environment& environment, bool on_one_machine, bool is_first);
  WireKind wire_kind() const { return wire_kind_; }
  std::string wire_address() const { return transport_->wire_address(); }

  // Keeps strangers out, where the wire does it by addresses. By all PEs.
  void admit_only(const std::vector<MachineAddresses>& others, double start_timeout);

  // From now on other nodes can send. All three live for ever.
  void connect(int me, NodeMemory& memory, const Nodes& nodes, const NodeFacts& facts);
  bool is_connected() const { return nodes_ != nullptr; }
  NetworkTransport& transport() const { return *transport_; }

  // Of the first PEs of all nodes: returns the greatest of their numbers when all have come.
  std::uint64_t meet(std::uint64_t number, const char* where);

  // All PEs, when all nodes have met for the last time; and again when they come back.
  void stop(double timeout);
  void restart();
  // Ends the thread, of a process that ends.
  void abandon();

 private:
  std::unique_ptr<NetworkTransport> unconnected_;
  NetworkTransport* transport_ = nullptr;
  const Nodes* nodes_ = nullptr;
  WireKind wire_kind_ = WireKind::none;
  std::uint64_t meetings_ = 0;
  bool is_stopped_ = false;
};

}  // namespace meshmem

#endif  // MESHMEM_CORE_NETWORK_HPP_
