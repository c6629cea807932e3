// SPDX-License-Identifier: Apache-2.0
//
// This PE's network, in jobs over several nodes: its wire, its transport, and the meetings of all
// nodes.
// Invariant: no PE stops before all have come to the last meeting, so no PE that ends properly is
// taken for lost. Part of a JobConnection. The order of calls is that of these functions.
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
  // Called by all PEs. If it fails, it fails on all PEs of a node, and the PE with `is_first`
  // prints the line.
  void open_wire(const Environment& environment, bool on_one_machine, bool is_first);
  WireKind wire_kind() const { return wire_kind_; }
  std::string wire_address() const { return transport_->wire_address(); }

  // Called by all PEs. Keeps strangers out, where the wire does it by addresses.
  void admit_only(const std::vector<MachineAddresses>& others, double start_timeout);

  // From now on other nodes can send. The three objects live for ever.
  void connect(int me, NodeMemory& memory, const Nodes& nodes, const NodeFacts& facts);
  bool is_connected() const { return nodes_ != nullptr; }
  NetworkTransport& transport() const { return *transport_; }

  // Called by the first PE of each node. Returns the greatest of their numbers when all have come.
  std::uint64_t meet(std::uint64_t number, const char* where);

  // Called by all PEs: stop() when all nodes have met for the last time, restart() when the library
  // opens again.
  void stop(double timeout);
  void restart();
  // Ends the transport's thread, because the process ends.
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
