// SPDX-License-Identifier: Apache-2.0
//
// The plan that start-up gives to NetworkTransport::open(): on which node each PE is, and where
// this node's memory is mapped. Invariant: does not change after open().
#ifndef MESHMEM_TRANSPORT_NETWORK_PLAN_HPP_
#define MESHMEM_TRANSPORT_NETWORK_PLAN_HPP_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "base/status/status_board.hpp"
#include "gpu/device_access.hpp"
#include "transport/transport.hpp"
#include "transport/wire.hpp"

namespace meshmem {

struct NetworkPlan {
  int me;                  // this PE, as numbered in the world
  int n_pes;               // PEs of the world
  std::uint64_t token[2];  // the job's token, which its messages carry
  WireKey key{};           // the job's key, which no message carries
  int n_local;             // PEs of this node
  // Where the segment of a PE of this node is mapped here.
  std::function<std::byte*(int local_index, RemoteSegment segment)> base_of;
  std::size_t segment_bytes[3];  // by RemoteSegment, without device; the same for all PEs
  // The next five take any PE of the world.
  std::function<int(int pe)> node_of;
  std::function<int(int pe)> local_index_of;
  std::function<int(int pe)> server_of;  // the PE that executes this PE's operations on `pe`
  std::function<std::string(int pe)> wire_address_of;
  std::function<std::string(int pe)> name_of;  // "PE 3 on host b"
  // Shared by this node's PEs, which all end when one of them has lost a far PE.
  OneReport* loss_report;
  // The longest sleep of the network's thread when it has nothing to do.
  int longest_sleep_ms = 500;
  // Returns the address of `bytes` bytes in the device memory of a PE of this node, or nullptr if
  // they are not all inside. Only `device` reads and writes there.
  std::function<std::byte*(int local_index, std::size_t offset, std::size_t bytes)> device_place =
      nullptr;
  DeviceAccess* device = nullptr;
};

}  // namespace meshmem

#endif  // MESHMEM_TRANSPORT_NETWORK_PLAN_HPP_
