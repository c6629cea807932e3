// SPDX-License-Identifier: Apache-2.0
//
// See network.hpp. In a meeting the first PEs of the nodes exchange messages, under the number of a
// slot that no team has. meet_at_end() follows the last meeting: only it tells when no message is
// under way any more.
#include "core/network.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.hpp"
#include "base/machine/hmac.hpp"
#include "base/machine/machine.hpp"
#include "base/waiting/wait.hpp"
#include "bootstrap/job.hpp"
#include "core/card_exchange.hpp"
#include "core/team_area.hpp"
#include "gpu/device_segments.hpp"
#include "gpu/staged_access.hpp"

namespace meshmem {
namespace {

constexpr int kSlotOfMeetings = kTeamAreas;

// Makes the token or the key of the job from its secret. Messages have the token. The key proves
// that a process knows the secret, which no message contains.
Digest made_from(const std::array<std::uint64_t, 2>& secret, std::string_view purpose) {
  return hmac({reinterpret_cast<const char*>(secret.data()), sizeof secret}, purpose);
}

// Returns where the bytes are in the device memory of the PE with this index, or nullptr if its
// device memory has no such bytes.
std::byte* find_in_device_memory(int index, std::size_t offset, std::size_t bytes) {
  const std::size_t in_segment = offset & ((std::size_t{1} << kDeviceOffsetBits) - 1);
  const auto number = static_cast<int>(offset >> kDeviceOffsetBits);
  return device_segments().find_mapped(index, {number, in_segment}, bytes);
}

}  // namespace

void Network::open_wire(const Environment& environment, bool on_one_machine, bool is_first) {
  unconnected_ = std::make_unique<NetworkTransport>();
  transport_ = unconnected_.get();
  std::string error;
  MadeWire made = make_wire(environment.network, on_one_machine,
                            {.version = kWireVersion,
                             .listener = transport_->listener(),
                             .device = environment.network_device.c_str(),
                             .keepalive_seconds = environment.keepalive,
                             .debug = environment.debug,
                             .first_port = environment.tcp_port_range.first,
                             .last_port = environment.tcp_port_range.last},
                            &error);
  if (made.wire == nullptr) {
    if (!is_first) wait_for_others_to_report();
    fatal("the network {} cannot be used: {}", name_of(made.kind), error);
  }
  debug("the job takes the network {}: {}", name_of(made.kind), made.why);
  wire_kind_ = made.kind;
  transport_->use_wire(std::move(made.wire));
}

// If the wire admits peers by their addresses, it drops connections that come before this call of
// its own PE, and TCP tries again only after a second. So all PEs meet before they connect.
void Network::admit_only(const std::vector<MachineAddresses>& others, double start_timeout) {
  if (transport_->admit_only(addresses_to_admit(own_addresses(), others)))
    meet_at_start(start_timeout);
}

void Network::connect(int me, NodeMemory& memory, const Nodes& nodes, const NodeFacts& facts) {
  nodes_ = &nodes;
  const auto far_pes = static_cast<std::size_t>(nodes.n_pes() - memory.n());
  const std::size_t descriptors = raise_descriptor_limit(far_pes);  // each may connect
  if (descriptors < far_pes)
    debug("{} PEs of other machines may connect, and {} descriptors are allowed", far_pes,
          descriptors);
  std::array<std::uint64_t, 2> token{};
  const Digest in_messages = made_from(facts.secret, "meshmem: in messages");
  std::memcpy(token.data(), in_messages.data(), sizeof token);
  transport_->open(
      {.me = me,
       .n_pes = nodes.n_pes(),
       .token = {token[0], token[1]},
       .key = made_from(facts.secret, "meshmem: membership"),
       .n_local = memory.n(),
       .base_of = [&memory](int index,
                            RemoteSegment segment) { return memory.base_of(index, segment); },
       .segment_bytes = {facts.heap_bytes(), facts.program == 0 ? 0 : facts.static_bytes,
                         facts.control_bytes},
       .node_of = [&nodes](int pe) { return nodes.node_of(pe); },
       .local_index_of = [&nodes](int pe) { return nodes.index_of(pe); },
       .server_of = [&nodes](int pe) { return nodes.server_of(pe); },
       .wire_address_of = [&nodes](int pe) { return meshmem::wire_address_of(nodes, pe); },
       .name_of = [&nodes](int pe) { return nodes.name_of(pe); },
       .loss_report = &memory.arena().header().loss,
       .device_place = &find_in_device_memory,
       .device = &staged_access()});
  the_transport = unconnected_.release();
  progress_of_waits = [] { the_transport->progress(); };
}

// A dissemination: after round r, from 0 on, a node knows the greatest number of 2^(r+1) nodes.
std::uint64_t Network::meet(std::uint64_t number, const char* where) {
  MessageKey key{kSlotOfMeetings, ++meetings_, 0};
  const int n = nodes_->n(), me = nodes_->mine();
  for (int distance = 1; distance < n; distance *= 2, ++key.step) {
    const int source = nodes_->first_pe_of((me - distance + n) % n);
    transport_->send(nodes_->first_pe_of((me + distance) % n), key, &number, sizeof number);
    std::uint64_t theirs = 0;
    transport_->receive(source, key, {&theirs, sizeof theirs}, [&] {
      return fmt::format("the node of {} to {}", nodes_->name_of(source), where);
    });
    number = std::max(number, theirs);
  }
  return number;
}

void Network::stop(double timeout) {
  meet_at_end(timeout);
  transport_->close();
  is_stopped_ = true;
}

void Network::restart() {
  if (is_stopped_) transport_->reopen();
  is_stopped_ = false;
}

void Network::abandon() {
  if (is_connected()) transport_->abandon();
}

}  // namespace meshmem
